import BrumeSystem

/// A delegate of closures. `@unchecked Sendable`: set up before use, called by the connection's loop alone.
final class TestDelegate: ConnectionDelegate, @unchecked Sendable {
    var established: (Connection) -> Void = { _ in }
    var received: (Connection, UnsafeRawBufferPointer) -> Void = { _, _ in }
    var drained: (Connection) -> Void = { _ in }
    var closed: (Connection, CloseReason) -> Void = { _, _ in }

    /// Why the connection ended, each time that was said.
    let closeReasons = Shared<[CloseReason]>([])
    let isEstablished = Signal()
    let isClosed = Signal()

    func connectionEstablished(_ connection: Connection) {
        established(connection)
        isEstablished.raise()
    }

    func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
        received(connection, bytes)
    }

    func connectionDrained(_ connection: Connection) { drained(connection) }

    func connectionClosed(_ connection: Connection, reason: CloseReason) {
        closed(connection, reason)
        closeReasons.change { $0.append(reason) }
        isClosed.raise()
    }
}
