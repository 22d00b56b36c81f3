/// The user of a connection. All calls come on the connection's loop, none from within a call to the connection.
package protocol ConnectionDelegate: AnyObject {
    /// The TCP connection and the TLS handshake are done. Not called again after `attach`.
    func connectionEstablished(_ connection: Connection)
    /// Bytes of the peer are about to be read from the socket and decrypted. A delegate that pauses reading now leaves
    /// them in the kernel.
    func connectionWillRead(_ connection: Connection)
    /// The read that `connectionWillRead` announced is done; its bytes were delivered if they sufficed to decrypt a
    /// record.
    func connectionDidRead(_ connection: Connection)
    /// Decrypted bytes, valid for the call. What is needed later must be copied.
    func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer)
    /// The pending output fell below the low-water mark after ``Connection/isOutputBusy`` was true.
    func connectionDrained(_ connection: Connection)
    /// The connection is gone. Called exactly once, as the last call (but never for a connection that was detached).
    func connectionClosed(_ connection: Connection, reason: CloseReason)
}

extension ConnectionDelegate {
    package func connectionWillRead(_ connection: Connection) {}
    package func connectionDidRead(_ connection: Connection) {}
}
