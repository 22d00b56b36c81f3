import BrumeLock
import BrumeProtocol
import BrumeServer
import BrumeStore
import BrumeSystem
import Foundation
import Testing

/// A real server on a free port of this machine, with a folder that goes with it.
final class HostileServer: Sendable {
    private static let gate = HostileGate(places: 4)

    let server: Server
    private let folder: TemporaryFolder
    private let log: HostileLog

    var port: UInt16 { server.port }
    var caPath: String { folder.path + "/ca.pem" }

    private init(
        adjust: (inout ServerConfiguration) -> Void, disk: (_ dataFolder: String) -> (any Disk)?
    ) throws {
        folder = try TemporaryFolder(prefix: "brume-hostile")
        let path = folder.path
        let authority = try CertificateAuthority.generate()
        try authority.write(certificatePath: path + "/ca.pem", keyPath: path + "/ca.key")
        try authority.issueServerCertificate(
            names: ["127.0.0.1"], certificatePath: path + "/server.pem", keyPath: path + "/server.key")

        let log = HostileLog()
        self.log = log
        var configuration = ServerConfiguration(
            dataFolder: path + "/data", certificatePath: path + "/server.pem", keyPath: path + "/server.key")
        configuration.port = 0
        configuration.journalSegmentBytes = 4 * 1024 * 1024
        // A test that stands behind others on a busy machine may take long between two of its steps.
        configuration.socketLimits.handshakeTimeoutMilliseconds = 120_000
        configuration.connectionLimits.helloTimeoutMilliseconds = 120_000
        configuration.log = Log(minimum: .debug) { log.append($0) }
        adjust(&configuration)
        server = try Server(configuration, disk: disk(configuration.dataFolder))
        try server.start()
    }

    /// Deadlines that a test can wait for. Only for those that do: on a busy machine they hit the innocent as well.
    static func shortDeadlines(_ configuration: inout ServerConfiguration) {
        configuration.connectionLimits.helloTimeoutMilliseconds = 1_000
        configuration.connectionLimits.frameTimeoutMilliseconds = 1_000
        configuration.socketLimits.handshakeTimeoutMilliseconds = 1_000
        configuration.socketLimits.writeStallTimeoutMilliseconds = 1_000
    }

    /// Runs `body` with a server, stops it and removes its folder, whatever happened.
    static func running(
        adjust: (inout ServerConfiguration) -> Void = { _ in },
        disk: (_ dataFolder: String) -> (any Disk)? = { _ in nil },
        _ body: (HostileServer) async throws -> Void, onFailure note: () -> String = { "" }
    ) async throws {
        await gate.enter()
        defer { gate.leave() }
        let server = try HostileServer(adjust: adjust, disk: disk)
        do {
            try await body(server)
        } catch {
            Issue.record("\(error) \(note())")
        }
        server.server.drain()
        server.server.wait()
        server.folder.remove()
    }

    /// Another client is welcomed and answered; with a token, from its database as well.
    func expectServes(token: String? = nil, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let peer = try await HostilePeer.welcomed(self, token: token, device: 200)
        let health = try await peer.succeed(HostileRequests.Method.healthCheck, [])
        #expect(health.varint(1) == 1, "the server serves no more", sourceLocation: sourceLocation)
        if token != nil {
            _ = try await peer.succeed(HostileRequests.Method.zonesList, ProtobufField.encode([.varint(1, 2)]))
        }
        peer.abort()
    }

    // MARK: Accounts

    func adminToken() throws -> String {
        let bytes = try FileSystem.read(folder.path + "/data/admin.token", limit: 4096)
        return String(decoding: bytes.filter { $0 > 0x20 }, as: UTF8.self)
    }

    /// Where the operator's socket is.
    var doorPath: String { OperatorDoor.path(dataFolder: folder.path + "/data") }

    /// A connection of the operator.
    func adminPeer() async throws -> HostilePeer {
        let hello = FrameWriter.frame(.hello, payload: HostileRequests.hello(token: nil))
        let peer = try await HostilePeer.connect(door: doorPath, first: hello)
        guard try await peer.nextFrame().type == .welcome else {
            throw HostilePeer.Failure(description: "the operator was not welcomed")
        }
        return peer
    }

    /// Makes an account; returns its token.
    func addAccount(_ name: String, email: String = "") async throws -> String {
        let admin = try await adminPeer()
        let answer = try await admin.succeed(
            HostileRequests.Method.adminAddAccount, ProtobufField.encode([.text(1, name), .text(2, email)]))
        admin.abort()
        return answer.text(2)
    }

    /// The user record name in the welcome that a peer got.
    func userRecordName(of peer: HostilePeer) async throws -> String {
        let bytes = peer.receivedBytes
        let length = bytes.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        guard let welcome = ProtobufReader(Array(bytes.dropFirst(FrameHeader.byteCount).prefix(length))) else {
            throw HostilePeer.Failure(description: "the first frame was no welcome")
        }
        return welcome.text(3)
    }

    // MARK: Log

    var logText: String { log.text }

    /// Waits until a line with `text` was logged; the test's time limit is the deadline.
    func waitForLog(_ text: String) async throws {
        while !log.text.contains(text) {
            try Task.checkCancellation()
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    // MARK: Memory

    /// Whether the process takes less memory than so much more while something is done: in one of three times, since
    /// what the server takes it takes each time, and what other tests take comes and goes.
    static func growsByLess(than byteCount: Int, _ body: (_ round: Int) async throws -> Void) async rethrows -> Bool {
        for round in 0..<3 {
            let before = residentBytes()
            try await body(round)
            if residentBytes() - before < byteCount { return true }
        }
        return false
    }

    /// Resident memory of this process: the server's, the peers', and what other tests hold at the time.
    static func residentBytes() -> Int {
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        guard fgets(&line, Int32(line.count), file) != nil else { return 0 }
        let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * Int(getpagesize())
    }
}

/// The lines that a server logged.
final class HostileLog: Sendable {
    private let lines = Lock<[String]>([])

    func append(_ line: String) { lines.withLock { $0.append(line) } }
    var text: String { lines.withLock { $0.joined(separator: "\n") } }
}
