import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeStore

/// Records with many others below them that are shared: their trees are made ready first, in steps.
@Suite("Trees that are made ready")
struct TreePreparationTests {
    private let shared = SharedDesk()
    private let guest = SharedDesk.guest
    private let other = SharedDesk.other

    private var database: Database { shared.database }
    private var owner: Desk { shared.owner }

    private func tree(_ root: String) -> LargeTree { LargeTree(zone: database.zoneStates[1].incarnation, root: root) }

    /// Makes a tree ready; returns in how many steps.
    @discardableResult
    private func prepare(_ root: String, units: Int = 100, between: (Int) -> Void = { _ in }) throws -> Int {
        try database.beginTree(tree(root))
        for step in 1...100_000 {
            switch database.continueTree(tree(root), units: units) {
            case .underWay: between(step)
            case .ready: return step
            case .broken: throw TestFailure("the tree was broken")
            }
        }
        throw TestFailure("the tree is never ready")
    }

    /// The names of all that a user sees.
    private func names(for user: String) throws -> Set<String> {
        var names: Set<String> = []
        var token: ChangeToken?
        while true {
            let page = try shared.desk(of: user).changes(since: token)
            names.formUnion(page.live)
            token = page.token
            if !page.moreComing { return names }
        }
    }

    @Test("hold any number of records, and what comes and goes while they are made ready")
    func large() throws {
        let count = StoreLimits.movedRecordsPerRequest + 500
        try owner.save("list")
        shared.fill("list", count: count)
        #expect(shared.share(record: "list").result.saveCodes[1] == .limitExceeded)
        var expected = Set((0..<count).map { "list\($0)" } + ["list", "s-list"])
        let steps = try prepare("list") { step in
            if step % 3 != 0 { return }
            #expect(owner.modify(saves: [.of("new\(step)", parent: .set("list\(step * 10)"))]).commit != nil)
            expected.insert("new\(step)")
            #expect(owner.modify(deletions: ["list\(step * 10 + 1)"]).commit != nil)
            expected.remove("list\(step * 10 + 1)")
            #expect(owner.modify(policy: .changedKeys, saves: [.of("list\(step)", ["n": .int64(1)])]).commit != nil)
        }
        #expect(steps > 100)
        #expect(shared.share(record: "list", inviting: [guest]).result.saveCodes == [nil, nil])
        shared.expectSound()
        try shared.accept(guest, record: "list")
        #expect(try names(for: guest) == expected)
        #expect(database.zoneStates[1].problemWithTrees == nil)
    }

    @Test("are counted when they are shared, and when a replay has to find them again, as what goes with others is")
    func counted() throws {
        var journal: [JournalEntry] = []
        func keep(_ commit: Commit?) throws { journal.append(try #require(commit).entry) }
        for start in [0, 500, 1_000] {
            try keep(
                owner.modify(
                    saves: (start..<start + 500).map { .of("r\($0)", parent: $0 == 0 ? .unchanged : .set("r0")) }
                ).commit)
        }
        try prepare("r0")
        #expect(database.takeMovedRecords() == 0)
        try keep(shared.share(record: "r0").commit)
        // All but the share.
        #expect(database.takeMovedRecords() == 1_500)
        #expect(database.takeMovedRecords() == 0)
        try keep(owner.modify(saves: [.of("box"), .of("inner", parent: .set("box"))]).commit)
        try keep(owner.modify(policy: .changedKeys, saves: [.of("box", parent: .set("r0"))]).commit)
        #expect(database.takeMovedRecords() == 1)
        // A replay finds the share as one of them.
        let copies = try shared.copies(replaying: journal)
        #expect(copies.map { $0.takeMovedRecords() } == [1_502, 0])
    }

    @Test("are found anew where the request moves records below the root, and changes what stands below those")
    func changedBelowMoved() throws {
        try owner.save("a")
        try owner.save("b")
        try owner.save("x", parent: .set("b"))
        try prepare("a")
        let saved = shared.share(
            record: "a", inviting: [guest],
            others: [
                .of("x", ["n": .int64(1)], tag: owner.record("x")!.system.changeTag),
                .of("b", tag: owner.record("b")!.system.changeTag, parent: .set("a")),
            ])
        #expect(saved.result.saveCodes == [nil, nil, nil, nil])
        shared.expectSound()
        #expect(database.zoneStates[1].problemWithTrees == nil)
        try shared.accept(guest, record: "a")
        #expect(try names(for: guest) == ["a", "b", "s-a", "x"])
    }

    @Test("take part in nothing until they are shared, and are given up without a trace")
    func givenUp() throws {
        try owner.save("list")
        shared.fill("list", count: 30)
        let before = database.audit()
        try prepare("list")
        #expect(database.zoneStates[1].trees.isEmpty)
        #expect(owner.modify(saves: [.of("x", parent: .set("list"))]).commit?.zones.first?.trees == nil)
        database.endTree(tree("list"))
        #expect(database.zoneStates[1].trees.isIdle && database.zoneStates[1].trees.numbers.approximateBytes == 0)
        #expect(owner.modify(deletions: ["x"]).commit != nil)
        shared.expectSound()
        #expect(database.audit().kept.records == before.kept.records)
    }

    @Test("come with the changes of single records that their request makes")
    func ownChanges() throws {
        try owner.save("list")
        try owner.save("lone")
        shared.fill("list", count: 30)
        try prepare("list")
        let number = database.zoneStates[1].trees.preparations["list"]?.number
        let tag = owner.record("lone")?.system.changeTag ?? ""
        let saved = shared.share(
            record: "list", inviting: [guest],
            others: [
                .of("new", parent: .set("list0")), .of("lone", tag: tag, parent: .set("list10")),
                .of("list1", tag: owner.record("list1")?.system.changeTag ?? "", parent: .removed),
            ], deletions: ["list2"])
        #expect(saved.result.saveCodes.allSatisfy { $0 == nil })
        #expect(database.zoneStates[1].trees.numberOfShare["s-list"] == number, "the one that was made ready")
        try shared.accept(guest, record: "list")
        var expected = Set((0..<30).map { "list\($0)" } + ["list", "s-list", "new", "lone"])
        expected.subtract(["list1", "list2"])
        #expect(try names(for: guest) == expected)
        #expect(database.zoneStates[1].problemWithTrees == nil)
        #expect(database.zoneStates[1].trees.departureCount == 0, "nobody saw what went")
        shared.expectSound()
    }

    @Test("are of no use to a request that moves others with something below them")
    func othersMoved() throws {
        for name in ["list", "shelf"] { try owner.save(name) }
        shared.fill("list", count: StoreLimits.movedRecordsPerRequest + 10)
        try owner.save("book", parent: .set("shelf"))
        try prepare("list", units: 10_000)
        let tag = owner.record("shelf")?.system.changeTag ?? ""
        let moved = shared.share(record: "list", others: [.of("shelf", tag: tag, parent: .set("list"))])
        #expect(moved.result.saveCodes.contains(.limitExceeded) && moved.commit == nil)
        #expect(shared.share(record: "list").result.saveCodes == [nil, nil])
        #expect(database.zoneStates[1].problemWithTrees == nil)
    }

    @Test("hold nothing that stood below one of their records which left, however that came about")
    func strayChildren() throws {
        for name in ["list", "shelf"] { try owner.save(name) }
        try owner.save("p", parent: .set("list"))
        let items = (0..<20).map { "c\($0)" }
        for item in items { try owner.save(item, parent: .set("p")) }
        try database.beginTree(tree("list"))
        for _ in 0..<6 { #expect(database.continueTree(tree("list"), units: 1) == .underWay) }
        // All below it go elsewhere, it leaves as one with nothing below it, and they come back.
        let moves: [RecordSave<CheckedFields>] =
            items.map { .of($0, parent: .set("shelf")) } + [.of("p", parent: .removed)]
        #expect(owner.modify(policy: .changedKeys, saves: moves).commit != nil)
        #expect(
            owner.modify(policy: .changedKeys, saves: items.map { .of($0, parent: .set("p")) }).commit != nil)
        while database.continueTree(tree("list"), units: 1) == .underWay {}
        #expect(shared.share(record: "list", inviting: [guest]).result.saveCodes == [nil, nil])
        #expect(database.zoneStates[1].problemWithTrees == nil)
        try shared.accept(guest, record: "list")
        #expect(try names(for: guest) == ["list", "s-list"])
    }

    @Test("are taken as they are by a request that also puts new records below new ones, and below a moved one")
    func newBelowNew() throws {
        try owner.save("list")
        try owner.save("leaf")
        shared.fill("list", count: StoreLimits.movedRecordsPerRequest + 10)
        try prepare("list", units: 10_000)
        let number = database.zoneStates[1].trees.preparations["list"]?.number
        let tag = owner.record("leaf")?.system.changeTag ?? ""
        let saved = shared.share(
            record: "list", inviting: [guest],
            others: [
                .of("n", parent: .set("list0")), .of("m", parent: .set("n")), .of("leaf", tag: tag, parent: .set("n")),
                .of("k", parent: .set("leaf")),
            ])
        #expect(saved.result.saveCodes.allSatisfy { $0 == nil })
        #expect(database.zoneStates[1].trees.numberOfShare["s-list"] == number)
        #expect(database.zoneStates[1].problemWithTrees == nil)
        try shared.accept(guest, record: "list")
        #expect(try names(for: guest).isSuperset(of: ["n", "m", "leaf", "k"]))
    }

    @Test("let a record go from one into another")
    func fromOneToAnother() throws {
        for name in ["a", "b"] { try owner.save(name) }
        for name in ["a", "b"] {
            shared.fill(name, count: 20)
            try prepare(name)
        }
        for (item, parent) in [("b1", "a"), ("a1", "b")] {
            #expect(owner.modify(policy: .changedKeys, saves: [.of(item, parent: .set(parent))]).commit != nil)
        }
        for name in ["a", "b"] {
            while database.continueTree(tree(name), units: 1) == .underWay {}
            #expect(shared.share(record: name).result.saveCodes == [nil, nil])
        }
        #expect(database.zoneStates[1].problemWithTrees == nil)
        #expect(database.zoneStates[1].trees.preparations.isEmpty, "both were taken")
    }

    @Test("are broken by the move of a record with others below it, and by the deletion of their root")
    func broken() throws {
        for name in ["list", "shelf"] { try owner.save(name) }
        shared.fill("list", count: 30)
        try prepare("list")
        #expect(owner.modify(policy: .changedKeys, saves: [.of("list10", parent: .set("shelf"))]).commit != nil)
        #expect(database.continueTree(tree("list"), units: 100) == .broken)
        database.endTree(tree("list"))
        // What is moved into them with others below it is followed.
        try prepare("list")
        #expect(owner.modify(policy: .changedKeys, saves: [.of("list10", parent: .set("list"))]).commit != nil)
        while database.continueTree(tree("list"), units: 1) == .underWay {}
        #expect(shared.share(record: "list", inviting: [guest]).result.saveCodes == [nil, nil])
        try shared.accept(guest, record: "list")
        #expect(try names(for: guest).count == 32)
        #expect(database.zoneStates[1].problemWithTrees == nil)
    }

    @Test("are four of a database at a time, and none inside of another")
    func several() throws {
        for name in ["a", "b", "c", "d", "e"] { try owner.save(name) }
        try owner.save("below", parent: .set("a"))
        try prepare("a")
        func refusal(_ root: String) -> ErrorCode? {
            do throws(ServiceError) {
                try database.beginTree(tree(root))
                return nil
            } catch {
                return error.code
            }
        }
        #expect(refusal("a") == .zoneBusy && refusal("below") == .zoneBusy)
        for name in ["b", "c", "d"] { #expect(refusal(name) == nil) }
        #expect(refusal("e") == .zoneBusy)
        database.endTree(tree("b"))
        #expect(refusal("e") == nil)
        #expect(refusal("none") == nil, "its request says what is wrong with it")
        #expect(database.continueTree(tree("none"), units: 1) == .ready)
    }

    /// Shares a list and another record with the guest, and ends the share of the list.
    private func shareForAWhile(count: Int) throws -> ChangeToken {
        for name in ["list", "other"] { try owner.save(name) }
        shared.fill("list", count: 30)
        for root in ["list", "other"] {
            #expect(shared.share(record: root, inviting: [guest]).result.saveCodes == [nil, nil])
            try shared.accept(guest, record: root)
        }
        let token = try shared.desk(of: guest).changes(since: nil).token
        shared.fill("list", from: 30, count: count)
        #expect(owner.modify(deletions: ["s-list"]).result.deletionCodes == [nil])
        return token
    }

    @Test("are none where records went with an earlier share, so that it is told that they went")
    func sharedAgain() throws {
        let token = try shareForAWhile(count: 30)
        let told = try shared.desk(of: guest).changes(since: token)
        #expect(told.deleted.count == 32)
        try prepare("list", units: 1)
        #expect(database.zoneStates[1].trees.preparations.isEmpty)
        #expect(shared.share(record: "list", inviting: [other]).result.saveCodes == [nil, nil])
        #expect(Set(try shared.desk(of: guest).changes(since: token).deleted) == Set(told.deleted))
        try shared.accept(other, record: "list")
        #expect(try names(for: other).count == 32)
        #expect(try names(for: guest) == ["other", "s-other"])
        #expect(database.zoneStates[1].problemWithTrees == nil)
    }

    @Test(
        "make whoever was in an earlier share of very many records start over, since nothing tells of its end any more")
    func manySharedAgain() throws {
        let count = StoreLimits.movedRecordsPerRequest + 10
        let token = try shareForAWhile(count: count)
        let copy = try SharedDesk.loaded(database)
        try prepare("list")
        #expect(shared.refusal(of: token, for: shared.desk(of: guest))?.code == .changeTokenExpired)
        let saved = shared.share(record: "list", inviting: [other])
        #expect(saved.result.saveCodes == [nil, nil])
        // The journal says nothing of trees that were made ready: what is replayed comes to the same.
        try copy.apply(try #require(saved.commit).entry)
        #expect(copy.zoneStates[1].problemWithTrees == nil)
        #expect(copy.zoneStates[1].trees.trees.values.allSatisfy { !$0.isEnded && $0.departures.isEmpty })
        try shared.accept(other, record: "list")
        #expect(try names(for: other).count == count + 2)
        #expect(try names(for: guest) == ["other", "s-other"])
        #expect(database.zoneStates[1].problemWithTrees == nil)
        shared.expectSound()
    }

    @Test("are asked for where a request shares more than a number of records, all of its shares together")
    func asked() throws {
        for name in ["a", "b", "c"] { try owner.save(name) }
        shared.fill("a", count: 20)
        shared.fill("b", count: 20)
        func roots(_ shares: [String: String], above limit: Int) -> Set<String> {
            var modification = ZoneModification<CheckedFields>(zone: Desk.zone)
            modification.saves = shares.keys.map { .of($0, type: Names.shareType) }
            modification.shares = shares.mapValues { ShareSave(root: $0) }
            let request = ModifyRecordsRequest<CheckedFields>(database: .private, zones: [modification])
            return Set(database.largeTrees(of: request, above: limit).map(\.root))
        }
        #expect(roots(["s-a": "a", "s-b": "b", "s-c": "c"], above: 20) == ["a", "b"])
        #expect(roots(["s-c": "c", "s-none": "none"], above: 1) == [])
        #expect(roots(["s-a": "a", "s-b": "b"], above: 42) == [])
        #expect(roots(["s-a": "a", "s-b": "b"], above: 41).count == 1)
        #expect(shared.share(record: "a").commit != nil)
        #expect(roots(["s-a": "a"], above: 0) == [], "it is shared already")
        #expect(roots(["s-b": "b", "s-again": "b"], above: 3) == [], "a record is shared once")
        #expect(roots(["s-b": "b", "s-b0": "b0"], above: 3) == [], "one stands below the other, which is refused")
    }
}
