import BrumeServer
import BrumeSystem
import BrumeTestKit
import Glibc
import Testing

@testable import BrumeHTTP
@testable import BrumeSystem

@Suite("Figures over HTTP", .timeLimit(.minutes(4)))
struct MetricsTests {
    /// One request on a connection of its own.
    private func answer(_ request: String, port: UInt16) throws -> (status: Int, head: String, body: String) {
        let socket = try PlainSocket(port: port)
        socket.send(Array(request.utf8))
        let text = String(decoding: try socket.readToEnd(seconds: 30), as: UTF8.self)
        let parts = text.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
        let status = text.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        return (status ?? 0, String(parts.first ?? ""), parts.count > 1 ? String(parts[1]) : "")
    }

    private func get(_ path: String, port: UInt16) throws -> (status: Int, head: String, body: String) {
        try answer("GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", port: port)
    }

    private func running(backups: String = "/none", _ body: (RunningServer) async throws -> Void) async throws {
        try await RunningServer.running(
            adjust: {
                $0.backupsFolder = backups
                $0.metricsAddress = ("127.0.0.1", 0)
                $0.loopCount = 2
            }, body)
    }

    @Test("metrics follow the text format, tell what happened, and name no account")
    func metrics() async throws {
        try await running { server in
            let token = try server.addAccount("waldo-of-the-metrics")
            let peer = try await FrameClient.welcomed(server, token: token)
            try await peer.makeZone("ZoneOfTheMetrics")
            for name in ["a", "b", "c"] {
                try await peer.mustSave(name, in: HostileRequests.zone("ZoneOfTheMetrics"))
            }
            let answer = try get("/metrics", port: server.server.metricsPort)
            #expect(answer.status == 200)
            #expect(answer.head.contains("text/plain; version=0.0.4"))
            let families = try PrometheusFormat.check(answer.body)
            #expect(
                families["brume_calls_total"]?.samples[#"brume_calls_total{method="Records.Modify",outcome="success"}"#]
                    == 3)
            #expect(
                families["brume_call_duration_seconds"]?
                    .samples[#"brume_call_duration_seconds_count{method="Records.Modify"}"#] == 3)
            #expect((families["brume_journal_sync_seconds"]?.samples["brume_journal_sync_seconds_count"] ?? 0) > 0)
            #expect((families["process_resident_memory_bytes"]?.samples.values.first ?? 0) > 1_000_000)
            let descriptors = families["process_open_fds"]?.samples.values.first ?? 0
            #expect(descriptors > 3)
            #expect((families["process_max_fds"]?.samples.values.first ?? 0) > descriptors)
            #expect((families["brume_connections_limit"]?.samples.values.first ?? 0) > 1)
            #expect(families["brume_connections_turned_away_total"]?.samples.count == 5)
            let expiry = try #require(
                families["brume_certificate_expiry_timestamp_seconds"]?.samples.values.first)
            #expect(expiry > Double(SystemClock.nowMilliseconds / 1000))
            let free = try #require(
                families["brume_disk_free_bytes"]?.samples[#"brume_disk_free_bytes{content="data"}"#])
            let size = families["brume_disk_size_bytes"]?.samples[#"brume_disk_size_bytes{content="data"}"#] ?? 0
            #expect(free > 0 && free <= size)
            #expect(families["brume_backup_newest_timestamp_seconds"] == nil)
            #expect(families["brume_budget_bytes"]?.samples[#"brume_budget_bytes{budget="input"}"#] == 134_217_728)
            for secret in ["waldo", "ZoneOfTheMetrics", token] { #expect(!answer.body.contains(secret)) }
        }
    }

    @Test("metrics tell when the newest backup was begun") func backups() async throws {
        let folder = try TestFolder()
        try FileSystem.makeDirectory(folder.path + "/brume-20200101T000000Z")
        try await running(backups: folder.path) { server in
            let families = try PrometheusFormat.check(try get("/metrics", port: server.server.metricsPort).body)
            #expect(families["brume_backup_newest_timestamp_seconds"]?.samples.values.first == 1_577_836_800)
        }
    }

    @Test("the loops turn and the server is ready, and it is not while it drains")
    func health() async throws {
        try await running { server in
            let port = server.server.metricsPort
            #expect(try get("/livez", port: port).status == 200)
            let ready = try get("/readyz", port: port)
            #expect(ready.status == 200 && ready.body == "serving\n")
            // A call that is open keeps the drain from ending.
            let peer = try await FrameClient.welcomed(server, token: try server.addAccount("alice"))
            _ = peer.openCall(HostileRequests.Method.zonesList)
            _ = try await peer.call(HostileRequests.Method.healthCheck, [])
            server.server.drain()
            let draining = try get("/readyz?verbose", port: port)
            #expect(draining.status == 503 && draining.body.contains("about to stop"))
            #expect(try get("/livez", port: port).status == 200)
            peer.abort()
        }
    }

    @Test("connections that say nothing give way, however many there are: nobody is shut out by them")
    func idleConnections() async throws {
        try await running { server in
            let port = server.server.metricsPort
            let began = ContinuousClock.now
            var idle: [PlainSocket] = []
            for _ in 0..<150 { idle.append(try PlainSocket(port: port)) }
            #expect(try get("/livez", port: port).status == 200)
            // Sixteen at a time that each wait to be closed for their silence would take 18 seconds, or more.
            #expect(ContinuousClock.now - began < .seconds(15))
            #expect(try idle[0].readToEnd(seconds: 30).isEmpty, "the oldest was closed")
        }
    }

    @Test(
        "of too many connections the oldest of an address gives way that has more than its part, or else the oldest of all"
    )
    func givingWay() {
        func network(_ number: UInt32) -> PeerNetwork {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = number.bigEndian
            return withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    PeerNetwork(SocketAddress($0, length: UInt32(MemoryLayout<sockaddr_in>.size)))
                }
            }
        }
        var connections = HTTPConnections(limit: 4, limitPerAddress: 2)
        #expect(connections.began(10, from: network(1)) == nil)
        #expect(connections.began(11, from: network(2)) == nil)
        #expect(connections.began(12, from: network(2)) == nil)
        #expect(connections.began(13, from: network(2)) == 11)
        #expect(connections.began(14, from: network(3)) == nil)
        #expect(connections.began(15, from: network(4)) == 10)
        connections.ended(12)
        #expect(connections.began(16, from: network(5)) == nil)
    }

    @Test("other paths, methods and nonsense are refused, and the server goes on")
    func hostile() async throws {
        try await running { server in
            let port = server.server.metricsPort
            #expect(try get("/", port: port).status == 404)
            #expect(try get("/metrics/../../etc/passwd", port: port).status == 404)
            let post = "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"
            let refused = try answer(post, port: port)
            #expect(refused.status == 405 && refused.head.contains("Allow: GET, HEAD"))
            let head = try answer("HEAD /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", port: port)
            #expect(head.status == 200 && head.body.isEmpty)
            for nonsense in [
                "\u{0}\u{1}\u{2}\r\n\r\n", "GET\r\n\r\n",
                "GET /\(String(repeating: "x", count: 100_000)) HTTP/1.1\r\n\r\n",
                "GET /metrics HTTP/1.1\r\n" + String(repeating: "A: b\r\n", count: 10_000) + "\r\n",
            ] {
                #expect(try answer(nonsense, port: port).status != 200)
            }
            #expect(try get("/livez", port: port).status == 200)
            try await server.expectServes()
        }
    }
}

/// What promtool checks of Prometheus' text format, and that a histogram's buckets add up.
enum PrometheusFormat {
    struct Family {
        var type = ""
        var samples: [String: Double] = [:]
    }

    struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    static func check(_ text: String) throws -> [String: Family] {
        guard text.hasSuffix("\n") else { throw Problem(description: "the last line has no end") }
        var families: [String: Family] = [:]
        var current = ""
        for line in text.dropLast().split(separator: "\n", omittingEmptySubsequences: false) {
            let words = line.split(separator: " ", omittingEmptySubsequences: false)
            if line.hasPrefix("# HELP ") {
                current = String(words[2])
                guard families.updateValue(Family(), forKey: current) == nil, words.count > 4, line.hasSuffix(".")
                else {
                    throw Problem(description: "a family twice, or without its sentence: \(line)")
                }
                continue
            }
            if line.hasPrefix("# TYPE ") {
                guard words.count == 4, words[2] == current, ["gauge", "counter", "histogram"].contains(words[3]) else {
                    throw Problem(description: "a type in the wrong place: \(line)")
                }
                families[current]!.type = String(words[3])
                continue
            }
            guard
                let match = line.wholeMatch(
                    of: #/([a-z_:]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)+)\})? ([0-9.]+)/#),
                let value = Double(match.3)
            else { throw Problem(description: "no sample: \(line)") }
            let suffixes = families[current]?.type == "histogram" ? ["_bucket", "_sum", "_count"] : [""]
            guard suffixes.contains(where: { match.1 == current + $0 }) else {
                throw Problem(description: "a sample of another family: \(line)")
            }
            if families[current]!.type == "counter", !current.hasSuffix("_total") {
                throw Problem(description: "a counter that does not end in _total: \(line)")
            }
            let key = String(line.dropLast(match.3.count + 1))
            guard families[current]!.samples.updateValue(value, forKey: key) == nil else {
                throw Problem(description: "a sample twice: \(line)")
            }
        }
        try checkHistograms(families)
        return families
    }

    private static func checkHistograms(_ families: [String: Family]) throws {
        for (name, family) in families where family.type == "histogram" {
            var last: [String: (bound: Double, count: Double)] = [:]
            let buckets = family.samples.compactMap { key, count -> (labels: String, bound: Double, count: Double)? in
                guard let match = key.wholeMatch(of: #/[a-z_]+_bucket\{(.*,)?le="(.+)"\}/#) else { return nil }
                let bound = match.2 == "+Inf" ? Double.infinity : Double(match.2) ?? -.infinity
                return (String(match.1?.dropLast() ?? ""), bound, count)
            }
            for bucket in buckets.sorted(by: { $0.bound < $1.bound }) {
                guard bucket.bound > (last[bucket.labels]?.bound ?? -1),
                    bucket.count >= (last[bucket.labels]?.count ?? 0)
                else { throw Problem(description: "\(name) \(bucket) is not in order") }
                last[bucket.labels] = (bucket.bound, bucket.count)
            }
            for (labels, end) in last {
                let count = family.samples[labels.isEmpty ? "\(name)_count" : "\(name)_count{\(labels)}"]
                guard end.bound == .infinity, count == end.count else {
                    throw Problem(description: "\(name) {\(labels)} has no end, or another count")
                }
            }
        }
    }
}
