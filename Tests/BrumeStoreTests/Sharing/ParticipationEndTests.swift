import BrumeModel
import BrumeRecord
import BrumeTestKit
import Testing

@testable import BrumeStore

/// How users cease to take part in a zone that is shared as a whole (Documentation/CloudKit.md, Sharing).
@Suite("The share of a zone that ends")
struct ParticipationEndTests {
    @Test("ends in parts where the shares that a user leaves are too large for one commit, and nothing is lost")
    func leftInParts() throws {
        let shared = SharedDesk()
        let guest = SharedDesk.guest
        let desk = shared.desk(of: guest)
        let count = 20
        for number in 0..<count {
            try shared.admit([guest], toRecord: "r\(number)")
            var edit = ShareEdit()
            edit.blocks = (0..<400).map { RandomShare.user(1_000 + $0) }
            for _ in 0..<2 {
                let tag = try #require(shared.owner.record("s-r\(number)")).system.changeTag
                let saved = shared.owner.modify(
                    saves: [.of("s-r\(number)", type: Names.shareType, tag: tag)],
                    shares: ["s-r\(number)": ShareSave(edit: edit)])
                #expect(saved.result.saveCodes == [nil])
                edit.blocks = (0..<400).map { RandomShare.user(2_000 + $0) }
            }
        }
        let names = (0..<count).map { "s-r\($0)" }
        let state = shared.database.zoneStates[1]
        let sizes = names.map { state[state.sharing.shares[$0]!].sharing!.storedShare.count }
        #expect(sizes.reduce(0, +) > StoreLimits.shareBytesLeftPerCommit)
        // Some at a time, as the request that is sent again finds them.
        let first = desk.modify(deletions: names).result
        let done = first.deletionCodes.count { $0 == nil }
        #expect((1..<count).contains(done))
        #expect(first.deletionCodes == (0..<count).map { $0 < done ? nil : .zoneBusy })
        #expect(first.deletions.last??.retryAfterMilliseconds ?? 0 > 0)
        #expect(
            shared.database.zoneStates[1].shares(of: try #require(shared.database.zoneStates[1].member(guest))).count
                == count - done)
        var rounds = 0
        while shared.database.start(of: guest, inZoneNamed: "notes") != nil {
            let decision = desk.deleteZone("notes")
            let codes = decision.answer.deletions.map(\.?.code)
            #expect(codes == [nil] || codes == [.zoneBusy])
            #expect(decision.commit != nil)
            rounds += 1
        }
        #expect((1...3).contains(rounds))
        shared.expectSound()
        #expect(shared.database.zoneStates[1].problemWithTrees == nil)
    }

    private let shared = SharedDesk()
    private let guest = SharedDesk.guest
    private let other = SharedDesk.other
    private let stranger = SharedDesk.stranger

    private var database: Database { shared.database }
    private var share: Record? { shared.owner.record(Names.zoneShare) }

    // MARK: Left

    @Test("is left by whoever deletes the zone, which stays for its owner and for others who take part")
    func leftByZone() throws {
        try shared.owner.save("a")
        try shared.admit(guest, other)
        let (desk, before) = (shared.desk(of: guest), try #require(share))
        let left = desk.deleteZone("notes")
        let commit = try #require(left.commit)
        #expect(left.answer == ModifyZonesResult(deletions: [nil]) && commit.entry.changes.count == 1)
        #expect(commit.zones.map(\.zone) == [Desk.zone] && !commit.zones[0].isDeleted)
        #expect(shared.refusal(of: nil, for: desk)?.code == .zoneNotFound)
        #expect(try shared.details().participants.map(\.user) == [Desk.sharer, other])
        let after = try #require(share)
        #expect(after.system.changeTag != before.system.changeTag && after.system.modifier == guest)
        #expect(shared.owner.record("a") != nil && shared.desk(of: other).record("a") != nil)
        shared.expectSound()
        for user in [guest, stranger] {
            let again = shared.desk(of: user).deleteZone("notes")
            #expect(again.answer == ModifyZonesResult(deletions: [nil]) && again.commit == nil)
        }
        #expect(shared.desk(of: "").deleteZone("notes").answer.deletions.map { $0?.code } == [.notAuthenticated])
        #expect(try shared.refusal(of: guest)?.code == .unknownItem, "the invitation was used")
    }

    @Test("is left with others in one request, each once, whatever zones stand there that the user takes no part in")
    func leftTogether() throws {
        for name in ["work", "secret"] { shared.owner.makeZone(name) }
        try shared.admit(guest)
        try shared.admit(guest, to: ZoneID(name: "work"))
        let names = ["notes", "work", "notes", "secret", "never"]
        let decision = database.modifyZones(
            ModifyZonesRequest(
                database: .shared, saves: [ZoneID(name: "mine", owner: Desk.sharer), Desk.zone],
                deletions: names.map { ZoneID(name: $0, owner: Desk.sharer) }),
            caller: shared.desk(of: guest).caller, nowMilliseconds: 1)
        #expect(decision.answer.deletions == [nil, nil, nil, nil, nil])
        for save in decision.answer.saves {
            guard case .failure(let error) = save else {
                Issue.record("a zone was made in another user's database")
                continue
            }
            #expect(error.code == .permissionFailure)
        }
        #expect(decision.commit?.entry.changes.count == 2 && database.zonesWithMembers.isEmpty)
        #expect(database.zones.map(\.id.name) == ["_defaultZone", "notes", "work", "secret"])
        shared.expectSound()
    }

    @Test(
        "is left by whoever deletes it, and nothing else of the request is done there",
        arguments: [Share.Permission.readOnly, .readWrite])
    func leftByShare(permission: Share.Permission) throws {
        let work = ZoneID(name: "work")
        shared.owner.makeZone("work")
        try shared.admit(guest, to: work)
        try shared.admit(other)
        try shared.admit(guest, permission: permission)
        try shared.owner.save("a")
        let desk = shared.desk(of: guest)
        let sequence = database.sequence
        let decision = database.modifyRecords(
            ModifyRecordsRequest(
                database: .shared, isAtomic: permission == .readOnly,
                zones: [
                    ZoneModification(
                        zone: Desk.zone, saves: [.of("new")], deletions: ["a", Names.zoneShare, "never"]),
                    ZoneModification(zone: work, saves: [.of("b")]),
                ]), caller: desk.caller, nowMilliseconds: 1)
        #expect(decision.answer[0].saveCodes == [.permissionFailure])
        #expect(decision.answer[0].deletionCodes == [.permissionFailure, nil, .permissionFailure])
        #expect(decision.answer[1].saveCodes == [nil])
        #expect(decision.commit?.sequence == sequence + 1 && decision.commit?.entry.changes.count == 2)
        #expect(shared.owner.record("new") == nil && shared.owner.record("a") != nil)
        #expect(shared.owner.record("b", in: work)?.system.creator == guest)
        #expect(Array(database.starts(inZoneNamed: "notes").keys) == [other])
        #expect(try shared.details(for: other).participants.map(\.user) == [Desk.sharer, other])
        shared.expectSound()
        let again = desk.modify(deletions: [Names.zoneShare])
        #expect(again.result.deletionCodes == [.zoneNotFound] && again.commit == nil)
    }

    // MARK: Ended

    @Test("lets go whom its owner or an administrator removes, by whatever edit", arguments: 0..<5)
    func removed(how: Int) throws {
        if how == 4 {
            shared.share { $0.publicPermission = .readWrite }
            for user in [guest, other] { try shared.accept(user) }
        } else {
            try shared.admit(guest, other)
        }
        let desk = shared.desk(of: guest)
        try desk.save("a")
        let token = try desk.changes(since: nil).token
        let editor = how == 1 ? RandomShare.user(3) : Desk.sharer
        if how == 1 { try shared.admit(editor, role: .administrator) }
        let saved = shared.share(by: how == 1 ? shared.desk(of: editor) : nil) { edit in
            switch how {
            case 0, 1: edit.removals = ["for \(guest)"]
            case 2: edit.puts = [.init(id: "for \(guest)", invitee: nil, permission: .none)]
            case 3: edit.blocks = [guest]
            default: edit.publicPermission = Share.Permission.none
            }
        }
        #expect(saved.result.saveCodes == [nil] && saved.commit != nil)
        #expect(shared.refusal(of: token, for: desk)?.code == .zoneNotFound && desk.record("a") == nil)
        #expect(desk.modify(saves: [.of("b")]).result.saveCodes == [.zoneNotFound])
        #expect((shared.desk(of: other).record("a") != nil) == (how != 4))
        #expect(shared.owner.record("a")?.system.creator == guest, "what they made stays")
        #expect(try shared.refusal(of: guest) == Share.unknownURL)
    }

    @Test("lets somebody go in a request that does more, at once and for all of it")
    func removedAmongOthers() throws {
        try shared.admit(guest, other)
        var edit = ShareEdit()
        edit.removals = ["for \(guest)"]
        let tag = try #require(share).system.changeTag
        let (result, commit) = shared.owner.modify(
            saves: [.of("secret"), .of(Names.zoneShare, type: Names.shareType, tag: tag), .of("more")],
            shares: [Names.zoneShare: ShareSave(edit: edit)])
        #expect(result.saveCodes == [nil, nil, nil] && commit?.entry.changes.count == 3)
        #expect(shared.desk(of: guest).record("secret") == nil && shared.desk(of: other).record("secret") != nil)
        shared.expectSound()
        let failed = shared.owner.modify(
            saves: [.of(Names.zoneShare, type: Names.shareType, tag: "old"), .of("x")],
            shares: [Names.zoneShare: ShareSave(edit: edit)])
        #expect(failed.result.saveCodes == [.serverRecordChanged, .batchRequestFailed] && failed.commit == nil)
        #expect(shared.desk(of: other).record("secret") != nil)
    }

    @Test("ends for all when it is deleted, and nobody takes part in the next one of the zone before they accept")
    func deleted() throws {
        try shared.admit(guest, other)
        let former = try #require(database.start(of: guest, inZoneNamed: "notes"))
        let link = try shared.link()
        #expect(shared.owner.modify(deletions: [Names.zoneShare]).result.deletionCodes == [nil])
        #expect(database.zonesWithMembers.isEmpty)
        for user in [guest, other] {
            #expect(shared.refusal(of: nil, for: shared.desk(of: user))?.code == .zoneNotFound)
        }
        shared.invite(guest)
        #expect(database.zonesWithMembers.isEmpty && shared.desk(of: guest).record(Names.zoneShare) == nil)
        let start = try #require(try shared.accept(guest, through: link).answer.news.start)
        #expect(start > former && Array(database.starts(inZoneNamed: "notes").keys) == [guest])
    }

    @Test("ends with its zone, and one that is made again under the name is nobody's but its owner's")
    func zoneDeleted() throws {
        try shared.admit(guest)
        let (desk, link) = (shared.desk(of: guest), try shared.link())
        #expect(shared.owner.deleteZone("notes").answer.deletions == [nil])
        #expect(database.zonesWithMembers.isEmpty && database.starts(inZoneNamed: "notes").isEmpty)
        let news = database.news(of: guest, about: AskedZone(owner: Desk.sharer, incarnation: link.zone))
        #expect(news.zone == nil && news.id.name.isEmpty && news.incarnation == link.zone)
        #expect(shared.refusal(of: nil, for: desk)?.code == .zoneNotFound)
        shared.owner.makeZone("notes")
        shared.invite(guest)
        #expect(shared.refusal(of: nil, for: desk)?.code == .zoneNotFound)
        #expect(try shared.refusal(of: guest, through: link) == Share.unknownURL)
        #expect(try shared.accept(guest).answer.news.incarnation != link.zone)
        #expect(try desk.changes(since: nil).live == [Names.zoneShare])
    }
}
