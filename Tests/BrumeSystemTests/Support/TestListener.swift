import BrumeSystem
import BrumeTestKit

/// A listener on a loop of its own, and another loop for clients; both end with this object.
final class TestListener {
    let certificates: TestCertificates
    let serverLoop: EventLoop
    let clientLoop: EventLoop
    let listener: Listener

    init(
        certificates: TestCertificates = .shared, host: String = "127.0.0.1",
        limits: ConnectionLimits = ConnectionLimits(),
        accept: @escaping (Connection) -> (any ConnectionDelegate)?
    ) throws {
        self.certificates = certificates
        serverLoop = try EventLoop(name: "test-server")
        clientLoop = try EventLoop(name: "test-client")
        listener = try Listener(
            host: host, port: 0, tls: certificates.serverContext(), loop: serverLoop, limits: limits, accept: accept)
        serverLoop.start()
        clientLoop.start()
    }

    deinit {
        for loop in [serverLoop, clientLoop] {
            loop.stop()
            loop.join()
        }
    }

    /// Connects on the client loop.
    func connect(
        host: String = "127.0.0.1", context: TLSClientContext? = nil, timeoutMilliseconds: UInt64 = 20_000,
        limits: ConnectionLimits = ConnectionLimits(), _ delegate: TestDelegate
    ) throws {
        let context = try context ?? certificates.clientContext()
        let (port, loop) = (listener.port, clientLoop)
        loop.execute {
            _ = Connection.connect(
                host: host, port: port, tls: context, loop: loop, timeoutMilliseconds: timeoutMilliseconds,
                limits: limits, delegate: delegate)
        }
    }

    static func echo() -> TestDelegate {
        let delegate = TestDelegate()
        delegate.received = { connection, bytes in connection.write(bytes) }
        return delegate
    }
}

extension Connection {
    func write(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { write($0) }
    }
}
