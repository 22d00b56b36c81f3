import BrumeSystem
import Testing

/// A peer that says something and good-bye in one breath, so that the server finds both in one read.
///
/// `@unchecked Sendable`: everything happens on its loop.
final class GoodbyePeer: ConnectionDelegate, @unchecked Sendable {
    private let first: [UInt8]
    private let ended: AsyncStream<Void>.Continuation
    private var connection: Connection?

    private init(first: [UInt8], ended: AsyncStream<Void>.Continuation) {
        self.first = first
        self.ended = ended
    }

    /// Returns when the connection has ended.
    static func say(_ bytes: [UInt8], to server: HostileServer, on loop: EventLoop) async throws {
        let tls = try TLSClientContext(caPath: server.caPath)
        let port = server.port
        let (stream, continuation) = AsyncStream<Void>.makeStream()
        let peer = GoodbyePeer(first: bytes, ended: continuation)
        loop.execute {
            peer.connection = Connection.connect(
                host: "127.0.0.1", port: port, tls: tls, loop: loop, timeoutMilliseconds: 30_000, delegate: peer)
        }
        for await _ in stream {}
    }

    func connectionEstablished(_ connection: Connection) {
        first.withUnsafeBytes { connection.write($0) }
        connection.close()
    }

    func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {}
    func connectionDrained(_ connection: Connection) {}

    func connectionClosed(_ connection: Connection, reason: CloseReason) {
        self.connection = nil
        ended.finish()
    }
}
