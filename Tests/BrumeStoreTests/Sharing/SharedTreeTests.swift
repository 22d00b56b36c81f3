import BrumeModel
import BrumeRecord
import BrumeTestKit
import Testing

@testable import BrumeStore

/// What users get of a zone in which single records are shared with them, case by case.
@Suite("Shared trees of records")
struct SharedTreeTests {
    private let shared = SharedDesk()
    private let guest = SharedDesk.guest
    private let other = SharedDesk.other

    private var database: Database { shared.database }
    private var owner: Desk { shared.owner }

    private func invite(_ user: String, to root: String) {
        let tag = owner.record("s-\(root)")?.system.changeTag ?? ""
        var edit = ShareEdit()
        edit.puts = [.init(id: "again \(user)", invitee: .user(user), permission: .readWrite)]
        let saved = owner.modify(
            saves: [.of("s-\(root)", type: Names.shareType, tag: tag)], shares: ["s-\(root)": ShareSave(edit: edit)])
        #expect(saved.result.saveCodes == [nil])
    }

    /// Does to a device's records what pages say: records first, as the SDK tells them.
    private func apply(_ pages: [(live: [String], deleted: [String])], to names: Set<String>) -> Set<String> {
        pages.reduce(names) { $0.union($1.live).subtracting($1.deleted) }
    }

    @Test("come whole to a device that was away while its user left a share and came back")
    func leftAndBack() throws {
        try shared.admit([guest], toRecord: "a")
        try shared.admit([guest], toRecord: "b")
        try owner.save("item", parent: .set("a"))
        let desk = shared.desk(of: guest)
        let first = try desk.changes(since: nil)
        #expect(Set(first.live) == ["a", "b", "item", "s-a", "s-b"])
        #expect(desk.modify(deletions: ["s-a"]).result.deletionCodes == [nil])
        invite(guest, to: "a")
        try shared.accept(guest, record: "a")
        let page = try desk.changes(since: first.token)
        #expect(!page.moreComing && page.deleted.isEmpty)
        #expect(apply([(page.live, page.deleted)], to: Set(first.live)) == Set(first.live))
    }

    @Test("are told as deleted when their share ends, while another share of the zone stays")
    func oneOfTwoEnds() throws {
        try shared.admit([guest], toRecord: "a")
        try shared.admit([guest], toRecord: "b")
        for number in 0..<5 { try owner.save("a\(number)", parent: .set("a")) }
        let desk = shared.desk(of: guest)
        let first = try desk.changes(since: nil)
        #expect(owner.modify(deletions: ["s-a"]).result.deletionCodes == [nil])
        // What the owner does there afterwards is the owner's alone.
        try owner.save("later", parent: .set("a"))
        var (names, token, pages) = (Set(first.live), first.token, 0)
        while true {
            let page = try desk.changes(since: token, limit: 2)
            names = apply([(page.live, page.deleted)], to: names)
            #expect(!page.deleted.contains("later") && page.live.isEmpty)
            (token, pages) = (page.token, pages + 1)
            if !page.moreComing { break }
        }
        #expect(names == ["b", "s-b"] && pages > 2)
        #expect(try desk.changes(since: token).token == token, "nothing is left to be told")
    }

    @Test("are not told by name to a user who lost them with the commit that they came with")
    func cameWithTheEnd() throws {
        try shared.admit([guest], toRecord: "a")
        try shared.admit([guest], toRecord: "b")
        let desk = shared.desk(of: guest)
        let first = try desk.changes(since: nil)
        var edit = ShareEdit()
        edit.removals = ["for \(guest)"]
        let tag = try #require(owner.record("s-a")?.system.changeTag)
        let saved = owner.modify(
            saves: [.of("secret", parent: .set("a")), .of("s-a", type: Names.shareType, tag: tag)],
            shares: ["s-a": ShareSave(edit: edit)])
        #expect(saved.result.saveCodes == [nil, nil])
        let page = try desk.changes(since: first.token)
        #expect(Set(page.deleted) == ["a", "s-a"] && page.live.isEmpty)
    }

    @Test("show nothing of what the owner does elsewhere, not even by a token")
    func silence() throws {
        try shared.admit([guest], toRecord: "a")
        let desk = shared.desk(of: guest)
        let first = try desk.changes(since: nil)
        for number in 0..<3 { try owner.save("diary\(number)") }
        _ = owner.modify(deletions: ["diary0"])
        let page = try desk.changes(since: first.token)
        #expect(page.live.isEmpty && page.deleted.isEmpty && page.token == first.token)
        #expect(try desk.changes(since: nil).token == first.token)
    }

    @Test("have roots without their parents, in answers and for queries")
    func parentsOfRoots() throws {
        try owner.save("hidden")
        try shared.admit([guest], toRecord: "a", parent: "hidden")
        try owner.save("item", parent: .set("a"))
        let desk = shared.desk(of: guest)
        #expect(desk.record("a")?.system.parent == nil && desk.record("item")?.system.parent == "a")
        func found(_ parent: String) throws -> [String] {
            let predicate = Predicate.comparison(
                .parent, .equal, .reference(.init(recordName: parent, deletesSelf: false)))
            let run = try database.startQuery(
                Query(recordType: "Note", predicate: predicate), zone: Desk.zone,
                caller: Caller(user: guest, isOwner: false))
            while !run.step() {}
            return run.results!.matches.map { Record(stored: $0.record).system.name }
        }
        #expect(try found("hidden") == [])
        #expect(try found("a") == ["item"])
    }

    @Test("are not left by records that a user moves in a circle")
    func circles() throws {
        try shared.admit([guest, other], toRecord: "a")
        for name in ["x", "y"] { try owner.save(name, parent: .set("a")) }
        let desk = shared.desk(of: guest)
        let circle = desk.modify(
            policy: .changedKeys, isAtomic: false, saves: [.of("x", parent: .set("y")), .of("y", parent: .set("x"))])
        #expect(circle.result.saveCodes.allSatisfy { $0 == .permissionFailure || $0 == .batchRequestFailed })
        let longer = desk.modify(
            policy: .changedKeys, isAtomic: false,
            saves: [.of("x", parent: .set("new")), .of("new", parent: .set("x"))])
        #expect(longer.commit == nil)
        #expect(Set(try shared.desk(of: other).changes(since: nil).live) == ["a", "s-a", "x", "y"])
        // What is no circle goes.
        let chain = desk.modify(
            policy: .changedKeys, saves: [.of("x", parent: .set("new")), .of("new", parent: .set("y"))])
        #expect(chain.result.saveCodes == [nil, nil])
    }

    @Test("let no batch rely on a save under a name that is taken")
    func takenNames() throws {
        try shared.admit([guest], toRecord: "a")
        try owner.save("diary")
        try owner.save("page", parent: .set("diary"))
        let desk = shared.desk(of: guest)
        for name in ["diary", "page"] {
            let result = desk.modify(
                policy: .changedKeys, isAtomic: false,
                saves: [.of(name, parent: .set("a")), .of("mine", parent: .set(name)), .of("good", parent: .set("a"))])
            #expect(result.result.saveCodes == [.permissionFailure, .permissionFailure, nil])
            #expect(owner.modify(deletions: ["good"]).result.deletionCodes == [nil])
        }
        #expect(owner.record("mine") == nil)
    }

    @Test("have tokens that stay good, whatever is forgotten of other trees")
    func forgetting() throws {
        database.history = HistoryLimits(tombstonesPerZone: 4, deletedZones: 2, runs: 4)
        try shared.admit([guest], toRecord: "a")
        try shared.admit([other], toRecord: "b")
        let desk = shared.desk(of: guest)
        for number in 0..<12 { try owner.save("a\(number)", parent: .set("a")) }
        let first = try desk.changes(since: nil)
        #expect(owner.modify(deletions: (0..<12).map { "a\($0)" }).result.deletionCodes.allSatisfy { $0 == nil })
        #expect(shared.refusal(of: first.token, for: desk)?.code == .changeTokenExpired)
        let again = try desk.changes(since: nil)
        #expect(Set(again.live) == ["a", "s-a"])
        #expect(try desk.changes(since: again.token).token == again.token)
        let others = shared.desk(of: other)
        let token = try others.changes(since: nil).token
        for number in 0..<30 {
            try owner.save("b\(number)", parent: .set("b"))
            #expect(owner.modify(deletions: ["b\(number)"]).result.deletionCodes == [nil])
        }
        #expect(shared.refusal(of: token, for: others)?.code == .changeTokenExpired)
        #expect(shared.refusal(of: again.token, for: desk) == nil, "what happens elsewhere expires no token")
    }

    @Test("leave tokens good while no more of a user's shares have ended than are remembered")
    func manyEnded() throws {
        let limit = StoreLimits.endedPartsPerMember
        for number in 0..<limit + 2 { try shared.admit([guest], toRecord: "r\(number)") }
        let desk = shared.desk(of: guest)
        let first = try desk.changes(since: nil)
        #expect(first.live.count == 2 * (limit + 2))
        for number in 0..<limit {
            #expect(owner.modify(deletions: ["s-r\(number)"]).result.deletionCodes == [nil])
        }
        let page = try desk.changes(since: first.token)
        #expect(apply([(page.live, page.deleted)], to: Set(first.live)).count == 4)
        #expect(owner.modify(deletions: ["s-r\(limit)"]).result.deletionCodes == [nil])
        #expect(shared.refusal(of: first.token, for: desk)?.code == .changeTokenExpired)
        #expect(Set(try desk.changes(since: page.token).deleted) == ["r\(limit)", "s-r\(limit)"])
        #expect(Set(try desk.changes(since: nil).live) == ["r\(limit + 1)", "s-r\(limit + 1)"])
    }

    @Test("come and go in one piece up to a number, and what is more is refused before it costs")
    func numbers() throws {
        let limit = StoreLimits.movedRecordsPerRequest
        try owner.save("list")
        for start in stride(from: 0, to: limit, by: 500) {
            let saves = (start..<start + 500).map { RecordSave<CheckedFields>.of("i\($0)", parent: .set("list")) }
            #expect(owner.modify(saves: saves).commit != nil)
        }
        func shareList() -> ErrorCode? {
            let tag = owner.record("list")?.system.changeTag ?? ""
            return owner.modify(
                saves: [.of("s-list", type: Names.shareType), .of("list", tag: tag)],
                shares: ["s-list": ShareSave(root: "list")]
            ).result.saves[1].error?.code
        }
        #expect(shareList() == .limitExceeded)
        #expect(owner.modify(deletions: ["i0"]).result.deletionCodes == [nil])
        #expect(shareList() == nil)
        shared.expectSound()
        // A tree may grow beyond it, and end.
        for name in ["i0", "more", "other"] { try owner.save(name, parent: .set("list")) }
        try shared.admit([guest], toRecord: "above")
        let moved = owner.modify(policy: .changedKeys, saves: [.of("list", parent: .set("above"))])
        #expect(moved.result.saveCodes == [nil], "a root is where its share is")
        #expect(owner.modify(deletions: ["s-list"]).result.deletionCodes == [.limitExceeded])
        #expect(owner.modify(policy: .changedKeys, saves: [.of("list", parent: .removed)]).result.saveCodes == [nil])
        #expect(owner.modify(deletions: ["s-list"]).result.deletionCodes == [nil])
        shared.expectSound()
    }

    @Test("don't come in any number with a root that gets another parent in the same request")
    func movedRoot() throws {
        for name in ["shelf", "list"] { try owner.save(name) }
        shared.fill("list", count: StoreLimits.movedRecordsPerRequest + 500)
        let saved = owner.modify(
            policy: .changedKeys, saves: [.of("s-list", type: Names.shareType), .of("list", parent: .set("shelf"))],
            shares: ["s-list": ShareSave(root: "list")])
        #expect(saved.result.saveCodes.contains(.limitExceeded) && saved.commit == nil)
    }

    @Test("don't come in any number with a record that is put below the new root in the same request")
    func movedBelowRoot() throws {
        for name in ["list", "shelf"] { try owner.save(name) }
        shared.fill("shelf", count: StoreLimits.movedRecordsPerRequest + 500)
        let saved = owner.modify(
            policy: .changedKeys,
            saves: [.of("s-list", type: Names.shareType), .of("list"), .of("shelf", parent: .set("list"))],
            shares: ["s-list": ShareSave(root: "list")])
        #expect(saved.result.saveCodes.contains(.limitExceeded) && saved.commit == nil)
    }

    @Test("don't come in any number below a parent that was deleted and is made again", arguments: [false, true])
    func parentMadeAgain(isByGuest: Bool) throws {
        try shared.admit([guest], toRecord: "above")
        try owner.save("shelf", parent: .set("above"))
        try shared.admit([other], toRecord: "list")
        #expect(owner.modify(policy: .changedKeys, saves: [.of("list", parent: .set("shelf"))]).commit != nil)
        shared.fill("list", count: StoreLimits.movedRecordsPerRequest + 500)
        // Roots keep no guest from deleting their parents.
        #expect(shared.desk(of: guest).modify(deletions: ["shelf"]).result.deletionCodes == [nil])
        #expect(owner.modify(deletions: ["s-list"]).result.deletionCodes == [nil])
        let again = (isByGuest ? shared.desk(of: guest) : owner).modify(saves: [.of("shelf", parent: .set("above"))])
        #expect(again.result.saveCodes == [.limitExceeded])
        shared.expectSound()
    }

    @Test("tell of a record that goes from one into another before its departure, which stands at the same place")
    func placesTwice() throws {
        // The feed stops at what tells nothing only now and then.
        let items = (0..<300).map { "i\($0)" }
        let roots = (0..<4).map { "r\($0)" }
        for root in roots { try shared.admit([guest], toRecord: root) }
        for root in roots {
            let saves: [RecordSave<CheckedFields>] = items.map { .of($0, parent: .set(root)) }
            #expect(owner.modify(policy: .changedKeys, saves: saves).commit != nil)
        }
        let zone = database.zoneStates[1]
        let member = try #require(zone.trees.members[guest])
        var feed = TreeFeed(zone, member, after: TreePlace(.start), known: .start)
        var last: TreePlace?
        var ties = 0
        while let next = feed.next() {
            if next.place == last {
                ties += 1
                if case .record = next.item { Issue.record("a page that ends before it leaves it out") }
            }
            last = next.place
        }
        #expect(ties > 1)
    }

    @Test("are left by nobody for others, and their roots are deleted by their owner alone")
    func roots() throws {
        try shared.admit([guest, other], toRecord: "a")
        try owner.save("item", parent: .set("a"))
        let desk = shared.desk(of: guest)
        #expect(desk.modify(deletions: ["a"]).result.deletionCodes == [.permissionFailure])
        #expect(
            desk.modify(policy: .changedKeys, saves: [.of("a", parent: .set("item"))]).result.saveCodes
                == [.permissionFailure])
        #expect(
            desk.modify(policy: .changedKeys, saves: [.of("item", parent: .removed)]).result.saveCodes
                == [.permissionFailure])
        #expect(desk.modify(deletions: ["s-a"]).result.deletionCodes == [nil])
        #expect(shared.refusal(of: nil, for: desk)?.code == .zoneNotFound)
        #expect(Set(try shared.desk(of: other).changes(since: nil).live) == ["a", "s-a", "item"])
    }

    @Test("are what a member of two shares may write as each share says")
    func twoPermissions() throws {
        try shared.admit([guest], toRecord: "a", permission: .readOnly)
        try shared.admit([guest], toRecord: "b")
        let desk = shared.desk(of: guest)
        let result = desk.modify(
            policy: .changedKeys, isAtomic: false,
            saves: [.of("x", parent: .set("a")), .of("y", parent: .set("b")), .of("a", ["n": .int64(1)]), .of("z")])
        #expect(result.result.saveCodes == [.permissionFailure, nil, .permissionFailure, .permissionFailure])
        #expect(
            desk.modify(policy: .changedKeys, saves: [.of("y", parent: .set("a"))]).result.saveCodes
                == [.permissionFailure])
    }
}
