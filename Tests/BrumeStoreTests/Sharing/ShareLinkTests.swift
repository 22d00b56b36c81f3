import BrumeModel
import BrumeRecord
import BrumeTestKit
import Testing

@testable import BrumeStore

/// What whoever has a share's URL is shown, and may ask for (Documentation/CloudKit.md, Sharing).
@Suite("The URL of a share, followed")
struct ShareLinkTests {
    private static let guest = ShareVisitor(user: RandomShare.user(1), handles: [.email("guest@example.com")])
    private static let stranger = ShareVisitor(user: RandomShare.user(2), handles: [.email("stranger@example.com")])

    private let desk = Desk.ofSharer()

    private var zone: ZoneState { desk.database.zoneStates[1] }

    @discardableResult
    private func modify(
        _ saves: [RecordSave<CheckedFields>], _ shares: [String: ShareSave] = [:], deletions: [String] = []
    ) -> ZoneModificationResult<SharedBytes> {
        var modification = ZoneModification(zone: Desk.zone, saves: saves, deletions: deletions)
        modification.shares = shares
        let decision = desk.database.modifyRecords(
            ModifyRecordsRequest(database: .private, zones: [modification]), caller: desk.caller, nowMilliseconds: 2)
        return decision.answer[0]
    }

    /// Shares a list below a folder by an edit.
    private func share(_ edit: (inout ShareEdit) -> Void = { _ in }) throws {
        try desk.save("folder")
        var change = ShareEdit()
        edit(&change)
        let result = modify(
            [
                .of("share", ["cloudkit.title": .string("Groceries"), "note": .string("mine")], type: Names.shareType),
                .of("list", ["title": .string("a"), "more": .int64(1)], type: "List", parent: .set("folder")),
            ], ["share": ShareSave(root: "list", edit: change)])
        #expect(result.saveCodes == [nil, nil])
    }

    private static func inviting(_ invitee: ShareEdit.Put.Invitee) -> (inout ShareEdit) -> Void {
        { $0.puts = [.init(id: "p", invitee: invitee, permission: .readWrite)] }
    }

    private func link(oneTime: Bool = false) throws -> ShareLink {
        let root = try #require(zone.liveSlot(of: "list"))
        let share = try #require(zone.liveSlot(of: "share"))
        var link = ShareLink(zone: zone.incarnation, secret: try #require(zone[root].sharing).secret)
        if oneTime {
            let part = try #require(zone[share].sharing)
            let participant = try #require(part.decodedShare?.participants.first)
            guard case .oneTime(let secret) = participant.invitees[0] else { throw TestFailure("it is none") }
            link.oneTimeSecret = secret
        }
        return link
    }

    @Test("shows the share with the tag that it had before others were invited or blocked")
    func quietChanges() throws {
        try share(Self.inviting(.user(Self.guest.user)))
        let before = try desk.database.shareMetadata(try link(), for: Self.guest, wantsRoot: true, rootKeys: nil)
        for change: (inout ShareEdit) -> Void in [
            { $0.puts = [.init(id: "q", invitee: .oneTime, permission: .readOnly)] },
            { $0.blocks = [Self.stranger.user] },
        ] {
            var edit = ShareEdit()
            change(&edit)
            let tag = try #require(desk.record("share")).system.changeTag
            #expect(
                modify([.of("share", type: Names.shareType, tag: tag)], ["share": ShareSave(edit: edit)]).saveCodes
                    == [nil])
            #expect(desk.record("share")?.system.changeTag != tag)
        }
        let after = try desk.database.shareMetadata(try link(), for: Self.guest, wantsRoot: true, rootKeys: nil)
        #expect(after.share.array == before.share.array)
    }

    private func metadata(
        _ link: ShareLink, _ visitor: ShareVisitor, keys: DesiredKeys? = nil
    ) throws(ServiceError) -> ShareMetadata<SharedBytes> {
        try desk.database.shareMetadata(link, for: visitor, wantsRoot: true, rootKeys: keys)
    }

    private func code(_ link: ShareLink, _ visitor: ShareVisitor) -> ErrorCode? {
        do throws(ServiceError) {
            _ = try metadata(link, visitor)
            return nil
        } catch {
            return error.code
        }
    }

    @Test("shows an invited user its owner, themselves, its title and the shared record, and nothing else")
    func invited() throws {
        try share {
            $0.puts = [
                .init(id: "p", invitee: .handle(.email("guest@example.com")), permission: .readOnly),
                .init(id: "q", invitee: .user(RandomShare.user(7)), permission: .readWrite),
            ]
        }
        let metadata = try metadata(link(), Self.guest, keys: ["title"])
        let share = Record(stored: metadata.share)
        #expect(share.fields == ["cloudkit.title": .string("Groceries")])
        let details = try #require(share.shareDetails)
        #expect(details.participants.map(\.user) == [Desk.sharer, Self.guest.user])
        #expect(details.participants[1].handle == .email("guest@example.com"))
        #expect((metadata.role, metadata.permission, metadata.isAccepted) == (.privateUser, .readOnly, false))
        #expect(metadata.zone == ZoneID(name: "notes", owner: Desk.sharer) && metadata.root == "list")
        let root = Record(stored: try #require(metadata.rootRecord))
        #expect(root.fields == ["title": .string("a")] && root.share == "share")
        #expect(root.system.parent == nil, "what is above the shared record is not theirs to see")
        let part = try #require(metadata.rootRecord).withUnsafeBytes { StoredRecord.sharing(of: $0) }
        #expect(part.secret.isEmpty)
    }

    @Test("leads nowhere for whoever was not invited, and says so when others were by a handle that may be theirs")
    func strangers() throws {
        try share(Self.inviting(.user(Self.guest.user)))
        #expect(code(try link(), Self.guest) == nil)
        #expect(code(try link(), Self.stranger) == .unknownItem)
        modify(
            [.of("share", type: Names.shareType, tag: try #require(desk.record("share")).system.changeTag)],
            [
                "share": ShareSave(
                    edit: edit { $0.puts = [.init(id: "h", invitee: .handle(.phone("+4930")), permission: .readOnly)] })
            ])
        #expect(code(try link(), Self.stranger) == .participantMayNeedVerification)
        #expect(code(try link(), Self.guest) == nil)
        var wrong = try link()
        wrong.secret[0] ^= 1
        #expect(code(wrong, Self.guest) == .unknownItem && code(wrong, owner) == .unknownItem)
        wrong = try link()
        wrong.zone += 1
        #expect(code(wrong, Self.guest) == .unknownItem)
        wrong.zone = 0
        #expect(code(wrong, Self.guest) == .unknownItem)
    }

    private let owner = ShareVisitor(user: Desk.sharer, handles: [])

    private func edit(_ body: (inout ShareEdit) -> Void) -> ShareEdit {
        var edit = ShareEdit()
        body(&edit)
        return edit
    }

    @Test("welcomes everybody where the share has a public permission, and shows the owner all")
    func welcome() throws {
        try share { $0.publicPermission = .readOnly }
        let metadata = try metadata(link(), Self.stranger)
        #expect((metadata.role, metadata.permission, metadata.isAccepted) == (.publicUser, .readOnly, false))
        #expect(Record(stored: metadata.share).shareDetails?.participants.count == 1)
        let own = try self.metadata(link(), owner)
        #expect(own.role == .owner && own.isAccepted && Record(stored: own.share) == desk.record("share"))
        #expect(Record(stored: try #require(own.rootRecord)).system.parent == "folder")
    }

    @Test("that is for whoever comes first leads everybody there, and shows nobody the share's own URL")
    func oneTime() throws {
        try share(Self.inviting(.oneTime))
        let metadata = try metadata(link(oneTime: true), Self.stranger)
        let details = try #require(Record(stored: metadata.share).shareDetails)
        #expect(metadata.permission == .readWrite && details.participants.map(\.user).last == Self.stranger.user)
        let own = try #require(desk.record("share")?.shareDetails)
        #expect(details.url == own.participants[1].oneTimeURL && details.url != own.url)
        #expect(code(try link(), Self.stranger) == .unknownItem)
    }

    @Test("leads nowhere when the share has ended, and again to the next one of its root")
    func ended() throws {
        try share { $0.publicPermission = .readOnly }
        let link = try link()
        modify([], deletions: ["share"])
        #expect(code(link, Self.stranger) == .unknownItem && code(link, owner) == .unknownItem)
        let again = modify(
            [
                .of("next", type: Names.shareType),
                .of("list", type: "List", tag: try #require(desk.record("list")).system.changeTag),
            ], ["next": ShareSave(root: "list", edit: edit { $0.publicPermission = .readWrite })])
        #expect(again.saveCodes == [nil, nil])
        #expect(try metadata(link, Self.stranger).permission == .readWrite)
        modify([], deletions: ["next", "list"])
        #expect(code(link, Self.stranger) == .unknownItem)
        modify([.of("list")])
        #expect(code(link, Self.stranger) == .unknownItem, "another record of the name")
    }

    @Test("of a whole zone shows no record")
    func zoneWide() throws {
        modify(
            [.of(Names.zoneShare, type: Names.shareType)],
            [Names.zoneShare: ShareSave(edit: edit { $0.publicPermission = .readOnly })])
        let secret = desk.database.shareAddresses.secretOfZone(7, zone.incarnation)
        let link = ShareLink(zone: zone.incarnation, secret: secret)
        let metadata = try metadata(link, Self.stranger)
        #expect(metadata.root.isEmpty && metadata.rootRecord == nil && metadata.permission == .readOnly)
        _ = desk.deleteZone("notes")
        #expect(code(link, Self.stranger) == .unknownItem)
    }

    // MARK: Asking

    private func ask(_ visitor: ShareVisitor, _ link: ShareLink? = nil) throws -> Share.AccessRequestOutcome {
        let (outcome, commit) = try desk.database.requestAccess(
            try link ?? self.link(), by: visitor, nowMilliseconds: 77)
        #expect((commit != nil) == (outcome == .noted))
        let audit = desk.database.audit()
        #expect(audit.kept == audit.recounted)
        return outcome
    }

    @Test("lets users ask once, which the owner's devices are told of, and no save of the owner's fails for it")
    func requests() throws {
        try share { $0.allowsAccessRequests = true }
        let before = try #require(desk.record("share"))
        let token = try desk.changes(since: nil).token
        #expect(try ask(Self.guest) == .noted && ask(Self.guest) == .ignored && ask(Self.stranger) == .noted)
        let after = try #require(desk.record("share"))
        #expect(after.shareDetails?.requesters.map(\.user) == [Self.guest.user, Self.stranger.user])
        #expect(after.shareDetails?.requesters.map(\.requestedMilliseconds) == [77, 77])
        #expect(after.system == before.system && after.fields == before.fields)
        #expect(try desk.changes(since: token).live == ["share"])
        let answered = modify(
            [.of("share", type: Names.shareType, tag: before.system.changeTag)],
            [
                "share": ShareSave(
                    edit: edit {
                        $0.puts = [.init(id: "g", invitee: .user(Self.guest.user), permission: .readOnly)]
                        $0.blocks = [Self.stranger.user]
                    })
            ])
        #expect(answered.saveCodes == [nil])
        #expect(desk.record("share")?.shareDetails?.requesters.isEmpty == true)
        #expect(
            try ask(Self.guest) == .alreadyInvited && ask(Self.stranger) == .ignored && ask(owner) == .alreadyInvited)
        #expect(desk.record("share")?.shareDetails?.requesters.isEmpty == true)
    }

    @Test("tells nobody whether there is a share that lets users ask")
    func silence() throws {
        try share()
        #expect(try ask(Self.guest) == .ignored)
        var wrong = try link()
        wrong.secret[19] ^= 1
        #expect(try ask(Self.guest, wrong) == .ignored)
        wrong.zone += 1
        #expect(try ask(Self.guest, wrong) == .ignored)
        #expect(desk.record("share")?.shareDetails?.requesters.isEmpty == true)
    }
}
