import BrumeModel
import BrumeProtocol
import BrumeStore
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// Development's schema learns before a record is saved, and from records that are older than schemas.
@Suite("Learning a schema")
struct LearningTests {
    private static let all = QueryRequest(
        database: .private, zone: nil, query: Query(recordType: "Note", predicate: .constant(true)))

    private static let save = MessageCoder().encodeModifyRecordsRequest(
        ModifyRecordsRequest<DecodedFields>(
            database: .private, operationID: [UInt8](repeating: 1, count: 16),
            zones: [
                ZoneModification(
                    zone: .defaultZone,
                    saves: [RecordSave(name: "r", type: "Note", fields: ["title": .string("x")])])
            ]))

    @Test(
        "a crash at any step of a save that teaches leaves no record that the schema does not know, and a retry has one effect"
    )
    func crashes() throws {
        var wasKnownWithoutRecord = false
        var wasUnknown = false
        for steps in 0..<12 {
            for survival in [SimulatedDisk.Survival.nothing, .everything] {
                let disk = SimulatedDisk()
                let server = try SteppedServer(disk: disk)
                let peer = try server.connect(account: "a")
                let stream = peer.start(.recordsModify, Self.save)
                for step in 0..<steps {
                    // The journal's thread is slow: it comes every third time.
                    if step % 3 == 2 { server.stepJournal() } else { server.turn() }
                }
                let isAcknowledged = peer.isAnswered(stream)
                disk.crash(seed: 1, survival)
                let again = try SteppedServer(disk: disk)
                let back = try again.connect(account: "a")
                let query = back.startQuery(Self.all)
                again.settle()
                switch try #require(back.outcome(query)) {
                case .success:
                    let names = try #require(try back.page(query)).matches.map(\.record.system.name)
                    #expect(!isAcknowledged || names == ["r"], "\(steps) steps, \(survival)")
                    if names.isEmpty { wasKnownWithoutRecord = true }
                case .failure(let error):
                    #expect(error.code == .unknownItem && !isAcknowledged, "\(steps) steps, \(survival): \(error)")
                    wasUnknown = true
                }
                // The client asks again, as it does when its connection broke.
                _ = try back.call(.recordsModify, Self.save)
                var titled = Self.all
                titled.query.predicate = .comparison(.field("title"), .equal, .string("x"))
                #expect(try back.query(titled).matches.map(\.record.system.name) == ["r"], "\(steps) steps")
            }
        }
        #expect(wasKnownWithoutRecord && wasUnknown, "no crash came between the lesson and the save")
    }

    /// A data folder with records of account a's of which no schema knows.
    private func olderDisk(
        _ names: [String], fields: (String) -> [String: FieldValue] = { _ in [:] }
    ) throws -> SimulatedDisk {
        let disk = SimulatedDisk()
        let server = try SteppedServer(disk: disk)
        let peer = try server.connect(account: "a")
        try peer.save(names, fields: fields)
        peer.disconnect()
        server.settle()
        // The file itself has to be there: its absence would be damage.
        try SchemaFile.write(ContainerSchemas(container: SteppedServer.container), to: disk)
        disk.endProcess()
        return disk
    }

    @Test("records that a schema has no room to learn are found once it has, and are not said to be none meanwhile")
    func fullDisk() throws {
        let disk = try olderDisk(["r"])
        let server = try SteppedServer(disk: disk)
        let peer = try server.connect(account: "a")
        disk.faults.capacityBytes = disk.usedBytes
        for _ in 0..<2 {
            let query = peer.startQuery(Self.all)
            server.settle()
            guard case .failure(let error)? = peer.outcome(query) else {
                Issue.record("it is answered")
                return
            }
            #expect(error.code != .unknownItem && error.message.contains("disk is full"), "\(error)")
        }
        disk.faults.capacityBytes = nil
        #expect(try peer.query(Self.all).matches.map(\.record.system.name) == ["r"])
        // What there is no record of is asked for in vain, again and again.
        var other = Self.all
        other.query.recordType = "Other"
        for _ in 0..<2 {
            let query = peer.startQuery(other)
            server.settle()
            #expect(peer.outcome(query)?.failureCode == .unknownItem)
        }
    }

    @Test("a large database that is older than schemas teaches step by step, and no other request waits for all of it")
    func olderDatabase() throws {
        let disk = try olderDisk((0..<12_000).map { "r\($0)" }) { $0 == "r11999" ? ["rare": .string("y")] : [:] }
        let server = try SteppedServer(disk: disk)
        let peer = try server.connect(account: "a")
        let coder = MessageCoder()
        let fetch = coder.encodeFetchRecordsRequest(
            FetchRecordsRequest(database: .private, zones: [.init(zone: .defaultZone, names: ["r7"])]))
        var rare = Self.all
        rare.query.predicate = .comparison(.field("rare"), .equal, .string("y"))
        // A second one comes while the first teaches: both are answered of what it finds.
        let streams = [peer.startQuery(rare), peer.startQuery(rare)]
        var turns = 0
        while !streams.allSatisfy(peer.isAnswered) {
            let other = peer.start(.recordsFetch, fetch)
            #expect(peer.isAnswered(other), "nothing waits for the lesson")
            server.turn()
            turns += 1
            try #require(turns < 10_000)
        }
        #expect(turns > 12_000 / ServiceLimits.lessonPlacesPerTurn, "it was learned in \(turns) turns")
        for stream in streams { #expect(try peer.page(stream)?.matches.map(\.record.system.name) == ["r11999"]) }
        // What nobody has is looked for once, now that the schema knows all that there is.
        var missing = Self.all
        missing.query.predicate = .comparison(.field("missing"), .equal, .string("y"))
        func turnsInVain() throws -> Int {
            let query = peer.startQuery(missing)
            var turns = 0
            while !peer.isAnswered(query), turns < 10_000 {
                server.turn()
                turns += 1
            }
            #expect(peer.outcome(query)?.failureCode == .invalidArguments)
            return turns
        }
        #expect(try turnsInVain() > 12_000 / ServiceLimits.lessonPlacesPerTurn)
        #expect(try turnsInVain() < 5)
    }

    @Test("queries for many unknown types have one scan a turn, though each scan is short")
    func manyUnknownTypes() throws {
        let server = try SteppedServer(disk: SimulatedDisk())
        let peer = try server.connect(account: "a")
        try peer.save((0..<900).map { "r\($0)" })
        var query = Self.all
        let streams = (0..<20).map { number in
            query.query.recordType = "Unknown\(number)"
            return peer.startQuery(query)
        }
        var turns = 0
        while !streams.allSatisfy(peer.isAnswered) {
            server.turn()
            turns += 1
            try #require(turns < 1_000)
        }
        #expect(turns >= streams.count, "all were answered in \(turns) turns")
    }

    @Test("an account has half of a loop's scans for unknown types at most, and is told when to come back beyond it")
    func tooManyUnknownTypes() throws {
        let server = try SteppedServer(disk: SimulatedDisk())
        let peer = try server.connect(account: "a")
        let other = try server.connect(account: "b", device: 2)
        for peer in [peer, other] { try peer.save(["r"]) }
        let most = ServiceLimits.lessonScansPerLoop / 2
        var query = Self.all
        func start(_ count: Int) -> [UInt32] {
            (0..<count).map { number in
                query.query.recordType = "Unknown\(number)"
                return peer.startQuery(query)
            }
        }
        func codes(_ streams: [UInt32]) throws -> [ErrorCode] {
            try streams.map { stream in
                guard case .failure(let error) = try #require(peer.outcome(stream)) else { return .internalError }
                #expect(error.code == .unknownItem || error.retryAfterMilliseconds > 0)
                return error.code
            }
        }
        // One more joins a scan that goes on already, and two more find no room.
        var streams = start(most + 2)
        streams.append(start(1)[0])
        let others = other.startQuery(query)
        server.settle()
        let answered = try codes(streams)
        #expect(answered.prefix(most).allSatisfy { $0 == .unknownItem })
        #expect(answered.suffix(3) == [.requestRateLimited, .requestRateLimited, .unknownItem])
        // And there is room again.
        #expect(other.outcome(others)?.failureCode == .unknownItem)
        streams = start(most + 2).suffix(2)
        server.settle()
        #expect(try codes(streams) == [.unknownItem, .unknownItem])
    }

    @Test(
        "the event of a subscription that fires once is not lost in a restart right behind it",
        arguments: [false, true])
    func onceAcrossRestart(writesSnapshot: Bool) throws {
        let disk = SimulatedDisk()
        let server = try SteppedServer(disk: disk)
        let reader = try server.connect(account: "b")
        let writer = try server.connect(account: "a", device: 8)
        for scope in [DatabaseScope.private, .public] {
            try reader.subscribe(
                Subscription(
                    id: "once",
                    kind: .query(
                        QuerySubscription(
                            recordType: "Note", predicate: .constant(true), options: [.creation, .once]))), in: scope)
        }
        let position = try #require(try reader.events(reader.openNotifications()).first).position
        reader.disconnect()
        try writer.save(["public"], database: .public)
        let other = try server.connect(account: "b", device: 7)
        try other.save(["private"])
        if writesSnapshot { server.snapshot() }
        disk.crash(seed: 1, .nothing)

        let again = try SteppedServer(disk: disk)
        let back = try again.connect(account: "b")
        let events = try back.events(back.openNotifications(position: position))
        let hints = events.compactMap { event -> DatabaseScope? in
            if case .fetchFromToken(let scope) = event.kind { scope } else { nil }
        }
        #expect(Set(hints) == [.private, .public] && hints.count == 2, "\(events)")
        // With the position behind them nothing is said again.
        back.disconnect()
        let third = try again.connect(account: "b")
        let quiet = try third.events(third.openNotifications(position: try #require(events.last).position))
        #expect(quiet.count == 1, "\(quiet)")
    }
}

extension Result where Failure == ServiceError {
    fileprivate var failureCode: ErrorCode? {
        if case .failure(let error) = self { error.code } else { nil }
    }
}
