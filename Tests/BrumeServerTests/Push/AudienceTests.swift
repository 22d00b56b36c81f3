import BrumeModel
import BrumeProtocol
import BrumeSystem
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

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

    @Test("a stream whose client ends it sends the events first that it was given")
    func endsBehindEvents() throws {
        let (server, devices) = try audience()
        let writer = try server.connect(account: "a", device: 99)
        Self.startSave("x", by: writer)
        let last = devices[devices.count - 1]
        // The devices of the last user are told last: its streams have their events, and wait for their turns.
        var turns = 0
        while devices.count(where: { $0.eventCount > 0 }) < devices.count - 4 {
            Self.turn(server)
            turns += 1
            try #require(turns < 100)
        }
        try #require(last.eventCount == 0)
        last.peer.send(.message, stream: last.stream, isLast: true)
        server.settle()
        #expect(last.eventCount == 1)
        #expect(try last.peer.end(last.stream)?.code == 0)
    }

    @Test("a stream that takes one event at a time keeps no more than may wait for it")
    func slowStream() throws {
        let server = try SteppedServer()
        let door = RecordingDoor()
        let entrance = try server.core.admit(
            Claim(
                container: SteppedServer.container, environment: .development,
                deviceID: [UInt8](repeating: 1, count: 16), clientVersion: "test",
                proof: .account(token: TestAccounts.token("a"))), from: .local, isOperator: false)
        let home = server.core.home(of: entrance)
        let client = try home.enter(entrance, through: door)
        let stream = DeviceStream(
            Responder(client: client, call: 1), in: try #require(client.identity.privateDatabase), on: home)
        let place = StreamPosition.Place(run: 1, position: .start)
        var granted = 0
        stream.start(privatePlace: place, publicPlace: place, ready: [], .init(grantPublic: { granted += $0 }))
        door.credit = 1
        stream.placed(publicPlace: place)
        func give(_ count: Int) {
            stream.receivedPublic((0..<count).map { _ in NotificationDelivery(place: place, message: [1, 2, 3]) })
            server.settle()
        }
        give(ServiceLimits.publicEventsUnderWay)
        for number in 1...(5 * ServiceLimits.publicEventsUnderWay) {
            door.credit = 1
            stream.resume()
            #expect(granted == number && door.sent.count == 1 + number)
            give(1)
            #expect(stream.inbox.count <= 2 * ServiceLimits.publicEventsUnderWay)
        }
        stream.close()
        home.leave(client)
    }
}
