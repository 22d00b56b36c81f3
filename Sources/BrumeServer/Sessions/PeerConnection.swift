internal import BrumeService
package import BrumeSystem

/// What a session asks of its connection: bytes out, and reading held back. On the loop that has the connection.
package protocol PeerConnection: AnyObject {
    /// For the log.
    var peerAddress: String { get }
    /// The peer's network, by which peers without an account are counted.
    var peerNetwork: PeerNetwork { get }
    /// False once either side has begun to close.
    var isOpen: Bool { get }
    /// Whether so much output waits that no more should be made.
    var isOutputFull: Bool { get }
    /// Whether so much output waits that streams send no more, lest answers wait behind them.
    var isOutputBusy: Bool { get }

    /// The peer has identified itself. Called on the loop that accepted the connection.
    func opened(hasAccount: Bool)
    /// Bytes that the peer has not taken.
    var pendingOutputBytes: Int { get }
    /// Has the pending output counted from now on.
    func countOutput(with counter: any OutputCounter)
    func pauseReading()
    func resumeReading()
    /// Takes what the peer has sent, without waiting for the loop to report it. The receiver is called from within.
    func readNow()
    /// Appends to the output in place. After ``close()`` this does nothing.
    ///
    /// - Parameter isNews: Whether the peer does not wait for it: it may leave after what others wait for.
    func withOutput(minimumCapacity: Int, isNews: Bool, _ body: (UnsafeMutableRawBufferPointer) -> Int)
    /// Closes once what is pending has been sent.
    func close()
    /// Closes at once; what is pending is lost.
    func abort()

    /// Takes the connection off its loop with all that is under way, and returns what puts it on another one, to be
    /// called there once. This object is of no use afterwards.
    func leave() -> @Sendable (EventLoop, any ConnectionDelegate) -> any PeerConnection
}

/// What a connection tells its session, on its loop, and none of it from within a call to the connection.
package protocol PeerConnectionReceiver: AnyObject, Sendable {
    func established()
    /// Bytes are about to be read, unless this call pauses reading.
    func willRead()
    /// The read is over; bytes may have been received.
    func didRead()
    /// Bytes came, valid for the call.
    func received(_ bytes: UnsafeRawBufferPointer)
    /// The output has room again, after ``PeerConnection/isOutputFull`` or ``PeerConnection/isOutputBusy``.
    func drained()
    /// The last call.
    func closed(peer: String, reason: String)
}

extension Connection: PeerConnection {
    package func leave() -> @Sendable (EventLoop, any ConnectionDelegate) -> any PeerConnection {
        let detached = detach()
        return { loop, delegate in Connection.attach(detached, to: loop, delegate: delegate) }
    }
}
