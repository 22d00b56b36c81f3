/// Why a connection ended. For logs, and for the choice whether to try again.
package enum CloseReason: Equatable, Sendable, CustomStringConvertible {
    /// The peer closed in an orderly way.
    case peerClosed
    /// The peer's side ended without TLS's good-bye: it crashed, or someone cut the connection.
    case peerVanished
    /// The handshake failed: no TLS, another version, no ALPN, a certificate that is not trusted.
    case handshakeFailed(String)
    /// The handshake (of a client: name resolution and connecting too) took longer than allowed.
    case handshakeTimedOut
    /// The half-open handshake gave way to newer ones, because there were too many.
    case handshakeEvicted
    /// The peer took none of the pending output for too long.
    case writeStalled
    /// More output was pending than ``ConnectionLimits/outputBytesMax`` allows.
    case outputOverflow
    /// After the handshake the peer sent what is not TLS, or what fails authentication.
    case protocolViolation(String)
    /// This process called `close()` or `abort()`.
    case localClose
    /// The event loop ended.
    case loopStopped
    /// The host name has no address.
    case resolutionFailed(String)
    /// A system call failed, for example because the server refused the connection.
    case io(SystemError)

    package var description: String {
        switch self {
        case .peerClosed: "closed by the peer"
        case .peerVanished: "the peer vanished without closing"
        case .handshakeFailed(let message): "handshake failed: \(message)"
        case .handshakeTimedOut: "handshake timed out"
        case .handshakeEvicted: "handshake dropped: too many half-open connections"
        case .writeStalled: "the peer stopped reading"
        case .outputOverflow: "too much output was pending"
        case .protocolViolation(let message): "the peer broke TLS: \(message)"
        case .localClose: "closed here"
        case .loopStopped: "the event loop ended"
        case .resolutionFailed(let message): "no address: \(message)"
        case .io(let error): "\(error)"
        }
    }
}
