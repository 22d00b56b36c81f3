import BrumeTestKit
import Foundation
import Testing

@testable import BrumeSystem

@Suite struct HandshakeTests {
    @Test(
        "garbage and plaintext get an alert and are closed",
        arguments: [
            Array("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8), Array("hello, is anybody there?\n".utf8),
            [UInt8](repeating: 0, count: 100), [UInt8](repeating: 0xff, count: 20_000),
            // A record that promises a hello and holds nonsense.
            [22, 3, 1, 0, 16] + [UInt8](repeating: 0xaa, count: 16),
        ])
    func garbageIsRefused(bytes: [UInt8]) throws {
        let serverSide = TestDelegate()
        let server = try TestListener { _ in serverSide }
        let peer = try PlainSocket(port: server.listener.port)
        peer.send(bytes)
        let answer = try peer.readToEnd()
        #expect(answer.first == 21, "an alert record, or nothing where a reset took it")
        #expect(answer.count == 7)
        #expect(serverSide.isClosed.wait())
        #expect(serverSide.closeReasons.value.first?.isHandshakeFailure == true)
    }

    @Test("a peer that stops in the middle of the handshake is closed at its deadline")
    func stalledHandshake() throws {
        var limits = ConnectionLimits()
        limits.handshakeTimeoutMilliseconds = 100
        let serverSide = TestDelegate()
        let server = try TestListener(limits: limits) { _ in serverSide }
        let peer = try PlainSocket(port: server.listener.port)
        // The begin of a hello whose rest never comes.
        peer.send([22, 3, 1, 2, 0, 1, 0])
        #expect(try peer.readToEnd() == [])
        #expect(serverSide.isClosed.wait())
        #expect(serverSide.closeReasons.value == [.handshakeTimedOut])
    }

    @Test("a server that never answers is given up at the client's deadline")
    func silentServer() throws {
        let silent = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(silent) }
        #expect(listen(silent, 1) == 0)
        let port = try Socket.localAddress(silent).port
        let loop = try EventLoop(name: "client")
        loop.start()
        let client = TestDelegate()
        let context = try TestCertificates.shared.clientContext()
        loop.execute {
            _ = Connection.connect(
                host: "127.0.0.1", port: port, tls: context, loop: loop, timeoutMilliseconds: 100, delegate: client)
        }
        #expect(client.isClosed.wait())
        loop.stop()
        loop.join()
        #expect(client.closeReasons.value == [.handshakeTimedOut])
    }

    @Test("when too many handshakes hang, the oldest gives way and an honest client gets in")
    func halfOpenGivesWay() throws {
        var limits = ConnectionLimits()
        limits.handshakesMax = 4
        let server = try TestListener(limits: limits) { _ in TestDelegate() }
        let hanging = try (0..<6).map { _ in try PlainSocket(port: server.listener.port) }
        let client = TestDelegate()
        try server.connect(client)
        #expect(client.isEstablished.wait())
        withExtendedLifetime(hanging) {}
    }

    @Test("more connections than allowed are closed at once, and there is room again when one ends")
    func connectionsAreLimited() throws {
        var limits = ConnectionLimits()
        limits.connectionsMax = 1
        let serverSide = TestDelegate()
        let server = try TestListener(limits: limits) { _ in serverSide }
        let first = TestDelegate()
        let connection = Shared<Connection?>(nil)
        first.established = { established in connection.change { $0 = established } }
        try server.connect(first)
        #expect(first.isEstablished.wait())
        let second = TestDelegate()
        try server.connect(second)
        #expect(second.isClosed.wait())
        server.clientLoop.execute { connection.value?.close() }
        #expect(serverSide.isClosed.wait())
        let third = TestDelegate()
        try server.connect(third)
        #expect(third.isEstablished.wait())
    }

    @Test("a certificate of another CA is refused")
    func wrongAuthority() throws {
        let server = try TestListener { _ in TestDelegate() }
        let client = TestDelegate()
        try server.connect(context: TestCertificates(hasOwnAuthority: true).clientContext(), client)
        #expect(client.isClosed.wait())
        let reason = try #require(client.closeReasons.value.first)
        #expect(reason.isHandshakeFailure)
        #expect("\(reason)".contains("certificate"))
    }

    @Test("a certificate for another name or address is refused", arguments: ["localhost", "127.0.0.1"])
    func wrongName(host: String) throws {
        let server = try TestListener(certificates: TestCertificates(names: ["example.com", "192.0.2.1"])) { _ in
            TestDelegate()
        }
        let client = TestDelegate()
        try server.connect(host: host, client)
        #expect(client.isClosed.wait())
        let reason = try #require(client.closeReasons.value.first)
        #expect(reason.isHandshakeFailure)
        #expect("\(reason)".contains("mismatch"))
    }

    @Test("IPv6 works by its literal address")
    func ipv6() throws {
        let server = try TestListener(host: "::1") { _ in TestDelegate() }
        let client = TestDelegate()
        try server.connect(host: "::1", client)
        #expect(client.isEstablished.wait())
    }

    @Test("the second connection resumes the first one's session")
    func resumption() throws {
        let server = try TestListener { _ in TestListener.echo() }
        let context = try server.certificates.clientContext()
        let resumed = Shared<[Bool]>([])
        for _ in 0..<2 {
            let client = TestDelegate()
            client.established = { connection in
                resumed.change { $0.append(connection.isResumed) }
                connection.write([1])
            }
            // The ticket came before the echo.
            client.received = { connection, _ in connection.close() }
            try server.connect(context: context, client)
            #expect(client.isClosed.wait())
        }
        #expect(resumed.value == [false, true])
    }

    @Test("the ticket leaves with the server's first bytes, and not on its own before")
    func ticketRidesAlong() throws {
        let certificates = TestCertificates.shared
        let (ours, theirs) = (TransferBuffers(), TransferBuffers())
        let server = try TLSSession(server: certificates.serverContext(), buffers: ours)
        let client = try TLSSession(
            client: certificates.clientContext(), host: "127.0.0.1", port: 1, buffers: theirs)
        func pass<Result>(_ bytes: [UInt8], to buffers: TransferBuffers, _ body: () -> Result) -> Result {
            bytes.withUnsafeBytes { bytes in
                buffers.setInput(bytes)
                defer { buffers.clearInput() }
                return body()
            }
        }
        func take(_ buffers: TransferBuffers) -> [UInt8] {
            defer { buffers.clearOutput() }
            return Array(buffers.output)
        }
        guard case .needsInput = client.handshake() else {
            Issue.record("a client that has said hello waits")
            return
        }
        let hello = take(theirs)
        _ = pass(hello, to: ours) { server.handshake() }
        let flight = take(ours)
        guard case .done = pass(flight, to: theirs, { client.handshake() }) else {
            Issue.record("the client is not done with the server's flight")
            return
        }
        let finished = take(theirs)
        guard case .done = pass(finished, to: ours, { server.handshake() }) else {
            Issue.record("the server is not done with the client's flight")
            return
        }
        #expect(ours.output.count == 0)
        for (bytes, recordCount) in [([1], 2), ([2, 3], 1)] as [([UInt8], Int)] {
            try bytes.withUnsafeBytes { try server.write($0) }
            var rest = take(ours)[...]
            for _ in 0..<recordCount {
                #expect(rest.first == 23, "a record of TLS 1.3 says no more than that it is encrypted")
                rest = rest.dropFirst(5 + Int(rest[rest.startIndex + 3]) * 256 + Int(rest[rest.startIndex + 4]))
            }
            #expect(rest.isEmpty)
        }
    }

    @Test("a client without ALPN, or with TLS 1.2, is refused; one with both right is served")
    func foreignClients() throws {
        let server = try TestListener { _ in TestDelegate() }
        func client(_ options: [String]) throws -> (status: Int32, output: String) {
            try Tool.run(
                ["openssl", "s_client", "-connect", "127.0.0.1:\(server.listener.port)", "-verify_return_error"]
                    + ["-CAfile", server.certificates.caPath, "-brief"] + options)
        }
        let without = try client([])
        #expect(without.status != 0)
        #expect(without.output.contains("no application protocol"))
        let other = try client(["-alpn", "h2"])
        #expect(other.status != 0)
        #expect(other.output.contains("no application protocol"))
        let old = try client(["-alpn", "brume/1", "-tls1_2"])
        #expect(old.status != 0)
        let right = try client(["-alpn", "brume/1"])
        #expect(right.status == 0)
        #expect(right.output.contains("TLS_AES_"))
    }

    @Test("a server that does not agree on ALPN is refused by the client")
    func foreignServer() throws {
        let certificates = TestCertificates.shared
        let process = try ChildProcess(
            executable: "/usr/bin/env",
            arguments: [
                "openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", certificates.certificatePath, "-key",
                certificates.keyPath,
            ], errors: .nowhere)
        defer { process.send(SIGKILL) }
        // It says "ACCEPT 127.0.0.1:PORT" when it listens.
        var said: String?
        repeat { said = process.output.readLine(timeoutMilliseconds: 20_000) } while said?.contains("ACCEPT") == false
        let port = try #require(
            said?.split(separator: ":").last.flatMap { UInt16($0.trimmingCharacters(in: .whitespaces)) })
        let loop = try EventLoop(name: "client")
        loop.start()
        let client = TestDelegate()
        let context = try certificates.clientContext()
        loop.execute {
            _ = Connection.connect(
                host: "127.0.0.1", port: port, tls: context, loop: loop, timeoutMilliseconds: 10_000, delegate: client)
        }
        #expect(client.isClosed.wait())
        loop.stop()
        loop.join()
        let reason = try #require(client.closeReasons.value.first)
        #expect("\(reason)".contains("ALPN"))
    }
}
