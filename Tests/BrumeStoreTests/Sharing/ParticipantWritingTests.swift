import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeStore

/// What users write who take part in another's zone, and what they may not (Documentation/CloudKit.md, Sharing).
@Suite("A user who writes into another's zone")
struct ParticipantWritingTests {
    private let shared = SharedDesk()
    private let guest = SharedDesk.guest
    private let other = SharedDesk.other

    private var database: Database { shared.database }

    private func tag(_ name: String) throws -> String { try #require(shared.owner.record(name)).system.changeTag }

    // MARK: Records

    @Test("with the permission to read alone is refused every change, and whatever stands beside it in its batch")
    func readOnly() throws {
        let tag = try shared.owner.save("a", ["n": .int64(1)])
        try shared.admit(guest, permission: .readOnly)
        let desk = shared.desk(of: guest)
        let before = shared.owner.record("a")
        let saves: [RecordSave<CheckedFields>] = [
            .of("new"), .of("a", ["n": .int64(2)], tag: tag), .of("a", ["n": .int64(1)], tag: tag),
            .of("gone", tag: "7"),
            .of("a", ["n": .int64(2)], tag: "old"), .of("a", type: "Other", tag: tag),
        ]
        for policy: SavePolicy in [.ifServerRecordUnchanged, .changedKeys, .allKeys] {
            for save in saves {
                let refused = desk.modify(policy: policy, saves: [save])
                #expect(refused.result.saveCodes == [.permissionFailure] && refused.commit == nil)
                #expect(refused.result.saves[0].error?.serverRecord == nil)
            }
        }
        let whole = desk.modify(saves: [.of("new")], deletions: ["a", "never"])
        #expect(whole.result.saveCodes == [.permissionFailure] && whole.commit == nil)
        #expect(whole.result.deletionCodes == [.permissionFailure, .batchRequestFailed])
        let single = desk.modify(isAtomic: false, saves: [.of("new")], deletions: ["a", "never"], clientToken: [1])
        #expect(single.result.saveCodes == [.permissionFailure] && single.commit == nil)
        #expect(single.result.deletionCodes == [.permissionFailure, nil], "what is missing is deleted")
        #expect(shared.owner.record("a") == before && shared.owner.record("new") == nil)
    }

    @Test("with the permission to write does what the owner does, and is named as who did it")
    func readWrite() throws {
        let tag = try shared.owner.save("a", ["n": .int64(1)])
        try shared.admit(guest)
        let desk = shared.desk(of: guest)
        let (result, commit) = desk.modify(
            saves: [.of("new", parent: .set("a")), .of("a", ["n": .int64(2)], tag: tag)], now: 5000)
        #expect(result.saveCodes == [nil, nil] && commit?.zones.map(\.zone) == [Desk.zone])
        let (new, changed) = (try #require(shared.owner.record("new")), try #require(shared.owner.record("a")))
        #expect(new.system.creator == guest && new.system.modifier == guest && new.system.parent == "a")
        #expect(changed.system.creator == Desk.sharer && changed.system.modifier == guest)
        #expect(changed.fields["n"] == .int64(2) && changed.system.modifiedMilliseconds == 5000)
        #expect(result.saves.map { $0.record?.system } == [new.system, changed.system])
        let stale = desk.modify(saves: [.of("a", ["n": .int64(3)], tag: tag)]).result
        #expect(stale.saveCodes == [.serverRecordChanged])
        #expect(stale.saves[0].error?.serverRecord == shared.owner.bytes("a"))
        #expect(desk.modify(deletions: ["a"]).result.deletionCodes == [.referenceViolation])
        #expect(desk.modify(deletions: ["a", "new"]).result.deletionCodes == [nil, nil])
        #expect(shared.owner.record("a") == nil && shared.owner.record("new") == nil)
        #expect(desk.modify(saves: [.of(guest, type: Names.userRecordType)]).result.saveCodes == [.permissionFailure])
        #expect(desk.modify(.defaultZone, saves: [.of("x")]).result.saveCodes == [.zoneNotFound])
        shared.expectSound()
    }

    @Test("may do what the share says now, in each of the zones of a request")
    func permissionNow() throws {
        let work = ZoneID(name: "work")
        shared.owner.makeZone("work")
        try shared.admit(guest, permission: .readOnly)
        try shared.admit(guest, to: work)
        let desk = shared.desk(of: guest)
        func codes() -> [[ErrorCode?]] {
            let decision = database.modifyRecords(
                ModifyRecordsRequest(
                    database: .shared, savePolicy: .changedKeys,
                    zones: [Desk.zone, work, ZoneID(name: "secret")].map {
                        ZoneModification(zone: ZoneID(name: $0.name, owner: Desk.sharer), saves: [.of("a")])
                    }), caller: desk.caller, nowMilliseconds: 1)
            return decision.answer.map(\.saveCodes)
        }
        #expect(codes() == [[.permissionFailure], [nil], [.zoneNotFound]])
        shared.share { $0.puts = [.init(id: "for \(guest)", invitee: nil, permission: .readWrite)] }
        shared.share(work) { $0.puts = [.init(id: "for \(guest)", invitee: nil, permission: .readOnly)] }
        #expect(codes() == [[nil], [.permissionFailure], [.zoneNotFound]])
        shared.share(work) { $0.removals = ["for \(guest)"] }
        shared.share(work) { $0.publicPermission = .readOnly }
        try shared.accept(guest, in: work)
        #expect(codes() == [[nil], [.permissionFailure], [.zoneNotFound]])
        shared.share(work) { $0.publicPermission = .readWrite }
        #expect(codes() == [[nil], [nil], [.zoneNotFound]])
    }

    @Test("fills the owner's room, and is not told how large that is")
    func quota() throws {
        try shared.owner.save("a")
        try shared.admit(guest)
        let save = { (desk: Desk) in
            database.modifyRecords(
                ModifyRecordsRequest(
                    database: .shared, zones: [ZoneModification(zone: Desk.zone, saves: [.of("new")])]),
                caller: desk.caller, nowMilliseconds: 1,
                quota: StorageQuota(limitBytes: database.quotaBytes)
            ).answer[0].saves[0].error
        }
        let (own, refusal) = (save(shared.owner), try #require(save(shared.desk(of: guest))))
        #expect(own?.code == .quotaExceeded && own?.message.contains(where: \.isNumber) == true)
        #expect(refusal.code == .quotaExceeded && !refusal.message.contains(where: \.isNumber))
    }

    @Test("subscribes to nothing there, and makes no zone")
    func nothingElse() throws {
        try shared.admit(guest, role: .administrator)
        let desk = shared.desk(of: guest)
        let subscriptions = database.modifySubscriptions(
            ModifySubscriptionsRequest(
                database: .shared, saves: [Subscription(id: "s", kind: .zone(Desk.zone, recordType: ""))]),
            caller: desk.caller, nowMilliseconds: 1)
        #expect(subscriptions.commit == nil && database.subscriptions.isEmpty)
        #expect(desk.makeZone("mine") == nil && database.zones.count == 2)
    }

    // MARK: Shares

    private func save(
        _ desk: Desk, fields: [String: FieldValue?] = [:], _ change: (inout ShareEdit) -> Void = { _ in }
    ) throws -> ErrorCode? {
        var edit = ShareEdit()
        change(&edit)
        let saved = desk.modify(
            saves: [
                .of(
                    Names.zoneShare, fields, type: Names.shareType,
                    tag: try #require(desk.record(Names.zoneShare)).system.changeTag)
            ], shares: [Names.zoneShare: ShareSave(edit: edit)])
        shared.expectSound()
        return saved.result.saveCodes[0]
    }

    @Test("changes nothing of the share but their own part in it", arguments: [Share.Permission.readOnly, .readWrite])
    func shareOfParticipant(permission: Share.Permission) throws {
        shared.share(fields: ["cloudkit.title": .string("a")])
        try shared.admit(guest, permission: permission)
        try shared.admit(other)
        shared.invite(SharedDesk.stranger)
        let (desk, before) = (shared.desk(of: guest), shared.owner.record(Names.zoneShare))
        #expect(try save(desk, fields: ["cloudkit.title": .string("b")]) == .permissionFailure)
        #expect(try save(desk, fields: ["cloudkit.title": nil]) == .permissionFailure)
        #expect(
            try save(desk, fields: ["cloudkit.title": nil]) { $0.removals = ["for \(guest)"] } == .permissionFailure)
        for change: (inout ShareEdit) -> Void in [
            { $0.publicPermission = .readWrite }, { $0.removals = ["for \(other)"] },
            { $0.removals = ["for \(guest)", "for \(other)"] }, { $0.removals = [Desk.sharer] },
            { $0.puts = [.init(id: "for \(guest)", invitee: nil, role: .administrator, permission: .readWrite)] },
            { $0.puts = [.init(id: "x", invitee: .user(RandomShare.user(7)), permission: .readOnly)] },
            { $0.allowsAccessRequests = true },
        ] {
            #expect(try save(desk, change) == .permissionFailure)
        }
        let plain = desk.modify(policy: .allKeys, saves: [.of(Names.zoneShare)]).result.saves[0].error
        #expect(plain?.code == (permission == .readOnly ? .permissionFailure : .invalidArguments))
        let shown = desk.bytes(Names.zoneShare)
        let stale = desk.modify(saves: [.of(Names.zoneShare, type: Names.shareType, tag: "old")]).result
        #expect(stale.saveCodes == [.serverRecordChanged] && stale.saves[0].error?.serverRecord == shown)
        let same = desk.modify(
            saves: [.of(Names.zoneShare, type: Names.shareType, tag: desk.record(Names.zoneShare)!.system.changeTag)])
        #expect(same.commit == nil && same.result.saves[0].record == desk.record(Names.zoneShare))
        #expect(shared.owner.record(Names.zoneShare) == before)
        // A device may send all that it has.
        #expect(try save(desk, fields: ["cloudkit.title": .string("a")]) == nil)
        #expect(shared.owner.record(Names.zoneShare) == before)
        #expect(
            try save(desk, fields: ["cloudkit.title": .string("a")]) { $0.removals = ["for \(guest)"] } == nil)
        #expect(Array(database.starts(inZoneNamed: "notes").keys) == [other] && desk.record(Names.zoneShare) == nil)
    }

    @Test(
        "manages the participants and fields of the share as its administrator, who can't end it nor remove the owner")
    func shareOfAdministrator() throws {
        try shared.admit(guest, role: .administrator, permission: .readOnly)
        try shared.admit(other)
        let desk = shared.desk(of: guest)
        #expect(try save(desk, fields: ["cloudkit.title": .string("b")]) == nil)
        #expect(shared.owner.record(Names.zoneShare)?.fields["cloudkit.title"] == .string("b"))
        #expect(shared.owner.record(Names.zoneShare)?.system.modifier == guest)
        #expect(
            try save(desk) { edit in
                edit.removals = ["for \(other)"]
                edit.puts = [.init(id: "x", invitee: .user(SharedDesk.stranger), permission: .readOnly)]
            } == nil)
        #expect(try shared.details().participants.map(\.user) == [Desk.sharer, guest, SharedDesk.stranger])
        #expect(Array(database.starts(inZoneNamed: "notes").keys) == [guest])
        #expect(try save(desk) { $0.removals = [Desk.sharer] } == .permissionFailure)
        #expect(try save(desk) { $0.blocks = [Desk.sharer] } == .permissionFailure)
        #expect(desk.modify(saves: [.of("a")]).result.saveCodes == [.permissionFailure], "they only read the records")
        #expect(desk.modify(deletions: [Names.zoneShare]).result.deletionCodes == [nil])
        #expect(shared.owner.record(Names.zoneShare) != nil && database.zonesWithMembers.isEmpty)
    }

    @Test("invites others as an administrator while another one does: both are there, one after the other")
    func twoAdministrators() throws {
        let (ada, bob) = (shared.desk(of: guest), shared.desk(of: other))
        for user in [guest, other] { try shared.admit(user, role: .administrator, permission: .readOnly) }
        let before = try tag(Names.zoneShare)
        func invite(_ number: Int, by desk: Desk, tag: String) -> (result: ZoneModificationResult<SharedBytes>, Commit?)
        {
            var edit = ShareEdit()
            edit.puts = [.init(id: "n\(number)", invitee: .user(RandomShare.user(number)), permission: .readOnly)]
            return desk.modify(
                policy: .allKeys, saves: [.of(Names.zoneShare, type: Names.shareType, tag: tag)],
                shares: [Names.zoneShare: ShareSave(edit: edit)])
        }
        #expect(invite(5, by: ada, tag: before).result.saveCodes == [nil])
        let late = invite(6, by: bob, tag: before).result
        #expect(late.saveCodes == [.serverRecordChanged])
        let server = Record(stored: try #require(late.saves[0].error?.serverRecord))
        #expect(server.shareDetails?.participants.map(\.user).last == RandomShare.user(5))
        #expect(invite(6, by: bob, tag: server.system.changeTag).result.saveCodes == [nil])
        let users = try shared.details().participants.map(\.user)
        #expect(users == [Desk.sharer, guest, other, RandomShare.user(5), RandomShare.user(6)])
    }

    @Test("makes no share, and the batch in which they would is not done", arguments: [true, false])
    func newShare(isAtomic: Bool) throws {
        try shared.admit(guest, role: .administrator)
        let desk = shared.desk(of: guest)
        let record = desk.modify(
            isAtomic: isAtomic, saves: [.of("share", type: Names.shareType), .of("root")],
            shares: ["share": ShareSave(root: "root")])
        #expect(record.result.saveCodes == [.permissionFailure, .batchRequestFailed] && record.commit == nil)
        #expect(try save(desk) == nil)
        #expect(shared.owner.modify(deletions: [Names.zoneShare]).result.deletionCodes == [nil])
        let zone = desk.modify(
            saves: [.of(Names.zoneShare, type: Names.shareType)], shares: [Names.zoneShare: ShareSave()])
        #expect(zone.result.saveCodes == [.zoneNotFound])
        #expect(shared.owner.record(Names.zoneShare) == nil && shared.owner.record("root") == nil)
    }

    @Test("does not end the share with a record that it refers to")
    func cascade() throws {
        try shared.admit(guest)
        try shared.owner.save("cause")
        #expect(try save(shared.owner, fields: ["of": Reference.cascading(to: "cause")]) == nil)
        let deleted = shared.desk(of: guest).modify(deletions: ["cause"])
        #expect(deleted.result.deletionCodes == [nil] && shared.owner.record("cause") == nil)
        #expect(shared.owner.record(Names.zoneShare) != nil && shared.desk(of: guest).record(Names.zoneShare) != nil)
        shared.expectSound()
        try shared.owner.save("cause")
        #expect(shared.owner.modify(deletions: ["cause"]).result.deletionCodes == [nil])
        #expect(shared.owner.record(Names.zoneShare) == nil, "it falls with what its owner deletes")
    }

    @Test("refers to the share with nothing that would keep its owner from ending it")
    func referrersOfShare() throws {
        try shared.admit(guest)
        try shared.owner.save("mine", ["of": Reference.cascading(to: Names.zoneShare)], parent: .set(Names.zoneShare))
        let desk = shared.desk(of: guest)
        let reference = FieldValue.reference(Reference(recordName: Names.zoneShare, deletesSelf: false))
        for save: RecordSave<CheckedFields> in [
            .of("child", parent: .set(Names.zoneShare)), .of("of", ["of": Reference.cascading(to: Names.zoneShare)]),
        ] {
            let refused = desk.modify(saves: [save])
            #expect(refused.result.saveCodes == [.permissionFailure] && refused.commit == nil)
        }
        try desk.save("plain", ["of": reference])
        let changed = desk.modify(
            policy: .changedKeys, saves: [.of("plain", ["of": Reference.cascading(to: Names.zoneShare)])])
        #expect(changed.result.saveCodes == [.permissionFailure])
        // What is as the owner has made it stays so.
        try desk.save("mine", ["n": .int64(1)], policy: .changedKeys)
        #expect(desk.modify(deletions: ["mine"]).result.deletionCodes == [nil])
        #expect(shared.owner.modify(deletions: [Names.zoneShare]).result.deletionCodes == [nil])
        #expect(shared.owner.record("plain") != nil)
    }

    @Test("does not leave where an interceptor refuses the deletion of the share")
    func interceptor() throws {
        try shared.admit(guest)
        let refusal = ServiceError(.serverRejectedRequest, "nobody leaves today")
        var modification = ZoneModification<CheckedFields>(zone: Desk.zone, deletions: [Names.zoneShare])
        modification.refusedDeletions = [Names.zoneShare: refusal]
        let decision = database.modifyRecords(
            ModifyRecordsRequest(database: .shared, zones: [modification]), caller: shared.desk(of: guest).caller,
            nowMilliseconds: 1)
        #expect(decision.answer[0].deletions == [refusal] && decision.commit == nil)
        #expect(shared.desk(of: guest).record(Names.zoneShare) != nil)
    }
}
