import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// Records with many others below them that are shared: the server makes that ready in turns, between which it answers
/// everybody else.
@Suite("Shares of many records")
struct LargeShareTests {
    private struct Players {
        let server: SteppedServer
        let a: FramePeer
        let b: FramePeer
        let own = ZoneID(name: "lists")
        let zone: ZoneID

        /// a has a list of thirty items.
        init(_ loops: Int = 1) throws {
            server = try SteppedServer { configuration in
                configuration.loopCount = loops
                configuration.sharedRecordsAtOnce = 10
                configuration.treeUnitsPerTurn = 2
            }
            a = try server.connect(account: "a")
            b = try server.connect(account: "b")
            zone = ZoneID(name: "lists", owner: a.user)
            try a.makeZone("lists")
            try a.save(["list"], zone: own)
            let items = (0..<30).map { "i\($0)" }
            #expect(try a.save(items, below: "list", in: own, of: .private).allSatisfy { $0 == nil })
        }

        /// Begins to share the list, and goes some turns.
        func begin(turns: Int = 4) -> UInt32 {
            let stream = a.startSharingRecord("list", type: "Note", in: "lists", with: [b.user])
            for _ in 0..<turns { server.turn() }
            return stream
        }

        func code(_ stream: UInt32) throws -> ErrorCode? {
            guard case .failure(let error)? = a.outcome(stream) else { return nil }
            return error.code
        }
    }

    @Test("are whole for whoever accepts, with what was saved meanwhile", arguments: [1, 2, 3])
    func whole(loops: Int) throws {
        let players = try Players(loops)
        let stream = players.begin()
        try #require(!players.a.isAnswered(stream), "the list has to be longer")
        let other = players.a.startQuery(
            QueryRequest(
                database: .private, zone: players.own,
                query: Query(recordType: "Note", predicate: .constant(true)), resultsLimit: 1))
        for _ in 0..<4 { players.server.turn() }
        #expect(players.a.isAnswered(other) && !players.a.isAnswered(stream), "nobody waits for it")
        #expect(try players.a.save(["late"], below: "i3", in: players.own, of: .private) == [nil])
        players.server.settle()
        let url = try players.a.url(ofShare: stream)
        try players.b.accept(url)
        let seen = Set(try players.b.changes(of: players.zone).records.map(\.system.name))
        #expect(seen == Set((0..<30).map { "i\($0)" } + ["list", "s-list", "late"]))
    }

    @Test("are several of one request, while others write into the zone in every turn")
    func several() throws {
        let players = try Players()
        try players.a.save(["plans"], zone: players.own)
        let items = (0..<30).map { "p\($0)" }
        #expect(
            try players.a.save(items, below: "plans", in: players.own, of: .private).allSatisfy { $0 == nil })
        let writer = try players.server.connect(account: "a")
        let stream = players.a.startSharingRecords(["list", "plans"], type: "Note", in: "lists")
        var number = 0
        while !players.a.isAnswered(stream), number < 200 {
            number += 1
            writer.startSave("w\(number)", in: players.own)
            players.server.turn()
            players.server.stepJournal()
        }
        #expect(number > 10)
        #expect(try players.a.saveCodes(stream) == [nil, nil, nil, nil])
    }

    @Test("are given up after a minute")
    func deadline() throws {
        let players = try Players()
        let stream = players.begin()
        players.server.turn(after: 61_000_000_000)
        #expect(try players.code(stream) == .zoneBusy)
        #expect(try !players.a.shareRecord("other", in: "lists").isEmpty)
        #expect(try players.a.fetch(["s-list"], in: players.own).texts == ["unknownItem"])
    }

    @Test("are asked for by some requests of an account at a time, and others' find room beside them")
    func crowd() throws {
        let players = try Players()
        var streams: [(peer: FramePeer, stream: UInt32)] = []
        for number in 0..<3 {
            let peer = try players.server.connect(account: "a", container: "iCloud.crowd\(number)")
            try peer.makeZone("lists")
            for root in 0..<4 {
                try peer.save(["l\(root)"], zone: players.own)
                let items = (0..<30).map { "l\(root)-\($0)" }
                #expect(
                    try peer.save(items, below: "l\(root)", in: players.own, of: .private).allSatisfy { $0 == nil })
            }
            streams.append((peer, 0))
        }
        let b = try players.server.connect(account: "b")
        try b.makeZone("lists")
        try b.save(["list"], zone: players.own)
        #expect(try b.save((0..<30).map { "i\($0)" }, below: "list", in: players.own, of: .private).count == 30)
        let begun = streams.flatMap { peer, _ in
            (0..<4).map { (peer, peer.startSharingRecord("l\($0)", type: "Note", in: "lists")) }
        }
        let others = b.startSharingRecord("list", type: "Note", in: "lists")
        players.server.settle()
        let refused = begun.filter { peer, stream in
            if case .failure(let error)? = peer.outcome(stream) { error.code == .zoneBusy } else { false }
        }
        #expect(refused.count == 12 - ServiceLimits.treeWorksPerAccount)
        #expect(try !b.url(ofShare: others).isEmpty)
    }

    @Test("are asked for by one request at a time")
    func twice() throws {
        let players = try Players()
        let (first, second) = (players.begin(), players.begin(turns: 0))
        players.server.settle()
        #expect(try players.code(second) == .zoneBusy)
        #expect(try !players.a.url(ofShare: first).isEmpty)
    }

    @Test("do not come of a request whose zone is gone meanwhile")
    func goneZone() throws {
        let players = try Players()
        let stream = players.begin()
        try players.a.deleteZone("lists")
        players.server.settle()
        #expect(try players.a.saveCodes(stream) == [.zoneNotFound, .zoneNotFound])
    }

    @Test("do not come of a request whose token is revoked meanwhile")
    func revoked() throws {
        let players = try Players()
        let stream = players.begin()
        players.server.revokeTokens(keepingSessionsOf: "a")
        players.server.settle()
        #expect(try players.code(stream) == .notAuthenticated)
    }

    @Test("come of a request that had come when its client went")
    func goneClient() throws {
        let players = try Players(2)
        _ = players.begin()
        players.a.disconnect()
        players.server.settle()
        let again = try players.server.connect(account: "a")
        #expect(try again.fetch(["i0", "s-list"], in: players.own).texts == ["i0", "s-list"], "it had come")
    }
}
