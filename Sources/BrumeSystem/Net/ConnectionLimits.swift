/// What a connection may take: time and memory. Passed to a listener, or to `connect`.
package struct ConnectionLimits: Sendable {
    /// From accept to the end of the handshake. A healthy one takes milliseconds; 10 s allow for bad mobile links.
    package var handshakeTimeoutMilliseconds: UInt64 = 10_000
    /// Without any progress while output is pending. TCP itself would wait for a quarter of an hour.
    package var writeStallTimeoutMilliseconds: UInt64 = 30_000
    /// Pending output above which ``Connection/isOutputFull`` is true: the user stops producing, or reading.
    package var outputHighWaterBytes = 1024 * 1024
    /// Pending output below which the user is told to go on.
    package var outputLowWaterBytes = 256 * 1024
    /// Pending output at which the connection is closed: a user who looks at the high-water mark never gets here.
    package var outputBytesMax = 64 * 1024 * 1024
    /// Size of the kernel's send buffer; `nil` leaves it to the kernel, which adapts it.
    package var sendBufferBytes: Int?
    /// Connections of one listener. More are closed at once.
    package var connectionsMax = 100_000
    /// Handshakes in progress at one listener. When there are more, those older than a second give way, the oldest
    /// first; if there are none, new ones wait in the kernel's backlog.
    package var handshakesMax = 1024

    package init() {}
}
