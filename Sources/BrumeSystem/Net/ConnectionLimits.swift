/// What a connection may take: time and memory. Passed to a listener, or to `connect`.
package struct ConnectionLimits: Sendable {
    /// The time from accept to the end of the handshake. A healthy one takes milliseconds; 10 s allow for bad mobile
    /// links.
    package var handshakeTimeoutMilliseconds: UInt64 = 10_000
    /// The time without any progress while output is pending. TCP itself would wait for a quarter of an hour.
    package var writeStallTimeoutMilliseconds: UInt64 = 30_000
    /// Pending output above which ``Connection/isOutputFull`` is true: the user stops producing, or reading.
    package var outputHighWaterBytes = 1024 * 1024
    /// Pending output above which ``Connection/isOutputBusy`` is true: the user stops producing what can wait. With as
    /// much in the kernel it is about a quarter of a MiB that a small answer waits behind: a tenth of a second at
    /// 20 Mbit/s.
    package var outputBusyBytes = 128 * 1024
    /// Pending output below which the user is told to go on.
    package var outputLowWaterBytes = 64 * 1024
    /// Pending output at which the connection is closed: a user that respects the high-water mark never reaches it.
    package var outputBytesMax = 64 * 1024 * 1024
    /// Size of the kernel's send buffer; `nil` leaves it to the kernel, which adapts it.
    package var sendBufferBytes: Int?
    /// Connections of all listeners that share a ``ConnectionAdmission``. More are closed at once.
    package var connectionsMax = 100_000
    /// Connections without an account from one network. More are closed at once.
    package var connectionsPerAddressMax = 100_000
    /// Opening connections of one listener. When there are more, the oldest one of the network that has most is closed
    /// if it is older than a second; otherwise new ones wait in the kernel's backlog.
    package var handshakesMax = 1024
    /// Opening connections of one network. For one more, the network's oldest is closed if it is older than a second;
    /// otherwise the new one is closed.
    package var handshakesPerAddressMax = 1024
    /// How long handshakes of new connections may occupy a loop in one turn: one of a millisecond or two, or several
    /// short ones. The others wait for later turns, in which the networks that they come from alternate. At least one
    /// handshake is done in each turn.
    package var handshakeSliceNanoseconds: UInt64 = 1_000_000
    /// Whether a connection is opening until ``Connection/opened(hasAccount:)``; otherwise the end of the handshake is
    /// enough.
    package var awaitsIdentity = false

    package init() {}
}
