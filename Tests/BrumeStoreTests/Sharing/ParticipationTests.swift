import BrumeModel
import BrumeRecord
import BrumeTestKit
import Testing

@testable import BrumeStore

/// How users come to take part in a zone that is shared as a whole (Documentation/CloudKit.md, Sharing).
@Suite("The share of a zone")
struct ParticipationTests {
    private static let email = Handle.email("guest@example.com")
    private static let key = "cloudkit.title"

    private let shared = SharedDesk()
    private let guest = SharedDesk.guest
    private let other = SharedDesk.other
    private let stranger = SharedDesk.stranger

    private var database: Database { shared.database }
    private var share: Record? { shared.owner.record(Names.zoneShare) }

    // MARK: Accepted

    @Test("is answered as it is after the acceptance, also when others were invited since anybody was told of a change")
    func acceptedLater() throws {
        try shared.admit(guest)
        shared.invite(other)
        let decision = try shared.accept(other)
        #expect(decision.answer.share.share.array == shared.desk(of: other).bytes(Names.zoneShare))
        var leaving = ShareEdit()
        leaving.removals = ["for \(other)"]
        let left = shared.desk(of: other).modify(
            saves: [
                .of(
                    Names.zoneShare, type: Names.shareType,
                    tag: Record(stored: decision.answer.share.share).system.changeTag)
            ], shares: [Names.zoneShare: ShareSave(edit: leaving)])
        #expect(left.result.saveCodes == [nil])
    }

    @Test("is accepted by a user who was invited, which gives it another tag and tells the owner's devices")
    func accepted() throws {
        shared.share(fields: [Self.key: .string("Groceries")])
        shared.invite(guest, other)
        let (before, token) = (try #require(share), try shared.owner.changes(since: nil).token)
        #expect(database.zonesWithMembers.isEmpty && database.starts(inZoneNamed: "notes").isEmpty)

        let decision = try shared.accept(guest)
        let commit = try #require(decision.commit)
        let incarnation = try #require(database.incarnation(of: Desk.zone))
        let start = ChangePosition(sequence: commit.sequence, index: 0)
        #expect(commit.sequence == database.sequence && commit.entry.committedMilliseconds == 3000)
        #expect(
            commit.zones == [
                TouchedZone(
                    zone: Desk.zone, incarnation: incarnation, recordTypes: [Names.shareType], isNew: false,
                    isDeleted: false)
            ])
        let id = ZoneID(name: "notes", owner: Desk.sharer)
        #expect(decision.answer.news.zone?.id == id && decision.answer.news.zone?.incarnation == incarnation)
        #expect(decision.answer.news.zone?.start == start && decision.answer.news.sequence == start.sequence)
        #expect(decision.answer.share.zone == id)

        let after = try #require(share)
        #expect(after.system.changeTag != before.system.changeTag)
        #expect(after.system.modifier == guest && after.system.modifiedMilliseconds == 3000)
        #expect(after.system.creator == Desk.sharer && after.fields == before.fields)
        #expect(try shared.details().participants.map(\.isAccepted) == [true, true, false])
        #expect(try shared.owner.changes(since: token).live == [Names.zoneShare])
        #expect(Record(stored: decision.answer.share.share).system == after.system)

        #expect(database.zonesWithMembers == ["notes"])
        #expect(database.starts(inZoneNamed: "notes") == [guest: start])
        #expect(database.start(of: guest, inZoneNamed: "notes") == start)
        #expect(database.start(of: other, inZoneNamed: "notes") == nil)
        let news = database.news(of: guest, about: AskedZone(owner: Desk.sharer, incarnation: incarnation))
        #expect(news.zone?.id.name == "notes" && news.zone?.start == start)
    }

    @Test("shows whoever accepts the owner, those who take part without their handles, and themselves with theirs")
    func shownToParticipants() throws {
        shared.share { edit in
            edit.allowsAccessRequests = true
            edit.puts = [
                .init(id: "a", invitee: .handle(.email("other@example.com")), permission: .readOnly),
                .init(id: "b", invitee: .handle(Self.email), permission: .readWrite),
                .init(id: "c", invitee: .handle(.phone("+4930")), permission: .readOnly),
            ]
        }
        _ = try database.requestAccess(
            shared.link(), by: ShareVisitor(user: stranger, handles: []), nowMilliseconds: 1)
        try shared.accept(other, handles: [.email("other@example.com")])
        let answer = try shared.accept(guest, handles: [Self.email]).answer.share.share
        let shown = try #require(Record(stored: answer).shareDetails)
        #expect(shown.participants.map(\.user) == [Desk.sharer, other, guest])
        #expect(shown.participants.map(\.handle) == [nil, nil, Self.email])
        #expect(shown.participants.allSatisfy(\.isAccepted) && shown.requesters.isEmpty)
        #expect(answer.array == shared.desk(of: guest).bytes(Names.zoneShare))
        let own = try shared.details()
        #expect(own.participants.map(\.id) == [Desk.sharer, "a", "b", "c"] && own.requesters.map(\.user) == [stranger])
        #expect(own.participants[1].handle == .email("other@example.com"))
        let part = answer.withUnsafeBytes { StoredRecord.sharing(of: $0) }
        #expect(part.storedShare.isEmpty && part.secret.isEmpty)
    }

    @Test("that is accepted twice stays as it is, and another invitation extends the part that the user has")
    func twice() throws {
        shared.invite(guest, permission: .readOnly)
        let first = try shared.accept(guest)
        let again = try shared.accept(guest)
        #expect(again.commit == nil && database.sequence == first.commit?.sequence)
        #expect(again.answer.news == first.answer.news)
        #expect(again.answer.share == first.answer.share)

        shared.share { $0.puts = [.init(id: "h", invitee: .handle(Self.email), permission: .readWrite)] }
        let tag = share?.system.changeTag
        let more = try shared.accept(guest, handles: [Self.email])
        #expect(more.commit != nil && share?.system.changeTag != tag)
        #expect(more.answer.news.start == first.answer.news.start, "it is the same part, and tokens stay good")
        #expect(try shared.details().participants.map(\.permission) == [.readWrite, .readWrite])
    }

    @Test("with a public permission is accepted by whoever has the URL, each under an id of their own")
    func welcome() throws {
        shared.share { $0.publicPermission = .readOnly }
        for user in [guest, other] { #expect(try shared.accept(user).commit != nil) }
        let came = try shared.details().participants.dropFirst()
        #expect(came.map(\.user) == [guest, other] && came.allSatisfy { $0.isAccepted && $0.role == .publicUser })
        #expect(came.allSatisfy { $0.permission == .readOnly })
        #expect(Set(came.map(\.id)).count == 2)
        #expect(came.allSatisfy { $0.id.count == 32 && $0.id.allSatisfy(\.isHexDigit) })
    }

    @Test("for whoever comes first is theirs, and nobody else's after them")
    func oneTime() throws {
        shared.share { $0.puts = [.init(id: "first", invitee: .oneTime, permission: .readWrite)] }
        var link = try shared.link()
        let slot = try #require(database.zoneStates[1].sharing.shares[Names.zoneShare])
        guard case .oneTime(let secret)? = database.zoneStates[1][slot].share?.participants.first?.invitees.first else {
            throw TestFailure("there is no invitation for whoever comes first")
        }
        #expect(try shared.refusal(of: guest, through: link)?.code == .unknownItem, "the share's own URL is not enough")
        link.oneTimeSecret = secret
        #expect(try shared.accept(guest, through: link).commit != nil)
        #expect(try shared.refusal(of: other, through: link)?.code == .unknownItem)
        #expect(Array(database.starts(inZoneNamed: "notes").keys) == [guest])
    }

    // MARK: Refused

    @Test("is refused to strangers as a URL that leads nowhere is, to its owner, and to nobody else's handles")
    func refusals() throws {
        shared.invite(guest)
        let nowhere = Share.unknownURL
        #expect(try shared.refusal(of: Desk.sharer)?.code == .invalidArguments)
        #expect(try shared.refusal(of: stranger) == nowhere && nowhere.code == .unknownItem)
        for change: (inout ShareLink) -> Void in [
            { $0.secret[0] ^= 1 }, { $0.secret = [] }, { $0.zone += 1 }, { $0.zone = 0 }, { $0.oneTimeSecret = [1] },
        ] {
            var link = try shared.link()
            change(&link)
            #expect(try shared.refusal(of: guest, through: link) == nowhere)
        }
        shared.share { $0.puts = [.init(id: "h", invitee: .handle(Self.email), permission: .readOnly)] }
        #expect(try shared.refusal(of: stranger)?.code == .participantMayNeedVerification)
        #expect(
            try shared.refusal(of: stranger, handles: [.phone("+4930")])?.code == .participantMayNeedVerification)
        #expect(database.zonesWithMembers.isEmpty)
        #expect(shared.owner.modify(deletions: [Names.zoneShare]).result.deletionCodes == [nil])
        #expect(try shared.refusal(of: guest) == nowhere, "the share has ended")
    }

    @Test("that has as many participants as it may is refused to one more, and to nobody who takes part")
    func full() throws {
        shared.share { $0.publicPermission = .readOnly }
        for number in 1...Limits.participantsPerShare { try shared.accept(RandomShare.user(number)) }
        let last = RandomShare.user(Limits.participantsPerShare + 1)
        #expect(try shared.refusal(of: last)?.code == .tooManyParticipants)
        #expect(try shared.refusal(of: guest) == nil)
        #expect(shared.desk(of: guest).modify(deletions: [Names.zoneShare]).result.deletionCodes == [nil])
        #expect(try shared.refusal(of: last) == nil)
    }

    @Test("of a single record opens what stands below it, and nothing else, to whoever was invited")
    func singleRecord() throws {
        let saved = shared.owner.modify(
            saves: [
                .of("share", type: Names.shareType), .of("list"), .of("item", parent: .set("list")), .of("diary"),
            ], shares: ["share": ShareSave(root: "list", edit: Self.inviting(guest))])
        #expect(saved.result.saveCodes == [nil, nil, nil, nil])
        let state = database.zoneStates[1]
        let root = try #require(state.liveSlot(of: "list"))
        let secret = try #require(state[root].sharing).secret
        let link = ShareLink(zone: state.incarnation, secret: secret)
        #expect(try shared.refusal(of: stranger, through: link) == Share.unknownURL)
        #expect(try shared.refusal(of: Desk.sharer, through: link)?.code == .invalidArguments)
        #expect(database.zonesWithMembers.isEmpty)
        let accepted = try shared.accept(guest, through: link)
        #expect(accepted.answer.share.zone == ZoneID(name: "notes", owner: Desk.sharer))
        #expect(database.zonesWithMembers == ["notes"])
        let desk = shared.desk(of: guest)
        #expect(Set(try desk.changes(since: nil).live) == ["share", "list", "item"])
        #expect(desk.record("diary") == nil && desk.record("item")?.system.parent == "list")
    }

    private static func inviting(_ user: String) -> ShareEdit {
        var edit = ShareEdit()
        edit.puts = [.init(id: "for \(user)", invitee: .user(user), permission: .readWrite)]
        return edit
    }
}
