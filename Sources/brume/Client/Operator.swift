internal import BrumeAdmin
internal import BrumeKit
internal import BrumeModel
internal import BrumeServer
internal import BrumeSystem
internal import Foundation

/// The operator's access to a data folder: through the Admin service while a server runs on it, directly otherwise.
enum Operator {
    case running(ClientSession)
    case stopped(FolderAccounts)

    /// - Parameter makesFolder: Whether a missing data folder is made.
    init(_ invocation: Invocation, makesFolder: Bool = false) throws {
        let environment = try CommandOptions.environment(invocation)
        let container = try CommandOptions.containerName(invocation)
        if let session = try Self.session(invocation, container: container, environment: environment) {
            self = .running(session)
            return
        }
        let folder = try invocation.required("data")
        try Self.checkOwner(of: folder)
        if makesFolder { try DataFolder.requireOwn(folder) } else { try DataFolder.require(folder) }
        let isNew = !FileSystem.exists(folder)
        self = .stopped(
            try FolderAccounts(
                dataFolder: folder, container: container, environment: environment, isOperators: true))
        if isNew { Terminal.printError("brume: there was no data folder \(folder): a new one is made") }
    }

    /// A session with the command's server: the one that runs on the data folder, or the one that --server names.
    /// Returns nil when none runs on the folder.
    ///
    /// - Parameter container: The container of the request; it matters only to accounts' user names, schemas and roles.
    static func session(
        _ invocation: Invocation, container: String = "iCloud.brume",
        environment: BrumeModel.Environment = .development
    ) throws -> ClientSession? {
        if invocation.command.option(named: CommandOptions.operatorTokenFile) != nil,
            invocation.text("server") != nil
        {
            return try remoteSession(invocation, container: container, environment: environment)
        }
        return try folderSession(invocation.required("data"), container: container, environment: environment)
    }

    /// A session with the server that runs on a data folder; nil when none does.
    static func folderSession(
        _ folder: String, container: String, environment: BrumeModel.Environment
    ) throws -> ClientSession? {
        guard try OperatorDoor.isOpen(dataFolder: folder) else { return nil }
        return try ClientSession.operators(
            socketPath: OperatorDoor.path(dataFolder: folder), container: container, environment: environment)
    }

    /// The same for a command that needs a running server.
    static func runningSession(_ invocation: Invocation) throws -> ClientSession {
        if let session = try session(invocation) { return session }
        throw noServer(on: try invocation.required("data"))
    }

    /// Refuses to let root write into another user's folder: that user's server could not read the files.
    static func checkOwner(of folder: String) throws(CommandError) {
        guard geteuid() == 0, let owner = try? FileSystem.owner(folder), owner != 0 else { return }
        let name = getpwuid(owner).map { String(cString: $0.pointee.pw_name) } ?? String(owner)
        throw CommandError(
            .notPermitted, "no server runs on \(folder), which is \(name)'s, who could not read what root writes there",
            hint: "run this as \(name): sudo -u \(name) brume …")
    }

    static func noServer(on folder: String) -> CommandError {
        do throws(CommandError) { try DataFolder.require(folder) } catch { return error }
        return CommandError(
            .unreachable, "no server runs on \(folder)",
            hint: "start it: brume serve --data \(folder). Or name another folder with --data (BRUME_DATA)")
    }

    private static func remoteSession(
        _ invocation: Invocation, container: String, environment: BrumeModel.Environment
    ) throws -> ClientSession {
        let server = try CommandOptions.serverAddress(invocation)
        guard let path = invocation.text(CommandOptions.operatorTokenFile) else {
            throw UsageError(
                "the operator of a server elsewhere needs --operator-token-file FILE (BRUME_OPERATOR_TOKEN_FILE)",
                hint: "copy the file admin.token from that server's data folder, and name the copy")
        }
        let configuration = BrumeConfiguration(
            server: server, caPath: try CommandOptions.certificateAuthority(invocation), container: container,
            environment: environment == .production ? .production : .development)
        return try ClientSession.unshared(configuration, adminToken: TokenText.read(path))
    }

    func add(name: String, email: String, phone: String) async throws -> (account: Account, token: String) {
        switch self {
        case .running(let session):
            return try await Self.tellingConflicts { () async throws(ServiceError) in
                try await session.addAccount(name: name, email: email, phone: phone)
            }
        case .stopped(let accounts): return try accounts.add(name: name, email: email, phone: phone)
        }
    }

    /// An account after the change of its handles.
    func handles(ofAccount name: String, change: HandleChange) async throws -> Account {
        switch self {
        case .running(let session):
            try await Self.tellingConflicts { () async throws(ServiceError) in
                try await session.handles(ofAccount: name, change: change)
            }
        case .stopped(let accounts): try accounts.handles(of: name, change)
        }
    }

    /// A name or a handle that another account has is a conflict, whoever finds it.
    private static func tellingConflicts<Answer>(
        _ call: () async throws(ServiceError) -> Answer
    ) async throws -> Answer {
        do throws(ServiceError) {
            return try await call()
        } catch  where error.code == .serverRejectedRequest {
            throw CommandError(.conflict, error.message)
        }
    }

    func list() async throws -> [Account] {
        switch self {
        case .running(let session): try await session.listAccounts()
        case .stopped(let accounts): try accounts.list()
        }
    }

    /// Removes an account. Returns what was emptied with it.
    func remove(name: String, deletesData: Bool) async throws -> ResetSummary {
        switch self {
        case .running(let session): return try await session.removeAccount(name: name, deletesData: deletesData)
        case .stopped(let accounts):
            if deletesData { try requireServer() }
            try accounts.remove(name: name)
            return ResetSummary(databases: 0, records: 0)
        }
    }

    /// Refuses a removal with data where no server runs.
    func requireServer() throws(CommandError) {
        guard case .stopped = self else { return }
        throw CommandError(
            .unreachable, "an account's data is deleted by its server, and none runs on the folder",
            hint: "start it with brume serve, and run this again")
    }

    func createToken(name: String) async throws -> String {
        switch self {
        case .running(let session): try await session.createToken(name: name)
        case .stopped(let accounts): try accounts.createToken(name: name)
        }
    }

    func quota(ofAccount name: String, change: QuotaChange?) async throws -> AccountQuota {
        switch self {
        case .running(let session): try await session.quota(ofAccount: name, change: change)
        case .stopped(let accounts): try accounts.quota(ofAccount: name, change: change)
        }
    }

    func revokeTokens(name: String) async throws -> Int {
        switch self {
        case .running(let session): try await session.revokeTokens(name: name)
        case .stopped(let accounts): try accounts.revokeTokens(name: name)
        }
    }
}
