import BrumeModel
import BrumeProtocol
import BrumeServer
import BrumeTestKit
import Testing

/// Clients that come and go on two loops while the operator takes snapshots: also what the thread sanitizer is run
/// with.
@Suite("Coming and going", .timeLimit(.minutes(4)))
struct ComingAndGoingTests {
    typealias Method = HostileRequests.Method

    private static let saves = 60
    private static let notes = HostileRequests.zone("Notes")
    private static let snapshotMethod: UInt64 = 261

    @Test("every acknowledged save is found, and a device that loses its connection again and again misses no event")
    func nothingIsLost() async throws {
        try await RunningServer.running { server in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<4 {
                    let token = try server.addAccount("user\(index)")
                    let writer = try await FrameClient.welcomed(server, token: token, device: 1)
                    try await writer.makeZone("Notes")
                    _ = try await writer.succeed(
                        Method.subscriptionsModify, HostileRequests.saveZoneSubscription(id: "s", zone: Self.notes))
                    let watcher = try await FrameClient.welcomed(server, token: token, device: 2)
                    let position = try await Self.open(watcher, behind: [])
                    group.addTask { try await Self.watch(server, token: token, behind: position, first: watcher) }
                    group.addTask { try await Self.write(server, token: token, first: writer) }
                }
                group.addTask {
                    for _ in 0..<8 {
                        let admin = try await server.adminClient()
                        _ = try await admin.succeed(Self.snapshotMethod, [])
                        admin.abort()
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    /// Saves one record after the other, with a new connection every few, and reads all of them in the end.
    private static func write(_ server: RunningServer, token: String, first: FrameClient) async throws {
        var peer = first
        for number in 0..<saves {
            try await peer.mustSave("r\(number)", in: notes)
            try await peer.take(
                HostileRequests.modifyRecords(
                    scope: 1, zone: HostileRequests.zone("_defaultZone"),
                    [HostileRequests.save("\(token.suffix(12).filter(\.isLetter))\(number)")]))
            if number % 7 == 6 {
                // Leaves with a call under way.
                peer.startCall(Method.recordsChanges, HostileRequests.changes(zone: notes))
                peer.abort()
                peer = try await FrameClient.welcomed(server, token: token, device: 1)
            }
        }
        let page = try await peer.succeed(Method.recordsChanges, HostileRequests.changes(zone: notes))
        #expect(page.messages(1).count == saves)
        peer.abort()
    }

    /// Takes events until it has seen one of each save, with a new connection every few.
    private static func watch(
        _ server: RunningServer, token: String, behind start: [UInt8], first: FrameClient
    ) async throws {
        var peer = first
        var position = start
        var seen = Set<String>()
        var inOrder: [String] = []
        while seen.count < saves {
            let frame = try await peer.nextFrame()
            guard frame.type == .message, let event = ProtobufReader(frame.payload) else {
                throw TestFailure("a stream gave frame \(frame.type)")
            }
            #expect(event.has(9), "something else than an event of the zone came")
            if seen.insert(event.text(2)).inserted { inOrder.append(event.text(2)) }
            position = event.bytes(1)
            if seen.count % 5 == 4 {
                peer.abort()
                peer = try await FrameClient.welcomed(server, token: token, device: 2)
                _ = try await open(peer, behind: position)
            }
        }
        #expect(inOrder == inOrder.sorted { ($0.count, $0) < ($1.count, $1) }, "events came in another order")
        peer.abort()
    }

    /// Opens the device's stream and returns the position of its `ready`.
    private static func open(_ peer: FrameClient, behind position: [UInt8]) async throws -> [UInt8] {
        let stream = peer.openCall(Method.notificationsOpen)
        peer.sendFrame(.message, stream: stream, payload: ProtobufField.encode([.bytes(1, position)]))
        let frame = try await peer.nextFrame()
        guard frame.type == .message, let event = ProtobufReader(frame.payload), event.has(8) else {
            throw TestFailure("the stream began without ready")
        }
        return event.bytes(1)
    }
}
