internal import BrumeModel

/// What one connection may take of the server. Deadlines are settable, so that tests need not wait.
package struct ServerConnectionLimits: Sendable {
    /// The time from the end of the handshake to a whole hello.
    package var helloTimeoutMilliseconds: UInt64 = 10_000
    /// The time from a frame's first byte to its last: a peer that sends very slowly would otherwise hold its buffer
    /// forever.
    package var frameTimeoutMilliseconds: UInt64 = 30_000
    /// The default and the longest time for a unary call, its request included.
    package var callTimeoutMilliseconds: UInt64 = 60_000
    /// Silence after which the peer is pinged; after another third of it without a byte the connection is closed.
    package var idleMilliseconds: UInt64 = 60_000
    /// Open calls of one connection. Each may hold an answer of a page; 128 keep a client with many tasks busy.
    package var concurrentCalls = 128
    /// Messages that a side may send on a stream before it is granted more.
    package var streamCredit = 64
    /// Bytes that a side may send on a stream before it is granted more: enough to keep a fast connection busy while
    /// credit is on its way, and little beside a connection's output.
    package var streamCreditBytes = 256 * 1024
    /// The messages that a client may accumulate on one stream as credit: more grants are a mistake or an attack.
    package var streamCreditMax = 1 << 20
    /// The same for bytes.
    package var streamCreditBytesMax = 1 << 30
    /// Pings that a client may send in a second: more is an attack on the processor.
    package var pingsPerSecond = 20
    /// A hello's bytes; nothing else is read before it.
    package var helloBytes = 64 * 1024

    package init() {}

    /// What each side of a stream begins with.
    var initialCredit: StreamCredit { StreamCredit(messages: streamCredit, bytes: streamCreditBytes) }
    /// The most that a client may accumulate.
    var creditMax: StreamCredit { StreamCredit(messages: streamCreditMax, bytes: streamCreditBytesMax) }
}
