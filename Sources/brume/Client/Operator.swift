internal import BrumeKit
internal import BrumeModel
internal import BrumeServer

/// The operator's access to a data folder: through the Admin service while a server runs on it, directly otherwise.
enum Operator {
    case running(ClientSession)
    case stopped(FolderAccounts)

    init(_ invocation: Invocation) throws {
        let folder = try invocation.required("data")
        let environment = try CommandOptions.environment(invocation)
        let container = try invocation.required("container")
        if let session = try Self.session(folder: folder, container: container, environment: environment) {
            self = .running(session)
        } else {
            self = .stopped(
                try FolderAccounts(dataFolder: folder, container: container, environment: environment))
        }
    }

    /// A session with the server that runs on the folder, or nil when none does.
    static func session(
        folder: String, container: String, environment: BrumeModel.Environment
    ) throws -> ClientSession? {
        guard let file = try ServerFile(dataFolder: folder), file.isAlive else { return nil }
        let configuration = BrumeConfiguration(
            server: file.reachableServer, caPath: file.caPath, container: container,
            environment: environment == .production ? .production : .development)
        return try ClientSession.unshared(configuration, adminToken: ServerFile.adminToken(dataFolder: folder))
    }

    func add(name: String, email: String) async throws -> (account: Account, token: String) {
        switch self {
        case .running(let session):
            do throws(ServiceError) {
                return try await session.addAccount(name: name, email: email)
            } catch  where error.code == .serverRejectedRequest {
                throw CommandError(.conflict, error.message)
            }
        case .stopped(let accounts): return try accounts.add(name: name, email: email)
        }
    }

    func list() async throws -> [Account] {
        switch self {
        case .running(let session): try await session.listAccounts()
        case .stopped(let accounts): accounts.list()
        }
    }

    func remove(name: String) async throws {
        switch self {
        case .running(let session): try await session.removeAccount(name: name)
        case .stopped(let accounts): try accounts.remove(name: name)
        }
    }

    func createToken(name: String) async throws -> String {
        switch self {
        case .running(let session): try await session.createToken(name: name)
        case .stopped(let accounts): try accounts.createToken(name: name)
        }
    }

    func revokeTokens(name: String) async throws -> Int {
        switch self {
        case .running(let session): try await session.revokeTokens(name: name)
        case .stopped(let accounts): try accounts.revokeTokens(name: name)
        }
    }
}
