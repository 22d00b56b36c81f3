internal import BrumeKit
internal import BrumeLock
internal import BrumeModel
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

/// A network that cuts, stalls and swallows: every modify has one effect, and the notification stream misses nothing.
@Suite("A client behind a bad network", .serialized, .timeLimit(.minutes(4)))
struct ProxyTests {
    private let server: ServerProcess
    private let proxy: FaultyProxy
    private let token: String

    init() throws {
        server = try ServerProcess(folder: TestFolder())
        try server.start()
        token = try server.addAccount("ada")
        proxy = try FaultyProxy(to: #require(server.port))
    }

    /// A device of its own, through the proxy.
    private func device() throws -> ClientSession {
        try ClientSession.unshared(server.configuration(token: token, server: proxy.address))
    }

    private func end() async throws {
        proxy.close()
        server.send(SIGTERM)
        #expect(try await server.end() == 0)
    }

    @Test("has one effect and its answer for each modify, wherever the connection is cut")
    func cuts() async throws {
        let direct = try ClientSession.unshared(server.configuration(token: token))
        try await direct.makeFaultZone()
        try await device().insert("faultless")
        let whole = try #require(proxy.traffic.first)
        // The handshake in big steps; hello, welcome, call, request and answer in steps below the size of a frame.
        func points(_ total: Int) -> [Int] {
            let fine = max(1, total - 700)
            return Array(stride(from: 1, to: fine, by: 600)) + Array(stride(from: fine, through: total + 20, by: 31))
        }
        let faults =
            points(whole.up).map { FaultyProxy.Fault(isDown: false, byteCount: $0) }
            + points(whole.down).map { FaultyProxy.Fault(isDown: true, byteCount: $0) }
        var tags: [String: String] = [:]
        for (index, fault) in faults.enumerated() {
            proxy.add([fault])
            tags["r\(index)"] = try await device().insert("r\(index)")
        }
        #expect(proxy.faultsLeft == 0)
        // More connections than modifies: the cuts did cut.
        let connections = proxy.traffic.count
        #expect(connections > faults.count + faults.count / 2)
        let changes = try await direct.changes()
        #expect(changes.names == ["faultless"] + (0..<faults.count).map { "r\($0)" })
        for (name, tag) in zip(changes.names, changes.tags).dropFirst() {
            #expect(tags[name] == tag, "the answer for \(name) was not that of its effect")
        }
        print("proxy: \(faults.count) cuts, \(connections) connections, each modify once")
        try await end()
    }

    @Test("goes on over a new connection when one falls silent, be it before its greeting")
    func stalls() async throws {
        let direct = try ClientSession.unshared(server.configuration(token: token))
        try await direct.makeFaultZone()
        try await device().insert("faultless")
        let whole = try #require(proxy.traffic.first)
        // A server that is never heard, one that falls silent before the answer, one that never hears the request.
        proxy.add([
            FaultyProxy.Fault(kind: .stall, isDown: true, byteCount: 0),
            FaultyProxy.Fault(kind: .stall, isDown: true, byteCount: whole.down - 40),
            FaultyProxy.Fault(kind: .stall, isDown: false, byteCount: whole.up - 40),
        ])
        try await withThrowingTaskGroup { group in
            for index in 0..<3 {
                let device = try device()
                group.addTask { _ = try await device.insert("s\(index)") }
            }
            try await group.waitForAll()
        }
        #expect(proxy.faultsLeft == 0)
        #expect(Set(try await direct.changes().names) == ["faultless", "s0", "s1", "s2"])
        #expect(try await direct.changes().names.count == 4)
        try await end()
    }

    @Test("hears of each commit, whenever the stream is cut")
    func notifications() async throws {
        let direct = try ClientSession.unshared(server.configuration(token: token))
        try await direct.makeFaultZone()
        let container = CKContainer(
            identifier: "iCloud.faults", configuration: server.configuration(token: token, server: proxy.address))
        _ = try await container.privateCloudDatabase.save(CKDatabaseSubscription(subscriptionID: "all"))
        let ids = Lock<Set<String>>([])
        let isReady = Lock(false)
        let isPruned = Lock(false)
        let listener = Task {
            for try await event in container.notificationEvents {
                switch event.kind {
                case .ready: isReady.withLock { $0 = true }
                case .fetchFromToken: isPruned.withLock { $0 = true }
                case .zoneChanged, .databaseChanged, .recordChanged, .unknown:
                    _ = ids.withLock { $0.insert(event.notificationID) }
                }
            }
        }
        defer { listener.cancel() }
        try await waitUntil("the stream is open") { isReady.withLock { $0 } }
        let greeting = try #require(proxy.traffic.last).down
        // The connection that is open now goes on without faults, so it has to end first; those behind it are cut
        // further and further into their events.
        let cuts = 8
        proxy.add((0..<cuts).map { FaultyProxy.Fault(isDown: true, byteCount: greeting + 60 + $0 * 67) })
        proxy.cutAll()
        try await waitUntil("a new connection") { proxy.faultsLeft < cuts }
        var expected = 0
        while proxy.faultsLeft > 0 || expected < 40 {
            // One at a time and some at once, so that cuts find the stream between events and inside of them.
            for _ in 0...(expected % 3) {
                try await direct.insert("n\(expected)")
                expected += 1
            }
            try await waitUntil("commit \(expected) is heard of") { ids.withLock { $0.count } >= expected }
            try #require(expected < 500, "the connections are not cut: \(proxy.traffic)")
        }
        #expect(ids.withLock { $0.count } == expected)
        #expect(!isPruned.withLock { $0 })
        print("proxy: \(expected) commits, \(proxy.traffic.count) connections, each commit heard of")
        try await end()
    }
}
