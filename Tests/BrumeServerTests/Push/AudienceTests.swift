import BrumeModel
import BrumeProtocol
import BrumeServer
import BrumeService
import BrumeTestKit
import Testing

/// Thousands of devices may listen to one public database: nobody waits until all of them were told of a change.
@Suite("A change of which many devices are told")
struct AudienceTests {
    private static let accounts = ["a", "b", "c", "d"]
    private static let devicesOfEach: UInt8 = 6

    private struct Device {
        let peer: FramePeer
        let stream: UInt32

        var eventCount: Int { peer.frames.count { $0.stream == stream && $0.type == .message } - 1 }
    }

    /// A server that tells one device a turn, and devices of all accounts that listen.
    private func audience() throws -> (SteppedServer, [Device]) {
        let server = try SteppedServer { $0.deliveryNanoseconds = 0 }
        let subscription = Subscription(
            id: "notes",
            kind: .query(QuerySubscription(recordType: "Note", predicate: .constant(true), options: .reasons)))
        let first = try server.connect(account: "a", device: 98)
        for account in Self.accounts { try first.save([account], database: .public) }
        var devices: [Device] = []
        for account in Self.accounts {
            for number in 1...Self.devicesOfEach {
                let peer = try server.connect(account: account, device: number)
                if number == 1 { try peer.subscribe(subscription, in: .public) }
                devices.append(Device(peer: peer, stream: peer.openNotifications()))
            }
        }
        return (server, devices)
    }

    @discardableResult private static func startSave(_ name: String, by writer: FramePeer) -> UInt32 {
        let save = RecordSave(name: name, type: "Note", fields: DecodedFields())
        return writer.start(
            .recordsModify,
            MessageCoder().encodeModifyRecordsRequest(
                ModifyRecordsRequest(
                    database: .public, zones: [ZoneModification(zone: .defaultZone, saves: [save])])))
    }

    private static func turn(_ server: SteppedServer) {
        server.turn()
        server.stepJournal()
    }

    @Test("they are told in turns, and a call in between is answered before the last of them")
    func inTurns() throws {
        let (server, devices) = try audience()
        let writer = try server.connect(account: "a", device: 99)
        func told() -> Int { devices.count { $0.eventCount > 0 } }
        #expect(told() == 0)
        let save = Self.startSave("x", by: writer)
        var turns = 0
        while told() == 0 {
            Self.turn(server)
            turns += 1
            try #require(turns < 50)
        }
        let call = writer.startQuery(
            QueryRequest(
                database: .public, zone: nil, query: Query(recordType: "Note", predicate: .constant(true))))
        var (before, toldBeforeTheAnswer) = (told(), 0)
        while before < devices.count {
            if !writer.isAnswered(call) { toldBeforeTheAnswer = before }
            Self.turn(server)
            #expect(told() <= before + 1, "one device a turn")
            before = told()
            turns += 1
            try #require(turns < 100)
        }
        #expect(toldBeforeTheAnswer < devices.count / 2 && writer.isAnswered(save))
        server.settle()
        #expect(devices.allSatisfy { $0.eventCount == 1 })
    }

    @Test("each of them gets every event once, in order, whatever comes while others are told")
    func allEvents() throws {
        let (server, devices) = try audience()
        let writer = try server.connect(account: "b", device: 99)
        for round in 0..<12 {
            Self.startSave("r\(round)", by: writer)
            for _ in 0..<(round % 4) { Self.turn(server) }
            // Some leave while they are told.
            if round == 6 { devices[2].peer.disconnect() }
        }
        server.settle()
        for (index, device) in devices.enumerated() where index != 2 {
            let names = try device.peer.events(device.stream).compactMap {
                if case .recordChanged(let change) = $0.kind { change.recordName } else { nil }
            }
            #expect(names == (0..<12).map { "r\($0)" }, "device \(index)")
        }
    }
}
