package import BrumeModel

/// The client's own limits for a connection, each with its reason.
package enum ClientConnectionLimits {
    /// Bytes of a frame before the welcome: the protocol's limit.
    package static let greetingFrameBytes = 64 * 1024

    /// The time from our hello to the server's welcome. A healthy server takes milliseconds.
    package static let greetingNanoseconds: UInt64 = 10_000_000_000

    /// Silence after which the server is pinged while calls wait for it. With the time for the pong, a dead server is
    /// found well within the 60 s of a call.
    package static let silenceInCallNanoseconds: UInt64 = 15_000_000_000

    /// The time that a pong may take: a third of the idle time, which is what the server allows too, and 10 s at most.
    package static func pongNanoseconds(idle idleMilliseconds: Int) -> UInt64 {
        min(UInt64(idleMilliseconds) * 1_000_000 / 3, 10_000_000_000)
    }

    /// The largest frame in bytes that a client always accepts: the server may send as much even when its own limit is
    /// lower.
    package static let answerFrameBytes = Limits.frameBytes

    /// The largest frame in bytes that a client ever accepts, whatever limit the server names: a client has to hold one
    /// frame.
    package static let frameBytesMax = 64 * 1024 * 1024

    /// The last stream id of a connection, which is replaced when they are used up.
    package static let streamIDMax = UInt32.max - 1

    /// The least credit in bytes that a stream begins with: room for the message that opens it and an acknowledgement,
    /// which have some hundred bytes.
    package static let streamCreditBytesMin = 1_024

    /// The most credit that is counted for a stream, more than a client ever sends at once.
    package static let streamCreditMax = StreamCredit(messages: 1 << 31, bytes: 1 << 31)

    /// The limits of a welcome, reduced to what this client works with. Returns nil when they are too small for it.
    static func checked(_ limits: ConnectionLimits) -> ConnectionLimits? {
        // Two calls: one may be the notification stream. Two messages: the one that opens a stream and an
        // acknowledgement.
        guard limits.frameBytes >= greetingFrameBytes, limits.concurrentCalls >= 2, limits.streamCredit >= 2,
            limits.streamCreditBytes >= streamCreditBytesMin, limits.idleMilliseconds >= 30
        else { return nil }
        var checked = limits
        checked.frameBytes = min(limits.frameBytes, frameBytesMax)
        return checked
    }
}
