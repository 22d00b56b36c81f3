internal import BrumeEncryption
internal import BrumeModel
internal import BrumeProtocol
internal import BrumeSystem
internal import Foundation

/// Does what ``AccountKeysStateMachine`` says, with the server and the disk.
struct AccountKeysDriver: Sendable {
    typealias Machine = AccountKeysStateMachine

    private let folders: KeyFolderAccess

    init(folders: KeyFolderAccess) { self.folders = folders }

    /// How an operation ended.
    struct End: Sendable {
        let outcome: Machine.Outcome
        /// Nil where the operation failed before it had looked.
        let standing: Machine.Standing?
        /// The keys under which the account's statements list this device.
        let listedAs: PublicKeys?
        /// The device's own keys, where they are those.
        let device: KeyPairs?
        /// What the newest known statement listed when the operation began, and when it ended.
        let listed: (before: ListedDevices?, now: ListedDevices?)
        /// The head of the statements' file, by which another process is seen to have written it.
        let statementsHead: [UInt8]?
    }

    /// Where this device keeps an account's keys.
    func folder(of account: AccountBinding) async throws(CKError) -> KeyFolder {
        try await folders.folder(of: account)
    }

    /// The head of the statements' file as it is on the disk now; nil where there is none.
    func statementsHead(for account: AccountBinding) async throws(CKError) -> [UInt8]? {
        let folder = try await folders.folder(of: account)
        return try await folders.use(folder) { () throws(KeyFolderProblem) in .done(try folder.head(of: .statements)) }
    }

    /// Runs an operation to its end.
    ///
    /// - Throws: What calls to the server throw; `internalError` where the key folder can't be used. What the device
    ///   keeps is as it was before or after one of the machine's steps, and the next operation goes on from there.
    func run(_ goal: Machine.Goal, for account: AccountBinding) async throws(CKError) -> End {
        let folder = try await folders.folder(of: account)
        let deviceName = account.configuration.resolvedDeviceName
        for _ in 0..<KeyLimits.attemptsMax {
            let loaded = try await folders.use(folder) { () throws(KeyFolderProblem) in try folder.load() }
            let machine = Machine(goal: goal, kept: loaded.kept, scope: folder.place.scope, deviceName: deviceName)
            if let end = try await run(machine, over: loaded.version, in: folder, for: account) { return end }
        }
        throw AccountKeysFailure.busy.error
    }

    /// - Returns: Nil where another process wrote to the folder meanwhile, so that it has to be read again.
    private func run(
        _ started: Machine, over version: KeyFolder.Version, in folder: KeyFolder, for account: AccountBinding
    ) async throws(CKError) -> End? {
        var (machine, version) = (started, version)
        let before = ListedDevices(started.kept.known)
        var action = machine.started()
        while true {
            switch action {
            case .fetch(let number): action = machine.pageCame(try await fetch(after: number, for: account))
            case .append(let request):
                if let refusal = try await append(request, for: account) {
                    action = machine.appendRefused(refusal)
                } else {
                    action = machine.appended()
                }
            case .write(let changes):
                let before = version
                let written = try await folders.use(folder) { () throws(KeyFolderProblem) in
                    try folder.write(changes, over: before)
                }
                guard let written else { return nil }
                version = written
                action = machine.written()
            case .finish(let outcome):
                let kept = machine.kept
                return End(
                    outcome: outcome, standing: machine.standing, listedAs: kept.listedAs,
                    device: kept.device?.publicKeys == kept.listedAs ? kept.device : nil,
                    listed: (before, ListedDevices(kept.known)), statementsHead: version[.statements])
            }
        }
    }

    // MARK: The server

    private func fetch(after number: UInt32, for account: AccountBinding) async throws(CKError) -> StatementsPage {
        try await account.call(.statementsFetch) { coder in
            coder.encodeFetchStatementsRequest(after: number)
        } decode: { (coder, bytes) throws(ServiceError) in
            try coder.decodeFetchStatementsResponse(bytes)
        }
    }

    /// Nil where the server has the statement; else why it does not take it.
    private func append(
        _ request: AppendStatementRequest, for account: AccountBinding
    ) async throws(CKError) -> Machine.Refusal? {
        do throws(CKError) {
            // The same bytes have one effect however often they come.
            try await account.call(.statementsAppend, effect: .onceByOperationID) { coder in
                coder.encodeAppendStatementRequest(request)
            } decode: { (coder, bytes) throws(ServiceError) in
                try coder.decodeAppendStatementResponse(bytes)
            }
            return nil
        } catch {
            let code: ErrorCode
            switch error.code {
            case .serverRecordChanged: code = .serverRecordChanged
            case .invalidArguments: code = .invalidArguments
            case .limitExceeded: code = .limitExceeded
            default: throw error
            }
            return Machine.Refusal(code: code, message: error.localizedDescription)
        }
    }
}

extension BrumeConfiguration {
    /// How the account's other devices show this one.
    var resolvedDeviceName: String {
        if let deviceName, !deviceName.isEmpty { return deviceName }
        let host = (try? FileSystem.read("/proc/sys/kernel/hostname", limit: 256)) ?? []
        let name = String(decoding: host, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        return name.isEmpty ? "device" : name
    }
}
