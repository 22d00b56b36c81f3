import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// A query that looks at every record shares the loop with all else.
struct QuerySliceTests {
    /// Finds nothing, in any number of records.
    private static let scan = QueryRequest(
        database: .private, zone: nil,
        query: Query(
            recordType: "Note", predicate: .comparison(.field("rare"), .equal, .string("x"))))

    /// One record has the field, so that the schema knows it.
    private static func teaching(_ name: String) -> [String: FieldValue] {
        name == "r0" ? ["rare": .string("y")] : [:]
    }

    private static func server(records: Int) throws -> (SteppedServer, FramePeer) {
        let server = try SteppedServer()
        let peer = try server.connect(account: "a")
        try peer.save((0..<records).map { "r\($0)" }, fields: teaching)
        return (server, peer)
    }

    @Test("while a query looks at 200,000 records, another request is answered in the turn that it comes in")
    func turns() throws {
        let (server, peer) = try Self.server(records: 200_000)
        let coder = MessageCoder()
        let fetch = coder.encodeFetchRecordsRequest(
            FetchRecordsRequest(database: .private, zones: [.init(zone: .defaultZone, names: ["r7"])]))
        let query = peer.startQuery(Self.scan)
        var turns = 0
        while !peer.isAnswered(query) {
            let other = peer.start(.recordsFetch, fetch)
            #expect(peer.isAnswered(other), "nothing waits for the query")
            server.turn()
            turns += 1
            try #require(turns < 100_000)
        }
        #expect(try peer.page(query)?.matches.isEmpty == true)
        #expect(turns > 20, "the work was cut into \(turns) slices")
    }

    @Test(
        "while indexes take over a large save, another request is answered in the turn that it comes in, and a query finds it"
    )
    func indexTurns() throws {
        let server = try SteppedServer()
        let peer = try server.connect(account: "a")
        try peer.save((0..<1_500).map { "r\($0)" }) { ["body": .string("common \($0)")] }
        var search = Self.scan
        search.query.predicate = .text("w300", .anyWord)
        #expect(try peer.query(search).matches.isEmpty, "there is an index of words now")
        let coder = MessageCoder()
        let words = (0..<8_000).map { "w\($0)" }.joined(separator: " ")
        let saves = (0..<20).map {
            RecordSave<DecodedFields>(
                name: "large\($0)", type: "Note", fields: ["body": FieldValue.string(words + " x\($0)")])
        }
        let save = peer.start(
            .recordsModify,
            coder.encodeModifyRecordsRequest(
                ModifyRecordsRequest<DecodedFields>(
                    database: .private, zones: [ZoneModification(zone: .defaultZone, saves: saves)])))
        server.turn()
        server.stepJournal()
        let fetch = coder.encodeFetchRecordsRequest(
            FetchRecordsRequest(database: .private, zones: [.init(zone: .defaultZone, names: ["r7"])]))
        let query = peer.startQuery(search)
        var turns = 0
        while server.hasTasks {
            if peer.isAnswered(save) {
                let other = peer.start(.recordsFetch, fetch)
                #expect(peer.isAnswered(other), "nothing waits for the indexes")
            }
            server.turn()
            turns += 1
            try #require(turns < 10_000)
        }
        #expect(turns > 2, "the work was cut into \(turns) slices")
        server.settle()
        #expect(try peer.page(query)?.matches.count == 20)
        #expect(try peer.query(search).matches.count == 20)
    }

    @Test("queries take turns: a short one overtakes a long one that came before it")
    func fairness() throws {
        let (server, peer) = try Self.server(records: 20_000)
        let zone = ZoneID(name: "Small")
        try peer.makeZone(zone.name)
        try peer.save(["a", "b", "c"], zone: zone)
        let long = (0..<3).map { _ in peer.startQuery(Self.scan) }
        var short = Self.scan
        short.query.predicate = .constant(true)
        short.zone = zone
        let stream = peer.startQuery(short)
        #expect(!peer.isAnswered(stream), "others were first")
        var turns = 0
        while !peer.isAnswered(stream), turns < 100 {
            server.turn()
            turns += 1
        }
        #expect(try peer.page(stream)?.matches.count == 3)
        // One for each of the others, and the one whose budget was spent when the queries came.
        #expect(turns <= 5, "it waited \(turns) turns behind three others")
        #expect(long.allSatisfy { !peer.isAnswered($0) })
        server.settle()
        #expect(long.allSatisfy { peer.isAnswered($0) })
    }

    @Test("a query whose call was cancelled, or whose connection closed, stops in the next turn")
    func cancellation() throws {
        let (server, peer) = try Self.server(records: 6_000)
        let other = try server.connect(account: "a")
        let stream = peer.startQuery(Self.scan)
        _ = other.startQuery(Self.scan)
        peer.cancel(stream)
        other.disconnect()
        let before = server.turns
        server.settle()
        #expect(server.turns - before <= 3)
        #expect(!peer.isAnswered(stream))
        #expect(try peer.query(Self.scan).matches.isEmpty, "the connection goes on")
    }

    @Test("a query that is over its call's deadline ends with it")
    func deadline() throws {
        let (server, peer) = try Self.server(records: 6_000)
        let stream = peer.startQuery(Self.scan, timeoutMilliseconds: 1_000)
        server.turn(after: 2_000_000_000)
        guard case .failure(let error)? = peer.outcome(stream) else {
            Issue.record("the call goes on")
            return
        }
        #expect(error.code == .networkFailure)
        let before = server.turns
        server.settle()
        #expect(server.turns - before <= 3)
    }

    @Test("a query that is over its deadline ends within the one record that it looks at")
    func deadlineWithinRecord() throws {
        let server = try SteppedServer()
        let peer = try server.connect(account: "a")
        // Some 900 KB, and the terms of the predicate times the elements of the list: 300 million comparisons.
        let numbers = (0..<300_000).map { Int64($0 + 16_384) }
        try peer.save(["large", "small"]) { ["n": .int64s($0 == "large" ? numbers : [])] }
        let terms = (0..<999).map { Predicate.anyElement(.field("n"), .equal, .int64(-1 - Int64($0))) }
        var request = Self.scan
        request.query.predicate = .or(terms)
        let stream = peer.startQuery(request, timeoutMilliseconds: 1_000)
        let coder = MessageCoder()
        let fetch = coder.encodeFetchRecordsRequest(
            FetchRecordsRequest(database: .private, zones: [.init(zone: .defaultZone, names: ["small"])]))
        for _ in 0..<3 {
            server.turn()
            let other = peer.start(.recordsFetch, fetch)
            #expect(peer.isAnswered(other), "nothing waits for the record")
        }
        #expect(!peer.isAnswered(stream), "the record takes many turns")
        server.turn(after: 1_500_000_000)
        guard case .failure(let error)? = peer.outcome(stream) else {
            Issue.record("the call goes on")
            return
        }
        #expect(error.code == .networkFailure)
        let before = server.turns
        server.settle()
        #expect(server.turns - before <= 3, "nothing of the record is looked at any more")
        let last = peer.start(.recordsFetch, fetch)
        #expect(peer.isAnswered(last), "the connection goes on")
    }

    @Test("a session has 16 queries at most, and one more is told when to come back")
    func sessionLimit() throws {
        let (server, peer) = try Self.server(records: 6_000)
        let streams = (0..<17).map { _ in peer.startQuery(Self.scan) }
        guard case .failure(let error)? = peer.outcome(streams[16]) else {
            Issue.record("the 17th runs")
            return
        }
        #expect(error.code == .requestRateLimited)
        #expect(streams.prefix(16).allSatisfy { !peer.isAnswered($0) })
        server.settle()
        for stream in streams.prefix(16) { #expect(try peer.page(stream) != nil) }
        #expect(try peer.query(Self.scan).matches.isEmpty, "there is room again")
    }

    @Test("an account has 32 queries at most over all its connections, and another account's query runs beside them")
    func accountLimit() throws {
        let (server, _) = try Self.server(records: 6_000)
        let peers = try (0..<4).map { _ in try server.connect(account: "a") }
        var refused: [ServiceError] = []
        var streams: [(FramePeer, UInt32)] = []
        for peer in peers {
            for _ in 0..<16 {
                let stream = peer.startQuery(Self.scan)
                if case .failure(let error)? = peer.outcome(stream) { refused.append(error) }
                streams.append((peer, stream))
            }
        }
        #expect(refused.count == 32)
        #expect(refused.allSatisfy { $0.code == .requestRateLimited })
        let other = try server.connect(account: "b")
        try other.save(["a", "b"], fields: Self.teaching)
        #expect(try other.query(Self.scan).matches.isEmpty)
        for peer in peers { peer.disconnect() }
        server.settle()
        let peer = try server.connect(account: "a")
        #expect(try peer.query(Self.scan).matches.isEmpty, "there is room again")
    }

    @Test("a database stays in memory while a query runs in it, and goes when it is over")
    func staysLoaded() throws {
        let server = try SteppedServer { $0.memoryBudgetBytes = 1 }
        let writer = try server.connect(account: "a")
        try writer.save((0..<5_000).map { "r\($0)" }, database: .public, fields: Self.teaching)
        writer.disconnect()
        server.settle()
        let reader = try server.connect(account: nil)
        var request = Self.scan
        request.database = .public
        let stream = reader.startQuery(request)
        for _ in 0..<3 {
            // The sweep looks for what can be dropped.
            server.turn(after: 300_000_000)
        }
        server.settle()
        #expect(try reader.page(stream)?.matches.isEmpty == true)
    }

    @Test("what a query shows is on disk before the answer leaves")
    func durability() throws {
        let server = try SteppedServer()
        let peer = try server.connect(account: "a")
        try peer.save(["old"])
        let coder = MessageCoder()
        peer.start(
            .recordsModify,
            coder.encodeModifyRecordsRequest(
                ModifyRecordsRequest<DecodedFields>(
                    database: .private,
                    zones: [
                        ZoneModification(
                            zone: .defaultZone, saves: [RecordSave(name: "new", type: "Note", fields: [:])])
                    ])))
        var all = Self.scan
        all.query.predicate = .constant(true)
        let stream = peer.startQuery(all)
        for _ in 0..<5 { server.turn() }
        #expect(!peer.isAnswered(stream), "the save waits for the disk, and so does what shows it")
        server.settle()
        #expect(try peer.page(stream)?.matches.map(\.record.system.name) == ["old", "new"])
    }

    @Test("a cursor goes on in a database that was dropped from memory and loaded again, and in one that was restarted")
    func reload() throws {
        let disk = SimulatedDisk()
        var request = Self.scan
        request.database = .public
        request.query = Query(
            recordType: "Note", predicate: .constant(true), sortDescriptors: [QuerySort(key: .field("n"))])
        request.resultsLimit = 3
        var found: [String] = []
        for life in 0..<3 {
            let server = try SteppedServer(disk: disk) { $0.memoryBudgetBytes = 1 }
            if life == 0 {
                let writer = try server.connect(account: "a")
                try writer.save((0..<20).map { "r\($0)" }, database: .public) { ["n": .int64(Int64($0.utf8.count))] }
                writer.disconnect()
            }
            for _ in 0..<2 {
                let reader = try server.connect(account: nil)
                let page = try reader.query(request)
                found += page.matches.map(\.record.system.name)
                request.cursor = page.cursor
                reader.disconnect()
                // The sweep drops what nobody uses.
                for _ in 0..<4 {
                    server.turn(after: 300_000_000)
                    server.settle()
                }
            }
        }
        #expect(found == (0..<18).map { "r\($0)" })
    }

    @Test("a server that follows CloudKit's rules refuses OR, and others don't")
    func strict() throws {
        var either = Self.scan
        either.query.predicate = .or([.constant(true), .constant(false)])
        let strict = try SteppedServer { $0.followsCloudKitQueryRules = true }
        let peer = try strict.connect(account: "a")
        try peer.save(["r"])
        #expect(throws: ServiceError.self) { try peer.query(either) }
        let mild = try SteppedServer().connect(account: "a")
        try mild.save(["r"])
        #expect(try mild.query(either).matches.count == 1)
    }
}
