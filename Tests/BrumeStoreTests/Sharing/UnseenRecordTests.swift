import BrumeModel
import BrumeRecord
import BrumeTestKit
import Testing

@testable import BrumeStore

/// What participants learn of records that they don't see, beside those that are shared with them: nothing but that
/// names are taken (Documentation/CloudKit.md, Sharing, rules 16 to 20).
@Suite("Records that a participant does not see")
struct UnseenRecordTests {
    private let shared = SharedDesk()
    private let guest = SharedDesk.guest
    private let other = SharedDesk.other

    private var database: Database { shared.database }
    private var owner: Desk { shared.owner }
    private var desk: Desk { shared.desk(of: guest) }

    // MARK: Names

    /// What a guest is answered who tries all that there is with a name, and whose every request fails or does nothing.
    private func answers(about name: String, to desk: Desk) throws -> [[UInt8]] {
        var answers: [[UInt8]] = []
        func note(
            _ comment: String, _ saves: [RecordSave<CheckedFields>], _ deletions: [String] = [],
            shares: [String: ShareSave] = [:], isAtomic: Bool = true, policy: SavePolicy = .ifServerRecordUnchanged
        ) {
            let done = desk.modify(
                policy: policy, isAtomic: isAtomic, saves: saves, deletions: deletions, shares: shares)
            #expect(done.commit == nil, "\(comment) \(name)")
            answers.append(StoreCoder.encodeOutcome(.records([done.result])))
        }
        for policy: SavePolicy in [.ifServerRecordUnchanged, .changedKeys, .allKeys] {
            note("without a parent", [.of(name)], policy: policy)
            note("with a tag", [.of(name, tag: "zz")], policy: policy)
            for parent in ["folder", "diary", "b", "s-b", "never"] {
                note("below \(parent)", [.of(name, parent: .set(parent))], policy: policy)
            }
            note("a parent of an item", [.of("item", parent: .set(name))], policy: policy)
            note("a parent of a root", [.of("a", parent: .set(name))], policy: policy)
            note("a parent of a new record", [.of("new", parent: .set(name))], policy: policy)
            note("a new record's share", [.of("s-new", type: Names.shareType), .of("new", parent: .set(name))])
        }
        note("with a tag, below a shared record", [.of(name, tag: "zz", parent: .set("a"))])
        for isAtomic in [true, false] {
            note("a deletion", [], [name], isAtomic: isAtomic)
            note("a deletion beside a failure", [.of("stray")], [name], isAtomic: isAtomic)
            note("a deletion and a save", [.of(name)], [name], isAtomic: isAtomic)
            note("a deletion of a parent", [.of("new", parent: .set(name))], [name], isAtomic: isAtomic)
            note("a chain", [.of(name, parent: .set("new")), .of("new", parent: .set(name))], isAtomic: isAtomic)
            for tag in ["", "zz"] {
                let save = RecordSave<CheckedFields>.of(name, type: Names.shareType, tag: tag)
                var edit = ShareEdit()
                edit.puts = [.init(id: "x", invitee: .user(SharedDesk.stranger), permission: .readWrite)]
                for share in [ShareSave(), ShareSave(root: "item"), ShareSave(edit: edit)] {
                    note("a share", [save], shares: [name: share], isAtomic: isAtomic)
                    note("a share with a root", [save, .of("item")], shares: [name: share], isAtomic: isAtomic)
                }
            }
            note(
                "the root of a share", [.of("s-new", type: Names.shareType), .of(name)],
                shares: ["s-new": ShareSave(root: name)], isAtomic: isAtomic)
            note(
                "the root of a share, below a shared record",
                [.of("s-new", type: Names.shareType), .of(name, parent: .set("stray"))],
                shares: ["s-new": ShareSave(root: name)], isAtomic: isAtomic)
        }
        let fetched = database.fetchRecords(
            FetchRecordsRequest(database: .shared, zones: [.init(zone: Desk.zone, names: [name])]), caller: desk.caller)
        guard case .failure(let error) = fetched[0][0] else { throw TestFailure("\(name) is shown") }
        answers.append(StoreCoder.encodeOutcome(.records([ZoneModificationResult(deletions: [error])])))
        // A guess of what records refer to.
        let reference = FieldValue.reference(.init(recordName: name, deletesSelf: false))
        for type in ["Note", Names.shareType] {
            let run = try database.startQuery(
                Query(recordType: type, predicate: .comparison(.parent, .equal, reference)), zone: Desk.zone,
                caller: desk.caller)
            while !run.step() {}
            #expect(run.results?.matches.isEmpty == true, "\(name)")
        }
        return answers
    }

    @Test(
        "are answered as names that nobody took, byte for byte, whatever is tried with them",
        arguments: [
            (Share.Permission.readOnly, ShareParticipant.Role.privateUser), (.readWrite, .privateUser),
            (.readWrite, .administrator),
        ])
    func names(permission: Share.Permission, role: ShareParticipant.Role) throws {
        for name in ["folder", "diary", "gone"] { try owner.save(name) }
        try owner.save("page", parent: .set("diary"))
        try shared.admit([guest], toRecord: "a", role: role, permission: permission, parent: "folder")
        try owner.save("item", parent: .set("a"))
        try shared.admit([other], toRecord: "b")
        try owner.save("sheet", parent: .set("b"))
        try owner.save("refers", ["of": Reference.cascading(to: "item")])
        #expect(owner.modify(deletions: ["gone"]).result.deletionCodes == [nil])
        let expected = try answers(about: "never", to: desk)
        for name in ["folder", "diary", "page", "refers", "b", "sheet", "s-b", "gone"] {
            let told = try answers(about: name, to: desk)
            for (index, (answer, expected)) in zip(told, expected).enumerated() {
                #expect(answer == expected, "\(name), request \(index)")
            }
        }
        #expect(try Set(desk.changes(since: nil).live) == ["a", "item", "s-a"])
    }

    @Test("have taken their names, which is told in the same words of a record, a root and a share")
    func takenNames() throws {
        try shared.admit([guest], toRecord: "a")
        try shared.admit([other], toRecord: "b")
        for name in ["diary", "shelf"] { try owner.save(name) }
        shared.fill("shelf", count: 600)
        for policy: SavePolicy in [.ifServerRecordUnchanged, .changedKeys, .allKeys] {
            for name in ["diary", "b", "s-b", "shelf"] {
                let done = desk.modify(policy: policy, saves: [.of(name, parent: .set("a"))])
                #expect(done.result.saves.map(\.error) == [ZoneBatch.takenName] && done.commit == nil, "\(name)")
            }
        }
        #expect(ZoneBatch.takenName.code == .permissionFailure && ZoneBatch.takenName.serverRecord == nil)
    }

    @Test("have taken their names, which is told in the same words whatever stands below them")
    func takenNameOfLargeTree() throws {
        try shared.admit([guest], toRecord: "a")
        for name in ["diary", "shelf"] { try owner.save(name) }
        try owner.save("box", parent: .set("shelf"))
        shared.fill("box", count: StoreLimits.movedRecordsPerRequest + 1)
        for name in ["diary", "shelf"] {
            let done = desk.modify(saves: [.of(name, parent: .set("a"))])
            #expect(done.result.saves.map(\.error) == [ZoneBatch.takenName] && done.commit == nil, "\(name)")
        }
    }

    @Test("tell nothing more when as many names were guessed as may be, and neither do names that are free")
    func manyGuesses() throws {
        try shared.admit([guest], toRecord: "a")
        for name in ["diary", "plans", "letters"] { try owner.save(name) }
        let request = ModifyRecordsRequest<CheckedFields>(
            database: .shared, isAtomic: false,
            zones: [
                ZoneModification(
                    zone: Desk.zone,
                    saves: ["a1", "diary", "a2", "plans", "letters", "a3", "a"].map {
                        .of(
                            $0, tag: $0 == "a" ? desk.record("a")!.system.changeTag : "",
                            parent: $0 == "a" ? .unchanged : .set("a"))
                    })
            ])
        let room = TakenNameRoom(left: 2, retryAfterMilliseconds: 1_000)
        let done = database.modifyRecords(
            request, caller: desk.caller, nowMilliseconds: 5_000, takenNames: room)
        let errors = done.answer[0].saves.map(\.error)
        #expect(errors.prefix(4) == [nil, ZoneBatch.takenName, nil, ZoneBatch.takenName])
        #expect(errors[4]?.code == .requestRateLimited && errors[4]?.retryAfterMilliseconds == 1_000)
        #expect(errors[5] == errors[4] && errors[6] == nil, "a free name is answered alike, a known record is saved")
        #expect(TakenNameRoom.count(in: done.answer) == 2)
        #expect(owner.modify(saves: [.of("a4", parent: .set("a"))]).commit != nil)
    }

    @Test("tell nothing by what a request puts below their names while its saves of them fail")
    func belowGuesses() throws {
        try shared.admit([guest], toRecord: "a")
        #expect(desk.modify(saves: [.of("item", parent: .set("a"))]).commit != nil)
        try owner.save("diary")
        let tag = try #require(desk.record("item")).system.changeTag
        func answers(about name: String, isAtomic: Bool, left: Int) -> [[ServiceError?]] {
            let guess = RecordSave<CheckedFields>.of(name, tag: "never", parent: .set("a"))
            let below: [RecordSave<CheckedFields>] = [
                .of("new", parent: .set(name)), .of("item", tag: tag, parent: .set(name)),
            ]
            return (below.map { [$0] } + [below]).flatMap { below in [[guess] + below, below + [guess], below] }.map {
                let request = ModifyRecordsRequest<CheckedFields>(
                    database: .shared, isAtomic: isAtomic, zones: [ZoneModification(zone: Desk.zone, saves: $0)])
                let done = database.modifyRecords(
                    request, caller: desk.caller, nowMilliseconds: 5_000,
                    takenNames: TakenNameRoom(left: left, retryAfterMilliseconds: 1_000))
                #expect(done.commit == nil)
                return done.answer[0].saves.map(\.error)
            }
        }
        for (isAtomic, left) in [(true, 60), (true, 0), (false, 60), (false, 0)] {
            let (free, taken) = (
                answers(about: "free", isAtomic: isAtomic, left: left),
                answers(about: "diary", isAtomic: isAtomic, left: left)
            )
            #expect(free == taken, "atomic: \(isAtomic), \(left) left")
        }
    }

    // MARK: Counts

    @Test("count for nothing where a participant refers to what they refer to, or deletes it")
    func referrers() throws {
        try shared.admit([guest], toRecord: "a")
        for name in ["item", "next"] { try owner.save(name, parent: .set("a")) }
        let count = Limits.cascadeReferencesPerTarget
        for start in stride(from: 0, to: count, by: 250) {
            let saves = (start..<start + 250).map { number in
                RecordSave<CheckedFields>.of("r\(number)", ["of": Reference.cascading(to: "item")])
            }
            #expect(owner.modify(saves: saves).commit != nil)
        }
        let reference = ["of": Reference.cascading(to: "item") as FieldValue?]
        #expect(owner.modify(saves: [.of("one more", reference)]).result.saveCodes == [.limitExceeded])
        #expect(desk.modify(saves: [.of("mine", reference, parent: .set("a"))]).result.saveCodes == [nil])
        #expect(desk.modify(deletions: ["item"]).result.deletionCodes == [nil])
        #expect(owner.record("item") == nil && owner.record("mine") == nil)
        #expect(owner.record("r0") != nil && owner.record("r\(count - 1)") != nil, "they refer to nothing now")
        shared.expectSound()
    }

    @Test("go with what a participant deletes as far as they may write, and keep no parent from it")
    func cascades() throws {
        try shared.admit([guest], toRecord: "a")
        try shared.admit([guest], toRecord: "read", permission: .readOnly)
        try shared.admit([other], toRecord: "b")
        try owner.save("item", parent: .set("a"))
        let reference = ["of": Reference.cascading(to: "item")]
        try owner.save("mine", reference, parent: .set("a"))
        try owner.save("second", ["of": Reference.cascading(to: "mine")], parent: .set("a"))
        try owner.save("readable", reference, parent: .set("read"))
        try owner.save("others", reference, parent: .set("b"))
        try owner.save("diary", reference)
        try owner.save("behind", ["of": Reference.cascading(to: "diary")], parent: .set("a"))
        // Another share's root, whose own parent is in this one.
        #expect(owner.modify(policy: .changedKeys, saves: [.of("b", parent: .set("item"))]).commit != nil)
        #expect(desk.modify(deletions: ["item"]).result.deletionCodes == [nil])
        for name in ["item", "mine", "second"] { #expect(owner.record(name) == nil, "\(name)") }
        for name in ["readable", "others", "diary", "behind", "b", "read"] {
            #expect(owner.record(name) != nil, "\(name)")
        }
        #expect(owner.record("b")?.share == "s-b")
        shared.expectSound()
    }

    // MARK: Batches

    @Test("come into no batch: one that moves a participant's records with others below them is done whole or not")
    func moves() throws {
        try shared.admit([guest], toRecord: "a")
        for name in ["x", "y", "z"] { try owner.save(name, parent: .set("a")) }
        try owner.save("below", parent: .set("x"))
        let tree = desk.modify(
            policy: .changedKeys, isAtomic: false, saves: [.of("x", parent: .set("y")), .of("stray"), .of("z")])
        #expect(tree.result.saveCodes == [.batchRequestFailed, .permissionFailure, .batchRequestFailed])
        let chain = desk.modify(
            policy: .changedKeys, isAtomic: false,
            saves: [.of("y", parent: .set("z")), .of("z", parent: .set("x")), .of("stray")])
        #expect(chain.result.saveCodes == [.batchRequestFailed, .batchRequestFailed, .permissionFailure])
        #expect(tree.commit == nil && chain.commit == nil)
        let single = desk.modify(
            policy: .changedKeys, isAtomic: false, saves: [.of("z", parent: .set("y")), .of("stray")])
        #expect(single.result.saveCodes == [nil, .permissionFailure], "a record with nothing below it goes alone")
        let whole = desk.modify(policy: .changedKeys, isAtomic: false, saves: [.of("x", parent: .set("y"))])
        #expect(whole.result.saveCodes == [nil])
    }

    // MARK: The feed

    @Test("change without a word: no token, first fetch's token, page or tag of a participant is another afterwards")
    func silence() throws {
        for name in ["folder", "diary", "old"] { try owner.save(name) }
        try shared.admit([guest], toRecord: "a", parent: "folder")
        try owner.save("item", parent: .set("a"))
        try shared.admit([other], toRecord: "b")
        let (caller, token) = (desk.caller, try desk.changes(since: nil, limit: 1).token)
        func all() throws -> [String] {
            var answers = try [nil, token].map { token in
                let page = try database.zoneChanges(
                    zone: Desk.zone, since: token, resultsLimit: 0, desiredKeys: nil, caller: caller)
                return "\(page.records.map(\.array)) \(page.deletions) \(page.token) \(page.moreComing)"
            }
            answers.append("\(database.firstFetchToken(of: Desk.zone, for: caller)!)")
            answers.append("\(database.zone(ZoneID(name: "notes", owner: Desk.sharer), for: caller))")
            answers += ["a", "item", "s-a"].map { "\(desk.bytes($0)!)" }
            return answers
        }
        let before = try all()
        owner.makeZone("work")
        try owner.save("x", in: ZoneID(name: "work"))
        try owner.save("x", in: .defaultZone)
        _ = owner.deleteZone("work")
        #expect(owner.modify(policy: .changedKeys, saves: [.of("folder", ["n": .int64(1)])]).commit != nil)
        #expect(owner.modify(deletions: ["old"]).result.deletionCodes == [nil])
        try owner.save("sheet", parent: .set("b"))
        try shared.admit([other], toRecord: "c")
        #expect(owner.modify(deletions: ["s-b"]).result.deletionCodes == [nil])
        #expect(shared.desk(of: other).modify(deletions: ["s-c"]).result.deletionCodes == [nil])
        try owner.save("refers", ["of": Reference.cascading(to: "item")])
        #expect(try all() == before)
        try owner.save("last", parent: .set("a"))
        #expect(try all() != before)
    }
}
