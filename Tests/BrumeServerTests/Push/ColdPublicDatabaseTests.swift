import BrumeModel
import BrumeProtocol
import BrumeRandom
import BrumeServer
import BrumeService
import BrumeTestKit
import Testing

/// A server started again: the public database, which a subscription of account a is in, is on the disk and not in
/// memory.
@Suite("Notification streams that open before the public database is there")
struct ColdPublicDatabaseTests {
    private static let devices = 20

    /// Larger than what is loaded at once, where `isLarge`; private databases never are.
    private static func coldDisk(isLarge: Bool) throws -> SimulatedDisk {
        let disk = SimulatedDisk()
        let server = try SteppedServer(disk: disk)
        let peer = try server.connect(account: "a")
        try peer.save(["first"], database: .public)
        let subscription = Subscription(
            id: "notes",
            kind: .query(QuerySubscription(recordType: "Note", predicate: .constant(true), options: .reasons)))
        try peer.subscribe(subscription, in: .public)
        if isLarge {
            var generator = SeededGenerator(seed: 7)
            try peer.save((0..<400).map { "r\($0)" }, type: "Other", database: .public) { _ in
                // No compression makes them small.
                ["b": .bytes((0..<64).map { _ in UInt8.random(in: 0...255, using: &generator) })]
            }
        }
        server.snapshot()
        peer.disconnect()
        server.settle()
        disk.endProcess()
        return disk
    }

    private static func restarted(_ disk: SimulatedDisk) throws -> SteppedServer {
        try SteppedServer(disk: disk) {
            $0.shortLoadBytes = 16 * 1024
            $0.callsPerLoad = 1
        }
    }

    private static func isReady(_ event: NotificationEvent?) -> Bool {
        if case .ready? = event?.kind { true } else { false }
    }

    @Test("every device gets its events when the database is there, though fewer calls may wait for it")
    func allAreServed() throws {
        let disk = try Self.coldDisk(isLarge: true)
        let server = try Self.restarted(disk)
        server.isLoaderHeld = true
        var devices: [(peer: FramePeer, stream: UInt32)] = []
        for index in 0..<Self.devices {
            let peer = try server.connect(account: "a", device: UInt8(index + 1))
            devices.append((peer, peer.openNotifications()))
        }
        // The first one reads as well, and another one leaves before the database is there.
        let reading = devices[0].peer.startQuery(
            QueryRequest(database: .public, zone: nil, query: Query(recordType: "Note", predicate: .constant(true))))
        server.settle()
        for (peer, stream) in devices { #expect(try peer.events(stream).isEmpty && peer.end(stream) == nil) }
        devices.removeLast().peer.disconnect()
        server.settle()
        server.isLoaderHeld = false
        server.settle()
        #expect(try devices[0].peer.page(reading)?.matches.count == 1)

        let writer = try server.connect(account: "b", device: 200)
        try writer.save(["second"], database: .public)
        for (peer, stream) in devices {
            #expect(try peer.end(stream) == nil)
            let events = try peer.events(stream)
            #expect(Self.isReady(events.first))
            let told = events.filter {
                if case .recordChanged(let change) = $0.kind { change.recordName == "second" } else { false }
            }
            #expect(told.count == 1, "\(events.map(\.kind))")
        }
    }

    @Test(
        "a disk that does not give the database ends the stream with a time to come back, and then it opens",
        arguments: [false, true])
    func failedLoad(isLarge: Bool) throws {
        let disk = try Self.coldDisk(isLarge: isLarge)
        let server = try Self.restarted(disk)
        disk.faults.unreadablePart = "public"
        let peer = try server.connect(account: "a")
        let refused = peer.openNotifications()
        let status = try #require(try peer.end(refused))
        #expect(status.retryAfterMilliseconds > 0)
        #expect(try peer.events(refused).isEmpty, "it was said to be open")
        disk.faults.unreadablePart = nil
        let stream = peer.openNotifications()
        let writer = try server.connect(account: "b", device: 200)
        try writer.save(["second"], database: .public)
        let events = try peer.events(stream)
        #expect(Self.isReady(events.first) && events.count > 1, "\(events.map(\.kind))")
    }

    @Test(
        "where the database is damaged the stream tells of the private one alone, since nothing can happen in the public one"
    )
    func damaged() throws {
        let disk = try Self.coldDisk(isLarge: true)
        let server = try Self.restarted(disk)
        disk.faults.damagedPrefix = "snapshots/"
        let peer = try server.connect(account: "b")
        let stream = peer.openNotifications()
        #expect(throws: ServiceError.self) { try peer.save(["second"], database: .public) }
        try peer.subscribe(Subscription(id: "all", kind: .database(recordType: "")))
        let other = try server.connect(account: "b", device: 3)
        try other.makeZone("Notes")
        let events = try peer.events(stream)
        #expect(try peer.end(stream) == nil)
        #expect(Self.isReady(events.first) && events.contains { $0.subscriptionID == "all" }, "\(events.map(\.kind))")
    }
}
