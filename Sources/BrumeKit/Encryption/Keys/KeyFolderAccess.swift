internal import BrumeEncryption
internal import BrumeLock
internal import BrumeModel
internal import BrumeSystem
internal import Foundation

/// An account's key folder, for work that may take long or has to wait for another process.
struct KeyFolderAccess: Sendable {
    private let disk: any KeyDisk
    private let files = DispatchQueue(label: "brume.keys")

    init(disk: any KeyDisk = RealKeyDisk()) { self.disk = disk }

    /// The folder of the account's keys, which only the server can tell: whose token it is.
    ///
    /// - Parameter options: How long to wait for it; nil: as long as calls do by default.
    func folder(of account: AccountBinding, _ options: CallOptions? = nil) async throws(CKError) -> KeyFolder {
        let configuration = account.configuration
        guard configuration.token != nil else { throw configuration.missingAccount }
        let welcome =
            if let options {
                try await account.welcome(
                    timeoutNanoseconds: options.timeoutNanoseconds(), patience: options.patience)
            } else {
                try await account.welcome()
            }
        guard let user = welcome.userRecordName else { throw .noAccount }
        let (folder, stateFolder): (KeyFolder, String)
        do throws(ConfigurationProblem) {
            let scope = IdentityScope(
                account: user, container: try configuration.sessionKey().container,
                environment: configuration.environment.rawValue)
            stateFolder = try configuration.resolvedStateFolder()
            folder = KeyFolder(
                stateFolder: stateFolder, place: KeyPlace(server: try configuration.endpoint().name, scope: scope),
                disk: disk)
        } catch {
            throw CKError(.internalError, message: error.message)
        }
        try await checkUser(of: folder, stateFolder, account)
        return folder
    }

    /// Whether the server names the same user for the token as ever: keys are kept apart by that name, so that with
    /// another one this device would have none, and would encrypt nothing.
    private func checkUser(
        of folder: KeyFolder, _ stateFolder: String, _ account: AccountBinding
    ) async throws(CKError) {
        let user = folder.place.scope.account
        let known = account.keyUser.withLock { known in
            if known == nil { known = (user, isKept: false) }
            return known!
        }
        guard known.user == user else { throw Self.otherUser(user, known.user) }
        if known.isKept { return }
        // Without keys nothing depends on it when the app is started again.
        let hasKeys = folder.isMade
        let file = TokenUserFile(
            stateFolder: stateFolder, place: folder.place, token: account.configuration.token ?? "", disk: disk)
        let kept = try await use(folder) { () throws(KeyFolderProblem) -> KeyFolder.Attempt<String?> in
            if let kept = try file.load() { return .done(kept) }
            guard hasKeys else { return .done(nil) }
            guard Names.isUserRecordName(user) else {
                throw KeyFolderProblem("the server names a user that there can't be; ask its operator what it runs")
            }
            return switch try file.keep(user) {
            case .done(let kept): .done(kept)
            case .locked: .locked
            }
        }
        guard let kept else { return }
        guard kept == user else { throw Self.otherUser(user, kept) }
        account.keyUser.withLock { $0?.isKept = true }
    }

    private static func otherUser(_ user: String, _ known: String) -> CKError {
        CKError(
            .internalError,
            message: "the server says that this account is user \(user), and said before that it is \(known), so that "
                + "nothing is saved or read with encryption keys: ask its operator what happened; where the server was "
                + "made anew, use another state folder (BRUME_STATE)")
    }

    /// Works on the folder, once no other process does.
    func use<Value: Sendable>(
        _ folder: KeyFolder, _ body: @escaping @Sendable () throws(KeyFolderProblem) -> KeyFolder.Attempt<Value>
    ) async throws(CKError) -> Value {
        for _ in 0..<KeyLimits.lockAttemptsMax {
            let result = await withCheckedContinuation { continuation in
                files.async { continuation.resume(returning: Result { () throws(KeyFolderProblem) in try body() }) }
            }
            switch result {
            case .success(.done(let value)): return value
            case .success(.locked): break
            case .failure(let problem): throw CKError(.internalError, message: problem.message)
            }
            do {
                try await Task.sleep(for: .milliseconds(KeyLimits.lockPauseMilliseconds))
            } catch {
                throw .cancelled
            }
        }
        throw CKError(
            .internalError, message: "another process holds the lock of \(folder.path); look what it waits for")
    }
}
