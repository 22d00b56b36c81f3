package import BrumeSystem
internal import CMicrohttpd
internal import Glibc

/// A small HTTP/1.1 server for figures and health checks, without TLS, on a thread of its own.
///
/// Accepts GET and HEAD without a body. Its connections are few and short; beyond their limits the oldest is closed in
/// favour of the newest. It answers one request after the other: a handler that takes long delays the others, and
/// nothing else.
///
/// `@unchecked Sendable`: the daemon is stopped once, by ``stop()``; the handler is for any thread.
package final class HTTPListener: @unchecked Sendable {
    package struct Response: Equatable, Sendable {
        package var status: UInt32
        package var contentType: String
        package var body: String

        package init(_ status: UInt32, _ body: String, contentType: String = "text/plain; charset=utf-8") {
            self.status = status
            self.contentType = contentType
            self.body = body
        }
    }

    /// Answers a request for a path, without its query. Called on the listener's thread.
    package typealias Handler = @Sendable (_ path: String) -> Response

    /// The object that the library's thread is given.
    private final class Context {
        let handler: Handler
        /// Only the library's thread uses them.
        var connections = HTTPConnections()

        init(_ handler: @escaping Handler) { self.handler = handler }
    }

    /// The actual port, also when 0 was requested.
    package let port: UInt16
    private let context: Context
    private var daemon: OpaquePointer?

    /// Begins to listen.
    ///
    /// - Parameters:
    ///   - host: As for `Listener` of BrumeSystem.
    ///   - port: 0 takes any free one.
    package init(host: String, port: UInt16, handler: @escaping Handler) throws(SystemError) {
        let (fd, port) = try Listener.socket(host: host, port: port, backlog: Int32(HTTPLimits.connections))
        self.port = port
        context = Context(handler)
        daemon = brume_http_start(
            fd, HTTPListener.respond, HTTPListener.changed, Unmanaged.passUnretained(context).toOpaque(),
            // Connections that have to end keep their places until the thread has closed them.
            2 * HTTPLimits.connections, HTTPLimits.timeoutSeconds, HTTPLimits.connectionBytes)
        guard daemon != nil else {
            close(fd)
            throw SystemError(call: "MHD_start_daemon", errno: 0, message: "no thread for the HTTP listener")
        }
    }

    deinit { stop() }

    /// Closes all connections and waits for the thread. Not from the handler.
    package func stop() {
        guard let daemon else { return }
        self.daemon = nil
        MHD_stop_daemon(daemon)
    }

    /// Called when a connection has begun, and before its descriptor is closed.
    private static let changed: MHD_NotifyConnectionCallback = { context, connection, _, code in
        guard let context, let connection else { return }
        let listener = Unmanaged<Context>.fromOpaque(context).takeUnretainedValue()
        let fd = brume_http_descriptor(connection)
        guard fd >= 0 else { return }
        guard brume_http_has_begun(code) != 0 else { return listener.connections.ended(fd) }
        if let oldest = listener.connections.began(fd, from: PeerNetwork(ofPeerAt: fd)) { brume_http_end(oldest) }
    }

    /// Called at a request's headers, at each part of its body, and at its end.
    private static let respond: MHD_AccessHandlerCallback = { context, connection, url, method, _, _, size, state in
        guard let context, let connection, let url, let method, let size, let state else { return brume_http_no() }
        let name = String(cString: method)
        guard name == "GET" || name == "HEAD" else {
            // Answered before its body, which nobody reads.
            return queue(
                Response(405, "this listener answers GET and HEAD\n"), connection, allow: "GET, HEAD")
        }
        if state.pointee == nil {
            state.pointee = context
            return brume_http_yes()
        }
        if size.pointee > 0 {
            size.pointee = 0
            return brume_http_yes()
        }
        let handler = Unmanaged<Context>.fromOpaque(context).takeUnretainedValue().handler
        return queue(handler(String(cString: url)), connection, allow: nil)
    }

    private static func queue(_ answer: Response, _ connection: OpaquePointer, allow: String?) -> MHD_Result {
        var body = answer.body
        guard let response = body.withUTF8({ brume_http_response($0.baseAddress, $0.count) }) else {
            return brume_http_no()
        }
        defer { MHD_destroy_response(response) }
        MHD_add_response_header(response, "Content-Type", answer.contentType)
        MHD_add_response_header(response, "Cache-Control", "no-store")
        if let allow { MHD_add_response_header(response, "Allow", allow) }
        return MHD_queue_response(connection, answer.status, response)
    }
}
