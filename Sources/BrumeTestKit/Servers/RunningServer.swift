internal import BrumeLock
internal import BrumeProtocol
package import BrumeServer
internal import BrumeService
package import BrumeStore
internal import BrumeSystem

/// A real server in the test's process: its loops, TLS on a free port of this machine, and a folder. It stops with the
/// object, and the folder goes.
package final class RunningServer: Sendable {
    package static let container = "iCloud.test"

    /// Tests that run at once with ``running(adjust:certificates:disk:_:onFailure:)``.
    private static let gate = ServerGate(places: 4)

    package let folder: TestFolder
    package let certificates: TestCertificates
    /// What the server logs.
    package let log: Lines
    package let port: UInt16
    private let configuration: ServerConfiguration
    private let running: Lock<Server?>
    private let devices = Lock(0)

    /// Starts a server.
    ///
    /// - Parameter disk: What the store uses in place of the data folder; nil for the folder itself.
    package init(
        certificates: TestCertificates = .shared, adjust: (inout ServerConfiguration) throws -> Void = { _ in },
        disk: (_ dataFolder: String) -> (any Disk)? = { _ in nil }
    ) throws {
        let (folder, log) = (try TestFolder(), Lines())
        var configuration = ServerConfiguration(
            dataFolder: folder.file("data"), certificatePath: certificates.certificatePath,
            keyPath: certificates.keyPath)
        configuration.port = 0
        configuration.journalSegmentBytes = 4 * 1024 * 1024
        // A test that stands behind others on a busy machine may take long between two of its steps.
        configuration.socketLimits.handshakeTimeoutMilliseconds = 120_000
        configuration.connectionLimits.helloTimeoutMilliseconds = 120_000
        configuration.log = log.log(minimum: .debug)
        try adjust(&configuration)
        let server = try Server(configuration, disk: disk(configuration.dataFolder))
        try server.start()
        configuration.port = server.port
        (self.folder, self.certificates, self.log, self.configuration) = (folder, certificates, log, configuration)
        port = server.port
        running = Lock(server)
    }

    deinit { stop() }

    /// Runs `body` with a server and stops it, whatever happened. Few tests do it at once: they have deadlines that a
    /// crowd would break.
    ///
    /// - Parameter note: What a failure is told with, such as a seed.
    package static func running(
        adjust: (inout ServerConfiguration) throws -> Void = { _ in }, certificates: TestCertificates = .shared,
        disk: (_ dataFolder: String) -> (any Disk)? = { _ in nil },
        _ body: (RunningServer) async throws -> Void, onFailure note: (() -> String)? = nil
    ) async throws {
        await gate.enter()
        defer { gate.leave() }
        let server = try RunningServer(certificates: certificates, adjust: adjust, disk: disk)
        defer { server.stop() }
        do {
            try await body(server)
        } catch {
            guard let note else { throw error }
            throw TestFailure("\(error) \(note())")
        }
    }

    // MARK: The server

    package var server: Server {
        running.withLock { server in
            guard let server else { preconditionFailure("the server was stopped") }
            return server
        }
    }

    /// Stops it in order; ``start()`` brings it back with its data, on its port.
    package func stop() {
        running.withLock { server in
            // One that did not come back is stopped already.
            guard let running = server.take() else { return }
            running.drain()
            running.wait()
        }
    }

    package func start() throws {
        try running.withLock { running in
            precondition(running == nil, "a server is started twice")
            let server = try Server(configuration)
            try server.start()
            running = server
        }
    }

    package var dataFolder: String { configuration.dataFolder }
    package var caPath: String { certificates.caPath }

    // MARK: Accounts

    /// Makes an account; returns its token.
    package func addAccount(_ name: String, email: String? = nil) throws -> String {
        try server.addAccount(name: name, email: email ?? "\(name)@example.com").token
    }

    /// Makes another token for an account.
    package func createToken(_ name: String) throws -> String { try server.createToken(name: name) }

    /// The path of a folder for another device's state.
    package func newStateFolder() -> String {
        let number = devices.withLock { count in
            count += 1
            return count
        }
        return folder.file("device-\(number)")
    }

    // MARK: The operator

    /// Where the operator's socket is.
    package var doorPath: String { OperatorDoor.path(dataFolder: dataFolder) }

    package func adminToken() throws -> String {
        let bytes = try FileSystem.read(dataFolder + "/admin.token", limit: 4096)
        return String(decoding: bytes.filter { $0 > 0x20 }, as: UTF8.self)
    }

    /// A connection of the operator.
    package func adminClient() async throws -> FrameClient {
        let hello = FrameWriter.frame(.hello, payload: FrameClient.hello(token: nil))
        let client = try await FrameClient.connect(door: doorPath, first: hello)
        try await client.takeWelcome()
        return client
    }
}
