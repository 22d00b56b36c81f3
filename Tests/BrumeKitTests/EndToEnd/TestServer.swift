import BrumeAdmin
import BrumeKit
import BrumeLock
import BrumeModel
import BrumeServer
import BrumeSystem
import BrumeTestKit
import Foundation

/// A real server in this process, with its folder and certificate, which both go with the object.
final class TestServer: Sendable {
    let folder: TestFolder
    private let server: Lock<Server?>
    let port: UInt16

    private let log: Log

    init(log: Log = .none) throws {
        self.log = log
        folder = try TestFolder()
        let authority = try CertificateAuthority.generate()
        try authority.write(certificatePath: folder.path + "/ca.pem", keyPath: folder.path + "/ca.key")
        try authority.issueServerCertificate(
            names: ["127.0.0.1"], certificatePath: folder.path + "/server.pem", keyPath: folder.path + "/server.key")
        let server = try Self.started(folder, port: 0, log)
        port = server.port
        self.server = Lock(Optional(server))
    }

    deinit { stop() }

    private static func started(_ folder: TestFolder, port: UInt16, _ log: Log) throws -> Server {
        var configuration = ServerConfiguration(
            dataFolder: folder.path + "/data", certificatePath: folder.path + "/server.pem",
            keyPath: folder.path + "/server.key")
        configuration.port = port
        configuration.journalSegmentBytes = 1024 * 1024
        configuration.log = log
        let server = try Server(configuration)
        try server.start()
        return server
    }

    /// A new account's token.
    func account(_ name: String) throws -> String {
        try server.withLock { try $0!.addAccount(name: name, email: "\(name)@example.com").token }
    }

    /// Another token of an account.
    func token(_ name: String) throws -> String {
        try server.withLock { try $0!.createToken(name: name) }
    }

    /// Revokes all tokens of an account, as the server's operator does.
    func revokeTokens(of name: String) async throws {
        _ = try await admin().revokeTokens(name: name)
    }

    /// The server's operator, for the schema of one environment.
    func admin(_ environment: BrumeConfiguration.Environment = .development) throws -> ClientSession {
        try ClientSession.operators(
            socketPath: OperatorDoor.path(dataFolder: folder.path + "/data"), container: "iCloud.test",
            environment: environment == .production ? .production : .development)
    }

    /// A device of an account: each call makes another one.
    func device(token: String?, configure: (inout BrumeConfiguration) -> Void = { _ in }) -> CKContainer {
        var configuration = BrumeConfiguration(
            server: "127.0.0.1:\(port)", caPath: folder.path + "/ca.pem", token: token,
            stateFolder: folder.path + "/device-" + UUID().uuidString)
        // Most tests add changes behind their commits.
        configuration.automaticSendDelay = .milliseconds(10)
        configure(&configuration)
        return CKContainer(identifier: "iCloud.test", configuration: configuration)
    }

    private func stop() {
        server.withLock { server in
            // One that did not come back is stopped already.
            guard let running = server.take() else { return }
            running.drain()
            running.wait()
        }
    }

    /// Stops the server; ``start()`` brings it back on its port.
    func shutDown() { stop() }

    func start() throws {
        let server = try Self.started(folder, port: port, log)
        self.server.withLock { $0 = server }
    }
}
