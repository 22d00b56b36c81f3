/// What a connection tells its user. All calls come on the connection's loop, none from within a call to the connection.
package protocol ConnectionDelegate: AnyObject {
    /// The TCP connection and the TLS handshake are done. Not called again after `attach`.
    func connectionEstablished(_ connection: Connection)
    /// Decrypted bytes, valid for the call. What is needed later must be copied.
    func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer)
    /// The pending output fell below the low-water mark after it was above the high-water mark.
    func connectionDrained(_ connection: Connection)
    /// The connection is gone. Called exactly once, as the last call (but never for a connection that was detached).
    func connectionClosed(_ connection: Connection, reason: CloseReason)
}
