import BrumeModel
import Testing

@Suite("Who changes a share, and who sees what of it")
struct ShareEditingTests {
    private typealias Sample = SampleShare
    private let owner = Sample.owner
    private let ada = Sample.user(1)
    private let bob = Sample.user(2)
    private let eve = Sample.user(3)
    private let email = Handle(email: "ada@example.com")!

    /// A share in which ada is an administrator, bob may write, and an address was invited.
    private func sample() throws -> Sample {
        let sample = Sample()
        try sample.invite(.user(ada), id: "a", role: .administrator, .readWrite)
        try sample.invite(.user(bob), id: "b", .readWrite)
        try sample.invite(.handle(Handle(email: "carl@example.com")!), id: "c")
        try sample.accept(ada)
        try sample.accept(bob)
        return sample
    }

    @Test("the owner and administrators change a share, others don't, whatever they may do with its records")
    func editors() throws {
        let sample = try sample()
        #expect(try !sample.edit(by: bob) { _ in }, "a share that is saved unchanged is no change")
        for editor in [bob, eve, ""] {
            #expect(
                code {
                    try sample.edit(by: editor) { $0.publicPermission = .readWrite }
                } == .permissionFailure)
        }
        #expect(try sample.edit(by: ada) { $0.removals = ["b"] })
        #expect(sample.share.permission(ofUser: bob) == .none)
        // Administrators answer until they are none.
        try sample.invite(.user(ada), id: "a", role: .privateUser, .readWrite)
        #expect(
            code { try sample.edit(by: ada) { $0.removals = ["c"] } } == .permissionFailure)
    }

    @Test("a participant may remove themselves, and nobody else with that")
    func removingOneself() throws {
        let sample = try sample()
        #expect(code { try sample.edit(by: bob) { $0.removals = ["b", "c"] } } == .permissionFailure)
        #expect(code { try sample.edit(by: eve) { $0.removals = ["b"] } } == .permissionFailure)
        #expect(
            code {
                try sample.edit(by: bob) {
                    $0.removals = ["b"]
                    $0.allowsAccessRequests = true
                }
            } == .permissionFailure)
        try sample.invite(.handle(email), id: "e")
        #expect(try sample.edit(by: bob, handles: [email]) { $0.removals = ["b"] })
        #expect(sample.share.participants.map(\.id) == ["a", "c"], "what was for them goes with them")
    }

    @Test("who takes part and sends what stays as it is may leave with it, also by taking all from themselves")
    func leavingWithMore() throws {
        for permission in [nil, Share.Permission.none] {
            let sample = try sample()
            let (publicPermission, allows) = (sample.share.publicPermission, sample.share.allowsAccessRequests)
            #expect(try !sample.edit(by: bob) { $0.publicPermission = publicPermission })
            #expect(
                code {
                    try sample.edit(by: bob) { edit in
                        edit.puts = ["b", "c"].map { .init(id: $0, invitee: nil, permission: .none) }
                    }
                } == .permissionFailure)
            #expect(
                try sample.edit(by: bob) { edit in
                    (edit.publicPermission, edit.allowsAccessRequests) = (publicPermission, allows)
                    if let permission {
                        edit.puts = [.init(id: "b", invitee: nil, permission: permission)]
                    } else {
                        edit.removals = ["b"]
                    }
                })
            #expect(!sample.share.participants.map(\.id).contains("b"))
        }
    }

    @Test("nobody changes the owner's part")
    func ownersPart() throws {
        let sample = try sample()
        for editor in [owner, ada] {
            for change: (inout ShareEdit) -> Void in [
                { [owner] in $0.removals = [owner] },
                { [owner] in $0.puts = [.init(id: owner, invitee: nil, permission: .readOnly)] },
                { [owner] in $0.blocks = [owner] },
            ] {
                #expect(code { try sample.edit(by: editor, change) } == .permissionFailure)
            }
            #expect(
                code {
                    try sample.edit(by: editor) { [owner] in
                        $0.puts = [.init(id: "o", invitee: .user(owner), permission: .readOnly)]
                    }
                } == .invalidArguments)
        }
    }

    @Test("a save says what is different: who came meanwhile stays")
    func partialViews() throws {
        let sample = try sample()
        try sample.invite(.user(eve), id: "e")
        try sample.accept(eve)
        // Ada saw the share before eve came, and lowers bob.
        try sample.edit(by: ada) { $0.puts = [.init(id: "b", invitee: nil, permission: .readOnly)] }
        #expect(sample.share.permission(ofUser: eve) == .readOnly)
        #expect(sample.share.permission(ofUser: bob) == .readOnly)
        #expect(try !sample.edit { $0.removals = ["nobody"] }, "who is gone already is no change")
    }

    @Test("adding who is there changes their part, under the id that they have")
    func knownInvitees() throws {
        let sample = try sample()
        try sample.invite(.user(bob), id: "another", .readOnly)
        try sample.invite(.handle(Handle(email: "CARL@example.com")!), id: "third", .readWrite)
        #expect(sample.share.participants.map(\.id) == ["a", "b", "c"])
        #expect(sample.share.participants.map(\.permission) == [.readWrite, .readOnly, .readWrite])
        try sample.edit { $0.puts = [.init(id: "b", invitee: nil, permission: .none)] }
        #expect(sample.share.participants.map(\.id) == ["a", "c"])
    }

    @Test("what can't be is refused whole")
    func refusals() throws {
        let sample = try sample()
        let share = sample.share
        func refusal(_ change: (inout ShareEdit) -> Void) -> ErrorCode? {
            sample.share = share
            let failure = code {
                try sample.edit { edit in
                    edit.allowsAccessRequests = true
                    change(&edit)
                }
            }
            #expect(failure == nil || sample.share == share, "what was refused changed something")
            return failure
        }
        func refusal(ofAdding invitee: ShareEdit.Put.Invitee?, id: String = "x", makesPublic: Bool = false)
            -> ErrorCode?
        {
            refusal { edit in
                if makesPublic { edit.publicPermission = .readOnly }
                edit.puts = [.init(id: id, invitee: invitee, permission: .readOnly)]
            }
        }
        #expect(refusal(ofAdding: nil) == .invalidArguments)
        #expect(refusal(ofAdding: .user(eve), id: "b") == .invalidArguments)
        for user in ["eve", "__defaultOwner__", ""] {
            #expect(refusal(ofAdding: .user(user)) == .invalidArguments)
            #expect(refusal { $0.blocks = [user] } == .invalidArguments)
        }
        for id in ["", String(repeating: "x", count: 256)] {
            #expect(refusal(ofAdding: .user(eve), id: id) == .invalidArguments)
        }
        #expect(refusal(ofAdding: .user(eve), makesPublic: true) == .invalidArguments)
        let publicUser = ShareEdit.Put(id: "x", invitee: .user(eve), role: .publicUser, permission: .readOnly)
        #expect(refusal { $0.puts = [publicUser] } == .invalidArguments)
        let others = (1...3).map { String(repeating: "\u{301}", count: $0) }
        #expect(refusal { $0.removals = others } == .invalidArguments)
        #expect(refusal { $0.denials = others } == .invalidArguments)
        #expect(refusal { $0.unblocks = others } == .invalidArguments)
        #expect(
            refusal { $0.puts = [.init(id: "b", invitee: nil, role: .publicUser, permission: .readOnly)] }
                == .invalidArguments)
        #expect(refusal { $0.puts = [.init(id: "x", invitee: nil, permission: .none)] } == nil)
        let most = Limits.shareChangesPerRequest
        for many in [\ShareEdit.denials, \ShareEdit.unblocks, \ShareEdit.blocks] {
            #expect(
                refusal { edit in
                    edit.removals = ["b"]
                    edit[keyPath: many] = (1...most).map { Sample.user(50 + $0) }
                } == .limitExceeded)
        }
        #expect(
            refusal { edit in
                edit.puts = (0...most).map { .init(id: "x\($0)", invitee: .oneTime, permission: .none) }
            } == .limitExceeded)
        let removals = (0...Limits.shareChangesPerRequest).map { "r\($0)" }
        #expect(refusal { $0.removals = removals } == .limitExceeded)
        #expect(refusal { $0.removals = Array(removals.dropLast()) } == nil)
    }

    @Test("what a save takes away makes room for what it adds, and a public permission that ends for invitations")
    func order() throws {
        let sample = try sample()
        let many = (0..<Limits.participantsPerShare - 3).map {
            ShareEdit.Put(id: "m\($0)", invitee: .user(Sample.user(100 + $0)), permission: .readOnly)
        }
        try sample.edit { $0.puts = many }
        #expect(code { try sample.invite(.oneTime, id: "o") } == .tooManyParticipants)
        try sample.edit { edit in
            edit.removals = ["c"]
            edit.puts = [.init(id: "o", invitee: .oneTime, permission: .readOnly)]
        }
        try sample.edit { $0.publicPermission = .readOnly }
        try sample.accept(eve)
        try sample.edit { edit in
            edit.publicPermission = Share.Permission.none
            edit.puts = [
                .init(id: "n", invitee: .oneTime, permission: .readOnly),
                .init(id: "n", invitee: .oneTime, permission: .readWrite),
            ]
        }
        #expect(sample.share.participants.map(\.id) == ["a", "b", "n"])
        #expect(sample.share.participants[2].permission == .readWrite, "the later of two is what counts")
    }

    @Test("another public permission takes invitations away, but nobody who has accepted")
    func publicPermission() throws {
        let sample = try sample()
        try sample.edit { $0.publicPermission = Share.Permission.none }
        #expect(sample.share.participants.count == 3, "the same permission is no change")
        try sample.edit { $0.publicPermission = .readOnly }
        #expect(sample.share.participants.map(\.id) == ["a", "b"])
        #expect(sample.share.permission(ofUser: bob) == .readWrite)
        try sample.accept(eve)
        #expect(
            code {
                try sample.edit { $0.puts = [.init(id: "public-3", invitee: nil, permission: .readWrite)] }
            } == .invalidArguments)
        // Nobody is invited, but parts can be changed.
        try sample.edit { $0.puts = [.init(id: "b", invitee: nil, permission: .readOnly)] }
        #expect(sample.share.permission(ofUser: bob) == .readOnly)
    }

    @Test("users who are blocked have a limit, with room again for whom is unblocked in the same save")
    func blockedLimit() throws {
        let sample = try sample()
        let users = (0..<Limits.blockedUsersPerShare).map { Sample.user(1_000 + $0) }
        for start in stride(from: 0, to: users.count, by: 200) {
            try sample.edit { $0.blocks = Array(users[start..<start + 200]) }
        }
        #expect(
            code { try sample.edit { [eve] in $0.blocks = [eve] } } == .limitExceeded)
        try sample.edit { [eve] in
            $0.unblocks = [users[0]]
            $0.blocks = [eve]
        }
        #expect(sample.share.blockedUsers.count == Limits.blockedUsersPerShare)
    }

    @Test("managers see all, participants those who accepted, and who has the URL alone sees nobody")
    func views() throws {
        let sample = try sample()
        try sample.invite(.handle(email), id: "e", .readOnly)
        try sample.accept(eve, handles: [email])
        try sample.invite(.oneTime, id: "o")
        try sample.edit {
            $0.allowsAccessRequests = true
            $0.blocks = [Sample.user(77)]
        }
        sample.requestAccess(Sample.user(8))
        #expect(sample.seen(by: owner) == sample.seen(by: ada))
        let all = sample.seen(by: owner)
        #expect(all.participants.map(\.id) == sample.share.participants.map(\.id))
        #expect(all.participants.map(\.invitees) == sample.share.participants.map(\.invitees))
        #expect(all.requesters.count == 1 && all.blockedUsers.count == 1)
        let bobs = sample.seen(by: bob)
        #expect(bobs.participants.map(\.user) == [ada, bob, eve])
        #expect(bobs.participants.map(\.invitees) == [[], [.user(bob)], []])
        #expect(bobs.requesters.isEmpty && bobs.blockedUsers.isEmpty)
        #expect(sample.seen(by: eve).participants.last?.invitees == [.handle(email)])
        let stranger = sample.seen(by: Sample.user(9))
        #expect(stranger.participants.isEmpty && stranger.requesters.isEmpty && stranger.blockedUsers.isEmpty)
        let carl = sample.seen(by: Sample.user(9), handles: [Handle(email: "carl@example.com")!])
        #expect(carl.participants.map(\.id) == ["c"], "who is invited sees themselves")
        for user in [owner, ada, bob, Sample.user(9)] {
            #expect(
                sample.seen(by: user).participants.allSatisfy { $0.acceptance == nil || $0.acceptance == .start },
                "positions tell how often the owner writes")
        }
    }

    @Test("who asked to take part is no news for the others when the owner lets them in")
    func approvedRequesters() throws {
        let sample = try sample()
        try sample.edit { $0.allowsAccessRequests = true }
        sample.requestAccess(eve)
        try sample.invite(.user(eve), id: "e")
        try sample.accept(eve)
        #expect(sample.seen(by: owner).participants.last?.isApprovedRequester == true)
        #expect(sample.seen(by: bob).participants.last?.isApprovedRequester == false)
    }
}
