/// What carries a session's bytes: connections, and the serial executor with its clock that a session lives on.
///
/// A session knows the network through this protocol alone, so that each system can bring its own: Linux has
/// ``LoopTransport``. All but `execute` and `enqueue` are called on the executor.
package protocol ClientTransport: SerialExecutor {
    /// Monotonic time.
    var nowNanoseconds: UInt64 { get }

    /// Runs `body` on the executor, behind what was handed in before it. Any thread.
    func execute(_ body: @escaping @Sendable () -> Void)

    /// Runs `body` on the executor when the time is over.
    func schedule(afterNanoseconds: UInt64, _ body: @escaping @Sendable () -> Void) -> any TransportTimer

    /// Opens a connection, a secure one but to a Unix socket. The outcome comes to the receiver, later.
    func connect(
        to endpoint: ServerEndpoint, timeoutMilliseconds: UInt64, receiver: any TransportReceiver
    ) -> any TransportConnection
}

/// A timer of a transport. On its executor only.
package protocol TransportTimer: Sendable {
    /// The timer does not fire any more. For one that fired this does nothing.
    func cancel()
}

/// A connection of a transport, up or on its way. On its executor only.
package protocol TransportConnection: AnyObject, Sendable {
    /// Whether so much of what was sent waits to leave that calls would wait behind more of it.
    /// ``TransportReceiver/connectionDrained(_:)`` says when that is over.
    var isOutputBusy: Bool { get }

    /// Sends bytes in their order. After the connection ended this does nothing.
    func send(_ bytes: [UInt8])

    /// Ends the connection when what was sent has left. The receiver is not told.
    func close()
}

/// Whom a connection tells what happens. All calls come on the executor, none from within a call to the connection or
/// the transport, and a connection does not keep its receiver alive.
package protocol TransportReceiver: AnyObject, Sendable {
    /// The connection is up, its peer verified.
    func connectionEstablished(_ connection: any TransportConnection)

    /// Bytes came, valid for the call.
    func connection(_ connection: any TransportConnection, received bytes: UnsafeRawBufferPointer)

    /// Most of what was sent has left, after ``TransportConnection/isOutputBusy`` was true.
    func connectionDrained(_ connection: any TransportConnection)

    /// The connection is gone, or did not come up. The last call.
    func connectionEnded(_ connection: any TransportConnection, failure: TransportFailure)
}

/// Why a connection did not come up, or ended. The texts are ends of a sentence for the app's developer.
package enum TransportFailure: Error, Equatable, Sendable {
    /// The machine has no way to the server: no route, or its name is unknown.
    case noNetwork(String)
    /// The device knows that it has no network: what is asked meanwhile fails at once instead of waiting for one.
    case offline(String)
    /// There is a network, but nobody answers.
    case unreachable(String)
    /// Somebody answers who is not the server that is meant: another protocol, or a certificate that is not trusted.
    case unfit(String)
    /// The connection was up and broke.
    case lost(String)
    /// The endpoint can't be used as it is: its CA file can't be read, for example. A whole sentence.
    case misconfigured(String)
}

/// Where a server is, and how it proves itself.
package struct ServerEndpoint: Hashable, Sendable {
    package let host: String
    package let port: UInt16
    /// PEM file with the CA certificate that the server's certificate is verified against; nil: those of the system.
    package let caPath: String?
    /// The Unix socket of a server on this machine, which has neither host nor port nor TLS.
    package let socketPath: String?

    package init(host: String, port: UInt16, caPath: String?) {
        self.host = host
        self.port = port
        self.caPath = caPath
        socketPath = nil
    }

    package init(socketPath: String) {
        host = ""
        port = 0
        caPath = nil
        self.socketPath = socketPath
    }

    /// `host:port`, an IPv6 address in brackets, or the socket's path.
    package var name: String { socketPath ?? address }

    /// The beginning of the server's URLs, without the port that they have anyway; nil for a socket.
    package var origin: String? {
        if socketPath != nil { return nil }
        return "https://" + (port == 443 ? String(address.dropLast(":443".count)) : address)
    }

    private var address: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
