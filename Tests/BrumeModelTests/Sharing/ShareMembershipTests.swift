import BrumeModel
import Testing

@Suite("Who comes to a share")
struct ShareMembershipTests {
    private typealias Sample = SampleShare
    private let owner = Sample.owner
    private let ada = Sample.user(1)
    private let bob = Sample.user(2)
    private let eve = Sample.user(3)
    private let email = Handle(email: "ada@example.com")!
    private let phone = Handle(phone: "+49 30 1234567")!
    private let otherSecret = [UInt8](repeating: 8, count: Share.secretByteCount)

    @Test("an invitation by handle is for whoever has the handle, and theirs for good once they accepted")
    func handles() throws {
        let sample = Sample()
        try sample.invite(.handle(email), id: "p", .readWrite)
        #expect(sample.share.permission(ofUser: ada) == .none, "an invitation grants nothing yet")
        guard case .invited = sample.standing(ada, handles: [phone, email]) else {
            Issue.record("who has the handle is invited")
            return
        }
        #expect(try sample.accept(ada, handles: [email]))
        #expect(sample.share.permission(ofUser: ada) == .readWrite)
        // The handle went to another account since.
        #expect(sample.standing(bob, handles: [email]) == .stranger)
        #expect(try !sample.accept(ada), "accepting twice is no change")
        #expect(sample.share.participants.count == 1)
    }

    @Test("whoever was not invited is answered as for a URL that never was, unless somebody was invited by a handle")
    func strangers() throws {
        let sample = Sample()
        try sample.invite(.user(bob), id: "b")
        #expect(sample.standing(ada) == .stranger)
        #expect(sample.standing(ada, through: otherSecret) == .stranger)
        #expect(sample.standing(bob, through: otherSecret) == .stranger, "an invitation needs the URL")
        #expect(code { try sample.accept(ada) } == .unknownItem)
        try sample.invite(.handle(email), id: "e")
        #expect(sample.standing(eve, handles: [phone]) == .mayNeedVerification)
        #expect(
            code { try sample.accept(eve, handles: [phone]) }
                == .participantMayNeedVerification)
        // Accepted, it leads nobody to believe that it could be theirs.
        try sample.accept(ada, handles: [email])
        #expect(sample.standing(eve) == .stranger)
        #expect(sample.share.participants.count == 2)
    }

    @Test("the owner's own share is not accepted")
    func own() throws {
        let sample = Sample()
        try sample.edit { $0.publicPermission = .readWrite }
        #expect(sample.standing(owner) == .owner)
        #expect(code { try sample.accept(owner) } == .invalidArguments)
        #expect(sample.share.participants.isEmpty)
    }

    @Test("several invitations of one user become one participant with the most of each, so that a removal takes all")
    func severalInvitations() throws {
        let sample = Sample()
        try sample.invite(.handle(email), id: "e", .readOnly)
        try sample.invite(.handle(phone), id: "p", .readWrite)
        try sample.invite(.user(ada), id: "u", role: .administrator, .readOnly)
        try sample.invite(.user(bob), id: "b", .readOnly)
        guard case .invited(let shown) = sample.standing(ada, handles: [phone, email]) else {
            Issue.record("she is invited")
            return
        }
        #expect(shown.permission == .readWrite && shown.role == .administrator, "she is shown what she will get")
        try sample.accept(ada, handles: [phone, email])
        #expect(sample.share.participants.map(\.id) == ["e", "b"])
        #expect(sample.share.permission(ofUser: ada) == .readWrite)
        #expect(sample.share.participants[0].role == .administrator)
        #expect(sample.share.participants[0].invitees == [.handle(email), .handle(phone), .user(ada)])
        // Known by each of the names that she was invited by.
        try sample.invite(.user(ada), id: "again", .readOnly)
        #expect(sample.share.participants.map(\.id) == ["e", "b"])
        #expect(sample.share.permission(ofUser: ada) == .readOnly)
        try sample.edit { $0.removals = ["e"] }
        #expect(sample.standing(ada, handles: [phone, email]) == .stranger)
    }

    @Test("an invitation of somebody who takes part already is theirs to accept, and goes when they leave")
    func laterInvitations() throws {
        let sample = Sample()
        try sample.invite(.handle(email), id: "e", .readOnly)
        try sample.accept(ada, handles: [email, phone])
        try sample.invite(.handle(phone), id: "p", .readWrite)
        #expect(sample.share.permission(ofUser: ada) == .readOnly)
        #expect(try sample.accept(ada, handles: [email, phone]))
        #expect(sample.share.participants.map(\.id) == ["e"] && sample.share.permission(ofUser: ada) == .readWrite)
        try sample.invite(.handle(Handle(email: "ada@work.example")!), id: "w", .readWrite)
        #expect(sample.leave(ada, handles: [Handle(email: "ada@work.example")!]))
        #expect(sample.share.participants.isEmpty)
    }

    @Test(
        "an address that moved to another account invites its new holder, and changes nothing of the former one's part")
    func movedAddress() throws {
        let sample = Sample()
        try sample.invite(.handle(email), id: "p", .readOnly)
        try sample.accept(ada, handles: [email])
        // The operator gives the address to bob.
        try sample.invite(.handle(email), id: "q", role: .administrator, .readWrite)
        #expect(sample.share.permission(ofUser: ada) == .readOnly)
        #expect(try !sample.accept(ada))
        try sample.accept(bob, handles: [email])
        #expect(sample.share.participants.map(\.user) == [ada, bob])
        #expect(sample.share.participants.map(\.role) == [.privateUser, .administrator])
    }

    @Test("with a public permission the URL is enough, and who came by it may do what it says at any time")
    func publicUsers() throws {
        let sample = Sample()
        try sample.edit { $0.publicPermission = .readOnly }
        #expect(sample.standing(ada) == .welcome)
        try sample.accept(ada)
        #expect(sample.share.permission(ofUser: ada) == .readOnly)
        try sample.edit { $0.publicPermission = .readWrite }
        #expect(sample.share.permission(ofUser: ada) == .readWrite)
        #expect(sample.share.participants[0].role == .publicUser)
        try sample.edit { $0.publicPermission = Share.Permission.none }
        #expect(sample.share.permission(ofUser: ada) == .none)
        #expect(sample.standing(ada) == .stranger)
    }

    @Test("a one-time URL is for whoever comes first, and for nobody after")
    func oneTimeURLs() throws {
        let sample = Sample()
        try sample.edit { edit in
            edit.puts = [
                .init(id: "first", invitee: .oneTime, permission: .readWrite),
                .init(id: "second", invitee: .oneTime, permission: .readOnly),
            ]
        }
        let first = try #require(sample.oneTimeSecret(ofParticipant: "first"))
        let second = try #require(sample.oneTimeSecret(ofParticipant: "second"))
        #expect(first != second && sample.share.isOpened(by: first))
        #expect(sample.standing(ada) == .stranger, "the share's own URL does not claim it")
        try sample.accept(ada, through: first)
        #expect(sample.share.permission(ofUser: ada) == .readWrite)
        #expect(sample.standing(bob, through: first) == .stranger)
        #expect(code { try sample.accept(bob, through: first) } == .unknownItem)
        // The answer was lost: she comes again.
        #expect(try !sample.accept(ada, through: first))
        // A participant does not use up another one's URL.
        #expect(try !sample.accept(ada, through: second))
        try sample.accept(bob, through: second)
        #expect(sample.share.participants.map(\.user) == [ada, bob])
        try sample.edit { $0.removals = ["first"] }
        #expect(!sample.share.isOpened(by: first) && sample.standing(ada, through: first) == .stranger)
    }

    @Test("a one-time URL and another invitation of its user become one participant")
    func oneTimeURLOfSomebodyInvited() throws {
        let sample = Sample()
        try sample.invite(.handle(email), id: "e", .readOnly)
        try sample.invite(.oneTime, id: "o", .readWrite)
        let secret = try #require(sample.oneTimeSecret(ofParticipant: "o"))
        try sample.accept(ada, handles: [email], through: secret)
        #expect(sample.share.participants.map(\.id) == ["e"] && sample.share.permission(ofUser: ada) == .readWrite)
    }

    @Test("who has a one-time URL is not shown the share's own, and asks for nothing by it")
    func oneTimeURLsSecret() throws {
        let sample = Sample()
        try sample.invite(.oneTime, id: "o")
        try sample.edit { $0.allowsAccessRequests = true }
        let secret = try #require(sample.oneTimeSecret(ofParticipant: "o"))
        #expect(sample.seen(by: ada, through: secret).secret == secret)
        #expect(sample.seen(by: ada, through: secret).participants.map(\.id) == ["o"])
        try sample.accept(bob, through: secret)
        #expect(sample.requestAccess(ada, through: secret) == .ignored)
        #expect(sample.requestAccess(ada, through: otherSecret) == .ignored)
        #expect(sample.share.requesters.isEmpty)
        try sample.edit { $0.publicPermission = .readWrite }
        #expect(sample.standing(ada, through: secret) == .stranger)
    }

    @Test("who leaves is gone, and comes again only if invited or with a public permission")
    func leaving() throws {
        let sample = Sample()
        try sample.invite(.user(ada), id: "a")
        #expect(!sample.leave(ada), "an invitation is nothing to leave")
        try sample.accept(ada)
        #expect(sample.leave(ada))
        #expect(!sample.leave(ada))
        #expect(sample.share.permission(ofUser: ada) == .none && sample.standing(ada) == .stranger)
        try sample.edit { $0.publicPermission = .readOnly }
        try sample.accept(ada)
        #expect(sample.share.participants.map(\.role) == [.publicUser])
    }

    @Test("the hundredth participant finds room, the next is told that there is none")
    func fullShare() throws {
        let sample = Sample()
        try sample.edit { edit in
            edit.puts = (1..<Limits.participantsPerShare).map {
                .init(id: "p\($0)", invitee: .user(Sample.user($0)), permission: .readOnly)
            }
        }
        try sample.invite(.handle(email), id: "last")
        #expect(
            code { try sample.invite(.handle(phone), id: "more") } == .tooManyParticipants)
        // A change of those who are there needs no room, and goes in whole or not at all.
        try sample.invite(.handle(email), id: "last", .readWrite)
        #expect(
            code {
                try sample.edit { edit in
                    edit.removals = ["p1"]
                    edit.puts = (0..<2).map {
                        .init(id: "n\($0)", invitee: .user(Sample.user(500 + $0)), permission: .readOnly)
                    }
                }
            } == .tooManyParticipants)
        #expect(sample.share.participants.contains { $0.id == "p1" })
        let open = Sample()
        try open.edit { $0.publicPermission = .readOnly }
        for number in 1...Limits.participantsPerShare { try open.accept(Sample.user(number)) }
        #expect(code { try open.accept(Sample.user(1_000)) } == .tooManyParticipants)
    }

    @Test("who asks to take part is noted once, and never learns whether anybody heard")
    func accessRequests() throws {
        let sample = Sample()
        #expect(sample.requestAccess(ada) == .ignored)
        try sample.edit { $0.allowsAccessRequests = true }
        #expect(sample.requestAccess(ada) == .noted)
        #expect(sample.requestAccess(ada) == .ignored)
        #expect(sample.share.requesters == [ShareRequester(user: ada, requestedMilliseconds: 7)])
        try sample.invite(.user(ada), id: "a")
        #expect(sample.share.requesters.isEmpty && sample.share.participants[0].isApprovedRequester)
        #expect(sample.requestAccess(ada) == .alreadyInvited)
        #expect(sample.requestAccess(owner) == .alreadyInvited)
        #expect(sample.requestAccess(bob, through: otherSecret) == .ignored, "without the URL nobody is heard")
        for number in 0..<Limits.requestersPerShare + 5 { sample.requestAccess(Sample.user(100 + number)) }
        #expect(sample.share.requesters.count == Limits.requestersPerShare)
    }

    @Test("a denied user may ask again; a blocked one takes part no longer, and is not heard until unblocked")
    func blocking() throws {
        let sample = Sample()
        try sample.edit { $0.allowsAccessRequests = true }
        sample.requestAccess(ada)
        try sample.edit { [ada] in $0.denials = [ada] }
        #expect(sample.share.requesters.isEmpty)
        #expect(sample.requestAccess(ada) == .noted)
        try sample.invite(.user(eve), id: "e")
        try sample.accept(eve)
        try sample.invite(.user(bob), id: "b")
        try sample.invite(.oneTime, id: "o")
        let oneTime = try #require(sample.oneTimeSecret(ofParticipant: "o"))
        try sample.edit { [ada, eve, bob] in $0.blocks = [ada, eve, bob, ada] }
        #expect(sample.share.participants.map(\.id) == ["o"], "who takes part and who was invited is gone")
        #expect(sample.standing(eve, through: oneTime) == .stranger)
        try sample.invite(.handle(email), id: "h")
        #expect(sample.standing(eve, handles: [email]) == sample.standing(Sample.user(9)))
        #expect(sample.share.blockedUsers == [ada, eve, bob])
        #expect(sample.share.permission(ofUser: eve) == .none && sample.share.requesters.isEmpty)
        #expect(sample.requestAccess(ada) == .ignored)
        try sample.edit { $0.publicPermission = .readWrite }
        #expect(sample.standing(eve) == .stranger && sample.standing(Sample.user(9)) == .welcome)
        try sample.edit { [eve] in $0.unblocks = [eve] }
        #expect(sample.standing(eve) == .welcome)
        // An invitation by name ends a block.
        try sample.edit { $0.publicPermission = Share.Permission.none }
        try sample.invite(.user(ada), id: "a")
        try sample.accept(ada)
        #expect(sample.share.blockedUsers == [bob])
    }
}
