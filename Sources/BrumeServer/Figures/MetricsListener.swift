internal import BrumeHTTP
internal import BrumeLock
internal import BrumeModel
internal import BrumeService
internal import BrumeSystem

/// Figures and health over HTTP, for Prometheus and for whatever watches processes: `/metrics`, `/livez` and `/readyz`.
///
/// Every answer asks the loops, which shows that they turn. `/livez` reports one that does not answer in time.
final class MetricsListener: Sendable {
    private let listener: HTTPListener

    var port: UInt16 { listener.port }

    /// - Parameter machine: Reads what surrounds the server; called on the listener's thread.
    init(
        host: String, port: UInt16, server: ServerCore, machine: @escaping @Sendable () -> MachineFigures
    ) throws(SystemError) {
        listener = try HTTPListener(host: host, port: port) { [unowned server] path in
            MetricsListener.response(to: path, server, machine)
        }
    }

    /// Call it before the server is taken down.
    func stop() { listener.stop() }

    /// The loops' figures, handed to the listener's thread.
    private final class ScrapeResult: Sendable {
        private let parts = Lock<[ServerFigures]>([])
        private let arrived = Semaphore()

        func put(_ parts: [ServerFigures]) {
            self.parts.withLock { $0 = parts }
            arrived.post()
        }

        /// Waits for the figures, and returns nil when they do not arrive in time.
        func wait(milliseconds: Int) -> [ServerFigures]? {
            arrived.wait(milliseconds: milliseconds) ? parts.withLock { $0 } : nil
        }
    }

    private static func response(
        to path: String, _ server: ServerCore, _ machine: () -> MachineFigures
    ) -> HTTPListener.Response {
        guard ["/metrics", "/livez", "/readyz"].contains(path) else {
            return HTTPListener.Response(404, "there are /metrics, /livez and /readyz\n")
        }
        let result = ScrapeResult()
        server.collectFigures { result.put($0) }
        guard let parts = result.wait(milliseconds: ServerLimits.figuresTimeoutMilliseconds) else {
            return HTTPListener.Response(
                503, "a loop has not answered within \(ServerLimits.figuresTimeoutMilliseconds) milliseconds\n")
        }
        let now = MonotonicClock.nowNanoseconds
        switch path {
        case "/metrics":
            return HTTPListener.Response(
                200, PrometheusText(server.figures(of: parts, at: now), machine()).text,
                contentType: PrometheusText.contentType)
        case "/livez": return HTTPListener.Response(200, "the loops turn\n")
        case "/readyz": return readiness(server.health(at: now))
        default: preconditionFailure("an answer was asked for \(path), which is none of ours")
        }
    }

    /// A server that drains takes no new clients; one with a full disk, or with damage, still serves all that it can.
    static func readiness(_ health: HealthStatus) -> HTTPListener.Response {
        var lines = [health.isServing ? "serving" : "about to stop: no new clients are taken"]
        if health.isDiskFull { lines.append("the disk is full: writes are refused, reading goes on") }
        if health.isDamageFound { lines.append("a file of the data folder is damaged: the log names it") }
        return HTTPListener.Response(health.isServing ? 200 : 503, lines.joined(separator: "\n") + "\n")
    }
}
