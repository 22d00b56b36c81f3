import BrumeModel
import BrumeStore
import BrumeTestKit
import Testing

@Suite("Change feeds")
struct FeedTests {
    let desk = Desk()

    @Test("a fetch from a token gives every later change once, in its latest state, deletions included")
    func fromToken() throws {
        let tag = try desk.save("a", ["n": .int64(1)])
        try desk.save("b")
        let token = try desk.changes(since: nil).token
        try desk.save("a", ["n": .int64(2)], tag: tag)
        try desk.save("c")
        try desk.save("short")
        _ = desk.modify(deletions: ["b", "short"])
        let changes = try desk.changes(since: token)
        #expect(changes.live == ["a", "c"] && changes.deleted == ["b", "short"])
        #expect(!changes.moreComing)
        let end = try desk.changes(since: changes.token)
        #expect(end.live.isEmpty && end.deleted.isEmpty && end.token == changes.token)
    }

    @Test("a first fetch tells of no deletions, and always ends in a token")
    func fromTheStart() throws {
        let empty = try desk.changes(since: nil)
        #expect(empty.live.isEmpty && !empty.moreComing)
        try desk.save("a")
        try desk.save("b")
        _ = desk.modify(deletions: ["a"])
        let first = try desk.changes(since: nil)
        #expect(first.live == ["b"] && first.deleted.isEmpty)
        #expect(try desk.changes(since: first.token).deleted.isEmpty)
        #expect(try desk.changes(since: empty.token).deleted == ["a"])
    }

    @Test("a zone's own token gives all records as a first fetch does, and each deletion from then on")
    func firstFetchToken() throws {
        for name in ["a", "b", "early"] { try desk.save(name) }
        _ = desk.modify(deletions: ["early"])
        let token = try #require(desk.database.firstFetchToken(of: Desk.zone))
        try desk.save("mine")
        _ = desk.modify(deletions: ["a", "mine"])
        let first = try desk.changes(since: token)
        #expect(first.live == ["b"] && first.deleted == ["a", "mine"])
        #expect(try desk.changes(since: nil).deleted.isEmpty)
        #expect(desk.database.firstFetchToken(of: .defaultZone) == nil)
        _ = desk.deleteZone(Desk.zone.name)
        #expect(desk.database.firstFetchToken(of: Desk.zone) == nil)
        desk.makeZone(Desk.zone.name)
        #expect(HistoryTests.code { _ = try desk.changes(since: token) } == .changeTokenExpired)
        // The first token of an empty zone is as good as any.
        let second = try #require(desk.database.firstFetchToken(of: Desk.zone))
        #expect(try desk.changes(since: second).live.isEmpty)
    }

    @Test("the server's own page completes the commit that it is in")
    func pagesHoldWholeCommits() throws {
        _ = desk.modify(saves: (0..<300).map { .of("a\($0)") })
        _ = desk.modify(saves: (0..<300).map { .of("b\($0)") })
        _ = desk.modify(saves: (0..<300).map { .of("c\($0)") })
        let first = try desk.changes(since: nil)
        #expect(first.live.count == 600 && first.moreComing)
        let second = try desk.changes(since: first.token)
        #expect(second.live.count == 300 && !second.moreComing)
    }

    @Test("a page of large records ends at its bytes, and completes its commit only as far as a frame holds it")
    func pageBytes() throws {
        let large = FieldValue.bytes([UInt8](repeating: 1, count: 900_000))
        for batch in 0..<3 { _ = desk.modify(saves: (0..<2).map { .of("r\(batch)\($0)", ["x": large]) }) }
        let first = try desk.changes(since: nil)
        #expect(first.live == ["r00", "r01"] && first.moreComing)
        _ = desk.modify(saves: (0..<6).map { .of("s\($0)", ["x": large]) })
        let token = try desk.changes(since: first.token).token
        let third = try desk.changes(since: token)
        #expect(third.live == ["r20", "r21"])
        let fourth = try desk.changes(since: third.token)
        #expect(fourth.live.count == 4 && fourth.moreComing)
        #expect(try desk.changes(since: fourth.token).live == ["s4", "s5"])
        #expect(
            try desk.database.zoneChanges(zone: Desk.zone, since: nil, resultsLimit: 0, desiredKeys: []).records.count
                == 12)
    }

    @Test("a page ends before its assets are very large, and completes its commit only as far as a device keeps them")
    func pageAssetBytes() throws {
        let mebibyte: UInt64 = 1024 * 1024
        func save(_ names: ClosedRange<UInt8>, _ count: UInt64) throws {
            let assets = names.map { RecordSamples.asset($0, byteCount: count * mebibyte) }
            for asset in assets {
                desk.database.blobs.found(BlobName(asset), byteCount: asset.byteCount, now: 0)
            }
            let saves = zip(names, assets).map { RecordSave.of("r\($0)", ["x": .asset($1), "y": .string("")]) }
            #expect(desk.modify(saves: saves, grants: assets).result.saveCodes.allSatisfy { $0 == nil })
        }
        for number in 1...3 as ClosedRange<UInt8> { try save(number...number, 30) }
        try save(4...5, 40)
        try save(6...8, 200)
        try save(9...9, 1)
        var pages: [[String]] = []
        var token: ChangeToken?
        repeat {
            let page = try desk.changes(since: token)
            pages.append(page.live)
            token = page.token
            if !page.moreComing { break }
        } while true
        #expect(pages == [["r1", "r2"], ["r3"], ["r4", "r5"], ["r6", "r7"], ["r8"], ["r9"]])
        let all = try desk.database.zoneChanges(zone: Desk.zone, since: nil, resultsLimit: 0, desiredKeys: ["y"])
        #expect(all.records.count == 9 && !all.moreComing, "assets that are not shown are not counted")
    }

    @Test("a limit of the caller's splits a commit, and no change is lost", arguments: [1, 2, 3, 7, 100])
    func ownLimit(limit: Int) throws {
        _ = desk.modify(saves: (0..<10).map { .of("a\($0)") })
        _ = desk.modify(saves: (10..<15).map { .of("a\($0)") }, deletions: ["a3"])
        var token: ChangeToken?
        var live: [String] = []
        var pages = 0
        while true {
            let page = try desk.changes(since: token, limit: limit)
            #expect(page.live.count + page.deleted.count <= limit)
            live += page.live
            token = page.token
            pages += 1
            if !page.moreComing { break }
        }
        #expect(live.count == 14 && Set(live).count == 14)
        #expect(pages >= 14 / limit)
    }

    @Test("a record changed a thousand times stands once in its feed, and old tokens still work")
    func compaction() throws {
        let start = try desk.changes(since: nil).token
        try desk.save("still")
        let tokens = try (0..<1000).map { n in
            try desk.save("busy", ["n": .int64(Int64(n))], policy: .changedKeys)
            return try desk.changes(since: nil).token
        }
        #expect(try desk.changes(since: start).live == ["still", "busy"])
        #expect(try desk.changes(since: tokens[500]).live == ["busy"])
        #expect(try desk.changes(since: tokens[999]).live.isEmpty)
    }

    @Test("tokens of another epoch, zone, future or kind, and those below the floor, are refused")
    func refusedTokens() throws {
        try desk.save("a")
        let token = try desk.changes(since: nil).token
        let other = desk.makeZone("other")
        #expect(other != nil)
        func code(_ token: ChangeToken, in zone: ZoneID = Desk.zone) -> ErrorCode? {
            do {
                _ = try desk.database.zoneChanges(zone: zone, since: token, resultsLimit: 0, desiredKeys: nil)
                return nil
            } catch {
                return error.code
            }
        }
        func changed(
            kind: ChangeToken.Kind = .zone, epoch: UInt32 = 7, incarnation: UInt64? = nil, ahead: UInt64 = 0
        ) -> ChangeToken {
            ChangeToken(
                kind: kind, epoch: epoch, incarnation: incarnation ?? token.incarnation,
                position: ChangePosition(rawValue: token.position.rawValue + ahead))
        }
        #expect(code(token) == nil)
        #expect(code(token, in: ZoneID(name: "other")) == .changeTokenExpired)
        #expect(code(changed(epoch: 8)) == .changeTokenExpired)
        #expect(code(changed(incarnation: 5)) == .changeTokenExpired)
        #expect(code(changed(ahead: 1)) == .changeTokenExpired)
        #expect(code(changed(kind: .database)) == .invalidArguments)
        #expect(code(token, in: .defaultZone) == .invalidArguments)
        #expect(code(token, in: ZoneID(name: "none")) == .zoneNotFound)
    }

    @Test("a zone deleted and made again is empty, and tokens of the earlier one have expired")
    func zoneMadeAgain() throws {
        try desk.save("a")
        let token = try desk.changes(since: nil).token
        let incarnation = desk.database.incarnation(of: Desk.zone)
        #expect(desk.deleteZone("notes").answer.deletions == [nil])
        #expect(desk.database.incarnation(of: Desk.zone) == nil)
        #expect(throws: ServiceError.self) { try desk.changes(since: token) }
        desk.makeZone("notes")
        #expect(desk.database.incarnation(of: Desk.zone) != incarnation)
        #expect(try desk.changes(since: nil).live.isEmpty)
        let error = #expect(throws: ServiceError.self) { try desk.changes(since: token) }
        #expect(error?.code == .changeTokenExpired)
        #expect(error?.detail == .zoneMadeAgain)
    }

    @Test("zones of one commit have incarnations of their own")
    func zonesOfOneCommit() {
        let decision = desk.database.modifyZones(
            ModifyZonesRequest(database: .private, saves: [ZoneID(name: "x"), ZoneID(name: "y")]), caller: desk.caller,
            nowMilliseconds: 1)
        #expect(decision.commit?.zones.map(\.isNew) == [true, true])
        #expect(desk.database.incarnation(of: ZoneID(name: "x")) != desk.database.incarnation(of: ZoneID(name: "y")))
    }

    @Test("the database's feed tells which zones changed, came and went, never of the default zone")
    func databaseFeed() throws {
        let start = try desk.database.databaseChanges(since: nil, resultsLimit: 0)
        #expect(start.changed.map(\.name) == ["notes"] && start.deletions.isEmpty)
        desk.makeZone("x")
        desk.makeZone("y")
        try desk.save("a", in: .defaultZone)
        try desk.save("a")
        let changes = try desk.database.databaseChanges(since: start.token, resultsLimit: 0)
        #expect(changes.changed.map(\.name) == ["x", "y", "notes"] && !changes.moreComing)
        _ = desk.deleteZone("x")
        let gone = try desk.database.databaseChanges(since: changes.token, resultsLimit: 0)
        #expect(gone.changed.isEmpty)
        #expect(gone.deletions == [.init(zone: ZoneID(name: "x"), reason: .deleted)])
        #expect(try desk.database.databaseChanges(since: nil, resultsLimit: 0).deletions.isEmpty)
        desk.makeZone("x")
        let back = try desk.database.databaseChanges(since: changes.token, resultsLimit: 0)
        #expect(back.changed.map(\.name) == ["x"] && back.deletions.isEmpty)
        #expect(back.earlierDeletions == gone.deletions)
    }

    @Test(
        "a zone that was deleted and made again is told as both, the deletion first, in pages of any size",
        arguments: 1...4)
    func zonesMadeAgain(limit: Int) throws {
        /// The pages from a token, one line for each.
        func pages(_ desk: Desk, since token: ChangeToken?) throws -> [String] {
            var lines: [String] = []
            var token = token
            var more = true
            while more {
                let page = try desk.database.databaseChanges(since: token, resultsLimit: limit)
                lines += page.earlierDeletions.map { "\($0.zone.name) was deleted (\($0.reason))" }
                lines += page.changed.map { "\($0.name) changed" } + page.deletions.map { "\($0.zone.name) is deleted" }
                (token, more) = (page.token, page.moreComing)
            }
            return lines
        }
        func head() throws -> ChangeToken { try desk.database.databaseChanges(since: nil, resultsLimit: 0).token }
        for name in ["x", "y"] { desk.makeZone(name) }
        let before = try head()
        _ = desk.deleteZone("x")
        let between = try head()
        desk.makeZone("x")
        let behind = try head()
        try desk.save("a", in: ZoneID(name: "y"))
        // Later than y's change, so that a page may end between the deletion and the new zone's change.
        try desk.save("a", in: ZoneID(name: "x"))
        #expect(
            try pages(desk, since: before) == ["x was deleted (deleted)", "y changed", "x changed"].sorted(by: limit))
        #expect(try pages(desk, since: between) == ["y changed", "x changed"])
        #expect(try pages(desk, since: behind) == ["y changed", "x changed"])
        #expect(try pages(desk, since: nil) == ["notes changed", "y changed", "x changed"])
        // Whatever came between, the latest deletion stands for all of them.
        _ = desk.deleteZone("x")
        #expect(try pages(desk, since: before) == ["y changed", "x is deleted"])
        desk.makeZone("x")
        #expect(
            try pages(desk, since: before) == ["y changed", "x was deleted (deleted)", "x changed"].sorted(by: limit))
        #expect(
            try pages(desk, since: between) == ["y changed", "x was deleted (deleted)", "x changed"].sorted(by: limit))
        let audit = desk.database.audit()
        #expect(audit.histories.last?.earlierDeletions == 1)
    }

    @Test("a zone that is deleted and made again ever again leaves no more in the database's feed than its last life")
    func zoneMadeAgainOften() throws {
        for _ in 0..<300 {
            _ = desk.deleteZone("notes")
            desk.makeZone("notes")
            let history = try #require(desk.database.audit().histories.last)
            #expect(history.earlierDeletions == 1 && history.feedEntries <= 65)
        }
    }

    @Test("pages of the database's feed lose no zone", arguments: [1, 2, 5])
    func databasePages(limit: Int) throws {
        for name in ["a", "b", "c", "d"] { desk.makeZone(name) }
        _ = desk.deleteZone("b")
        var token: ChangeToken?
        var names: [String] = []
        while true {
            let page = try desk.database.databaseChanges(since: token, resultsLimit: limit)
            names += page.changed.map(\.name)
            token = page.token
            if !page.moreComing { break }
        }
        #expect(names == ["notes", "a", "c", "d"])
    }

    @Test("tokens of the database's feed are checked, and the public database has none")
    func databaseTokens() throws {
        let token = try desk.database.databaseChanges(since: nil, resultsLimit: 0).token
        for bad in [
            ChangeToken(kind: .database, epoch: 8, incarnation: 0, position: token.position),
            ChangeToken(
                kind: .database, epoch: 7, incarnation: 0,
                position: ChangePosition(rawValue: token.position.rawValue + 1)),
        ] {
            let error = #expect(throws: ServiceError.self) {
                try desk.database.databaseChanges(since: bad, resultsLimit: 0)
            }
            #expect(error?.code == .changeTokenExpired)
        }
        let alice = Desk.ofPublicDatabase(user: "_alice")
        let error = #expect(throws: ServiceError.self) {
            try alice.database.databaseChanges(since: nil, resultsLimit: 0)
        }
        #expect(error?.code == .invalidArguments)
    }

    @Test("a feed's binary search finds each place")
    func search() {
        var feed = Feed()
        for index in 0..<200 {
            feed.append(ChangePosition(rawValue: UInt64(index * 2 + 2)), slot: Int32(index), replacesEntry: false)
        }
        for raw in 0..<410 {
            let expected = feed.entries().filter { $0.position.rawValue > UInt64(raw) }
            #expect(Array(feed.entries(after: ChangePosition(rawValue: UInt64(raw)))) == expected)
        }
    }
}

extension [String] {
    /// As pages of a size give them: of one page the earlier deletions come first, whatever changed before them.
    fileprivate func sorted(by limit: Int) -> [String] {
        stride(from: 0, to: count, by: limit).flatMap { start in
            let page = self[start..<Swift.min(start + limit, count)]
            return page.filter { $0.contains(" was ") } + page.filter { !$0.contains(" was ") }
        }
    }
}
