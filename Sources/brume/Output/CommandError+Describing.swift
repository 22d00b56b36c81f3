internal import BrumeKit
internal import BrumeModel
internal import BrumeServer
internal import BrumeService
internal import BrumeStore
internal import BrumeSystem
internal import Foundation

extension CommandError {
    /// Turns any error into a message for the user and an exit code.
    ///
    /// - Parameter scope: The database that was asked.
    init(describing error: any Error, scope: CKDatabase.Scope = .private) {
        switch error {
        case let error as CKError where error.code == .zoneNotFound && scope == .shared:
            self.init(
                .notFound, "the account takes part in no such zone",
                hint: "brume zones list --shared prints those it does, brume shares accept URL takes part")
        case let error as CommandError: self = error
        case let error as UsageError: self.init(error.code, error.message, hint: error.hint)
        case let error as RowError: self.init(.failed, "line \(error.line): \(error.message)")
        case let error as ValueError: self.init(.usage, error.message)
        case let error as ServerError: self.init(Self.code(of: error), error.message)
        case let error as AccountError: self.init(Self.code(of: error), error.message)
        case let error as ServiceError: self.init(Self.code(ofError: Int(error.code.rawValue)), error.message)
        case let error as CKError:
            self.init(
                Self.code(ofError: error.code.rawValue), Self.namingCommands(error.localizedDescription),
                hint: Self.hint(for: error))
        case let error as SystemError: self.init(isForbidden: error.isForbidden, "\(error)")
        case let error as DiskError: self.init(isForbidden: error.isForbidden, "\(error)")
        default: self.init(.failed, "\(error)")
        }
    }

    /// Why a file or folder could not be used.
    init(isForbidden: Bool, _ message: String) {
        self.init(isForbidden ? .notPermitted : .failed, message, hint: isForbidden ? Self.forbiddenHint : "")
    }

    /// What to do where this user may not use a data folder or backup.
    static let forbiddenHint = "run this as the server's user, or as root"

    private static func code(of error: ServerError) -> ExitCode {
        switch error.code {
        case .folderInUse, .assetsConflict: .conflict
        case .assetsMissing: .notFound
        case .assetsNotNamed: .usage
        case .notPermitted: .notPermitted
        case .damaged: .damaged
        case .folder, .diskFull, .certificate, .listen, .limit: .failed
        }
    }

    private static func code(of error: AccountError) -> ExitCode {
        switch error.code {
        case .exists, .inUse: .conflict
        case .unknown: .notFound
        case .invalid: .usage
        case .limit, .full, .notKept: .failed
        }
    }

    /// The exit code for a raw value of `CKError.Code`.
    static func code(ofError code: Int) -> ExitCode {
        switch ErrorCode(rawValue: Int32(truncatingIfNeeded: code)) {
        case .unknownItem, .zoneNotFound, .userDeletedZone, .badContainer: .notFound
        case .serverRecordChanged: .conflict
        case .notAuthenticated, .permissionFailure: .notPermitted
        case .networkUnavailable, .networkFailure, .serviceUnavailable, .serverResponseLost: .unreachable
        default: .failed
        }
    }

    private static func hint(for error: CKError) -> String {
        if error.encryptionProblem != nil {
            return namingCommands(error.localizedDescription).contains("brume key") ? "" : "brume key says what to do"
        }
        // Most messages name the option to check themselves.
        return error.localizedDescription.contains("BRUME_") ? "" : hint(ofError: error.code.rawValue)
    }

    /// What to check after an error with a raw value of `CKError.Code`.
    static func hint(ofError code: Int) -> String {
        switch ErrorCode(rawValue: Int32(truncatingIfNeeded: code)) {
        // The token is right, and what its account may do is ruled elsewhere.
        case .permissionFailure: return ""
        case .zoneNotFound:
            return
                "brume zones list shows the zones that exist, brume zones create NAME makes one; one that another user"
                + " shares is named with --owner"
        default: break
        }
        return switch self.code(ofError: code) {
        case .unreachable: "is the server running? check --server (BRUME_SERVER) and --ca (BRUME_CA)"
        case .notPermitted: "check the account's token: BRUME_TOKEN or --token-file"
        default: ""
        }
    }
}
