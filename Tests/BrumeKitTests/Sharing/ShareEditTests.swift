@testable import BrumeKit
import BrumeModel
import BrumeProtocol
import BrumeRandom
import BrumeTestKit
import Testing

@Suite("A save of a share")
struct ShareEditTests {
    private static func user(_ number: Int) -> CKUserIdentity.LookupInfo {
        CKUserIdentity.LookupInfo(userRecordID: CKRecord.ID(recordName: RandomShare.user(number)))
    }

    @Test("says of a new one its root, who is invited, and what it allows")
    func newShare() throws {
        let root = CKRecord(recordType: "List", recordID: .init(recordName: "l", zoneID: ShareSamples.zone))
        let share = CKShare(rootRecord: root)
        let ada = ShareSamples.participant(email: "Ada@Example.com")
        let phone = CKShare.Participant(lookupInfo: .init(phoneNumber: "+49 30 1234567"))
        let bob = CKShare.Participant(lookupInfo: Self.user(2))
        let anyone = CKShare.Participant.oneTimeURLParticipant()
        ada.permission = .readWrite
        phone.role = .administrator
        for participant in [ada, phone, bob, anyone] { share.addParticipant(participant) }
        share.allowsAccessRequests = true
        var edit = ShareEdit()
        edit.allowsAccessRequests = true
        edit.puts = [
            .init(id: ada.participantID, invitee: .handle(.email("ada@example.com")), permission: .readWrite),
            .init(
                id: phone.participantID, invitee: .handle(.phone("+49301234567")), role: .administrator,
                permission: .readOnly),
            .init(id: bob.participantID, invitee: .user(RandomShare.user(2)), permission: .readOnly),
            .init(id: anyone.participantID, invitee: .oneTime, permission: .readOnly),
        ]
        #expect(share.outgoing().shareSave == ShareSave(root: "l", edit: edit))
    }

    @Test("say who is out with them: the users who had accepted, and whom the app has removed in any way")
    func removedUsers() throws {
        func share() throws -> CKShare {
            try ShareSamples.share(
                ShareSamples.view(
                    [
                        ShareSamples.accepted("a", user: 1), ShareSamples.accepted("b", user: 2, role: .publicUser),
                        ShareSamples.invited("c", email: "cid@example.com"),
                    ], publicPermission: .readOnly), context: AnswerContext(currentUser: ShareSamples.owner))
        }
        let cases: [(edit: (CKShare) throws -> Void, users: [Int])] = [
            ({ _ in }, []), ({ $0.allowsAccessRequests = true }, []), ({ $0.publicPermission = .readWrite }, []),
            ({ $0.removeParticipant(try #require($0.participant("a"))) }, [1]),
            ({ $0.removeParticipant(try #require($0.participant("c"))) }, []),
            ({ try #require($0.participant("a")).permission = .none }, [1]),
            ({ $0.publicPermission = .none }, [2]),
        ]
        for (edit, users) in cases {
            let share = try share()
            try edit(share)
            let removed = share.details.current.removed(from: share)
            #expect(removed.departures.named == Set(users.map { RandomShare.user($0) }))
        }
        let new = CKShare(recordZoneID: .default)
        #expect(new.details.current.removed(from: new).departures.named.isEmpty)
    }

    @Test("take out whoever is shown a second time under the name of somebody whom the app removes")
    func removedTwice() throws {
        let view = ShareSamples.view([
            ShareSamples.accepted("a", user: 1), ShareSamples.accepted("b", user: 1),
            ShareSamples.accepted("c", user: 2),
        ])
        let share = try ShareSamples.share(view, context: AnswerContext(currentUser: ShareSamples.owner))
        share.removeParticipant(try #require(share.participant("a")))
        let departures = share.details.current.removed(from: share).departures
        #expect(departures.named == [RandomShare.user(1)])
        #expect(departures.staying.contains(RandomShare.user(2)) && !departures.staying.contains(RandomShare.user(1)))
    }

    @Test("of whoever does not manage the share can only remove themselves, and is refused unsent otherwise")
    func participants() throws {
        func share(_ role: ShareView.Role, asSeenBy user: Int) throws -> CKShare {
            try ShareSamples.share(
                ShareSamples.view([
                    ShareSamples.accepted("a", user: 1, role: role), ShareSamples.accepted("b", user: 2),
                ]), context: AnswerContext(currentUser: RandomShare.user(user)))
        }
        for role in [ShareView.Role.privateUser, .publicUser] {
            let untouched = try share(role, asSeenBy: 1)
            untouched[CKShare.SystemFieldKey.title] = "Theirs"
            #expect(untouched.outgoing().refusal == nil, "what fields they may change the server says")
            let leaving = try share(role, asSeenBy: 1)
            leaving.removeParticipant(try #require(leaving.currentUserParticipant))
            #expect(leaving.outgoing().shareSave?.edit.removals == ["a"])
            let changes: [(CKShare) -> Void] = [
                { $0.removeParticipant($0.participant("b")!) }, { $0.participant("b")!.permission = .readWrite },
                { $0.allowsAccessRequests = true }, { $0.publicPermission = .readOnly },
                { $0.addParticipant(ShareSamples.participant(email: "eve@example.com")) },
            ]
            for change in changes {
                let share = try share(role, asSeenBy: 1)
                change(share)
                #expect(share.outgoing().refusal?.code == .permissionFailure)
            }
        }
        let managed = try share(.administrator, asSeenBy: 1)
        managed.removeParticipant(try #require(managed.participant("b")))
        #expect(managed.outgoing().shareSave?.edit.removals == ["b"])
        let stranger = try share(.administrator, asSeenBy: 7)
        stranger.removeParticipant(try #require(stranger.participant("b")))
        #expect(stranger.outgoing().refusal?.code == .permissionFailure)
    }

    @Test("says what is different and never the list")
    func difference() throws {
        let share = try ShareSamples.share(
            ShareSamples.view(
                [
                    ShareSamples.invited("a", email: "ada@example.com"), ShareSamples.accepted("b", user: 2),
                    ShareSamples.accepted("c", user: 3), ShareSamples.accepted("d", user: 4),
                ], requesters: [5, 6, 7], blocked: [8]))
        share.participant("a")!.permission = .readWrite
        share.participant("b")!.role = .administrator
        share.participant("c")!.permission = .none
        share.removeParticipant(share.participant("d")!)
        share.denyRequesters([share.requesters[0]])
        share.blockRequesters([share.requesters[0]])
        share.unblockIdentities([share.blockedIdentities[0]])
        var edit = ShareEdit()
        edit.puts = [
            .init(id: "a", invitee: nil, permission: .readWrite),
            .init(id: "b", invitee: nil, role: .administrator, permission: .readOnly),
            .init(id: "c", invitee: nil, permission: Share.Permission.none),
        ]
        edit.removals = ["d"]
        edit.denials = [RandomShare.user(5)]
        edit.blocks = [RandomShare.user(6)]
        edit.unblocks = [RandomShare.user(8)]
        #expect(try share.edit() == edit)
        // What is set back is no difference.
        share.participant("a")!.permission = .readOnly
        edit.puts.removeFirst()
        #expect(try share.edit() == edit)
    }

    @Test("says the new public permission, and who goes with it")
    func publicPermission() throws {
        let view = ShareSamples.view([
            ShareSamples.invited("a", email: "ada@example.com"), ShareSamples.accepted("b", user: 2),
        ])
        let share = try ShareSamples.share(view)
        share.publicPermission = .readOnly
        #expect(share.participants.map(\.participantID) == [ShareSamples.owner, "b"])
        #expect(try share.edit().publicPermission == .readOnly)
        share.publicPermission = .none
        var edit = ShareEdit()
        edit.removals = ["a"]
        #expect(try share.edit() == edit)
        let open = try ShareSamples.share(
            ShareSamples.view(
                [ShareSamples.accepted("b", user: 2, role: .publicUser)], publicPermission: .readOnly))
        open.publicPermission = .none
        #expect(try open.edit().publicPermission == Share.Permission.none)
        #expect(open.participants.map(\.role) == [.owner])
    }

    @Test("does not change the owner, and sends an invitation of the owner, which the server refuses")
    func owner() throws {
        let view = ShareSamples.view([ShareSamples.accepted("b", user: 2, role: .administrator)])
        for user in [ShareSamples.owner, RandomShare.user(2)] {
            let share = try ShareSamples.share(view, context: AnswerContext(currentUser: user, origin: nil))
            share.addParticipant(share.owner)
            share.addParticipant(CKShare.Participant(copyOf: share.owner))
            #expect(try share.edit() == ShareEdit())
            let info = CKUserIdentity.LookupInfo(userRecordID: CKRecord.ID(recordName: ShareSamples.owner))
            let invited = try info.participant.get()
            share.addParticipant(invited)
            #expect(try share.edit().puts.map(\.invitee) == [.user(ShareSamples.owner)])
            share.removeParticipant(invited)
            #expect(try share.edit() == ShareEdit())
        }
    }

    @Test("lets in who asked by adding the participant that is looked up for the request")
    func approval() throws {
        let share = try ShareSamples.share(ShareSamples.view(requesters: [5]))
        let participant = try share.requesters[0].participantLookupInfo.participant.get()
        share.addParticipant(participant)
        #expect(try share.edit().puts.map(\.invitee) == [.user(RandomShare.user(5))])
        #expect(try share.edit().denials.isEmpty)
    }

    @Test("is refused in a sentence for what no participant can be")
    func refusals() throws {
        func refusal(_ change: (CKShare) -> Void) -> CKError? {
            let share = CKShare(recordZoneID: ShareSamples.zone)
            change(share)
            let outgoing = share.outgoing()
            if outgoing.refusal != nil { #expect(outgoing.shareSave == nil && share.details.current.isEdited) }
            return outgoing.refusal
        }
        #expect(refusal { _ in } == nil)
        func sentence(_ change: (CKShare.Participant) -> Void) -> String? {
            let error = refusal { share in
                let participant = ShareSamples.participant(email: "ada@example.com")
                change(participant)
                share.addParticipant(participant)
            }
            return error?.code == .invalidArguments ? error?.localizedDescription : nil
        }
        #expect(refusal { $0.publicPermission = .unknown }?.code == .invalidArguments)
        #expect(sentence { $0.role = .owner }?.contains("role is owner") == true)
        #expect(sentence { $0.permission = .unknown }?.contains("permission is unknown") == true)
        #expect(
            refusal { $0.addParticipant(ShareSamples.participant(email: "ada")) }?.localizedDescription
                .contains(Handle.emailForm) == true)
        let plain = CKRecord(recordType: "cloudkit.share", recordID: .init(recordName: "s", zoneID: ShareSamples.zone))
        #expect(plain.outgoing().refusal?.localizedDescription.contains("CKShare(rootRecord:)") == true)
    }

    @Test("reckons with no fewer bytes than it takes")
    func size() throws {
        let share = CKShare(recordZoneID: ShareSamples.zone)
        let plain = share.outgoing().savedBytesMax
        for number in 0..<50 {
            share.addParticipant(ShareSamples.participant(email: "\(String(repeating: "a", count: 40))\(number)@b.c"))
        }
        share.addParticipant(.init(lookupInfo: Self.user(2)))
        #expect(share.outgoing().savedBytesMax - plain >= 50 * (36 + 45))
        let save = try #require(share.outgoing().shareSave)
        let message = CoderPool.with { coder in
            var zone = ZoneModification<DecodedFields>(
                zone: ZoneID(name: "Z"), saves: [RecordSave(name: "s", type: Names.shareType, fields: [:])])
            zone.shares["s"] = save
            return coder.encodeModifyRecordsRequest(ModifyRecordsRequest(database: .private, zones: [zone]))
        }
        #expect(save.encodedBytesMax + 64 >= message.count)
    }

    @Test("gives the server what the app sees, and nothing is left to say after it", arguments: 1...40)
    func random(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var others = RandomShare(seed: seed)
        for _ in 0..<40 { others.step() }
        var server = others.share
        let share = try ShareSamples.share(ShareSamples.view(of: server))
        for round in 1...8 {
            change(share, &random)
            let outgoing = share.outgoing()
            let edit = try #require(outgoing.shareSave).edit
            _ = try server.apply(
                edit, by: ShareVisitor(user: ShareSamples.owner, handles: []), owner: ShareSamples.owner,
                nowMilliseconds: Int64(round)
            ) { (0..<Share.secretByteCount).map { _ in UInt8.random(in: 0...255, using: &random) } }
            let isChangedMeanwhile = random.oneIn(2)
            if isChangedMeanwhile { change(share, &random) }
            share.saved(as: ShareSamples.view(of: server), of: outgoing)
            if isChangedMeanwhile { continue }
            #expect(try share.edit() == ShareEdit(), "seed \(seed), round \(round)")
            #expect(share.details.current.contents == ShareContents(ShareSamples.view(of: server)))
        }
    }

    /// Something that an app may do to a share.
    private func change(_ share: CKShare, _ random: inout SeededGenerator) {
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let invited = share.participants.filter { $0.role == .privateUser || $0.role == .administrator }
            switch Int.random(in: 0..<8, using: &random) {
            case 0, 1:
                if share.publicPermission != .none { continue }
                let number = Int.random(in: 1...6, using: &random)
                share.addParticipant(
                    random.pick([
                        .oneTimeURLParticipant(), CKShare.Participant(lookupInfo: Self.user(number)),
                        ShareSamples.participant(email: "user\(number)@example.com"),
                    ]))
            case 2: if !invited.isEmpty { share.removeParticipant(random.pick(invited)) }
            case 3: if !invited.isEmpty { random.pick(invited).permission = random.pick([.readOnly, .readWrite]) }
            case 4: if !invited.isEmpty { random.pick(invited).role = random.pick([.privateUser, .administrator]) }
            case 5: share.publicPermission = random.pick([.none, .none, .readOnly, .readWrite])
            case 6: share.allowsAccessRequests.toggle()
            default:
                if let requester = share.requesters.first {
                    if random.oneIn(2) { share.denyRequesters([requester]) } else { share.blockRequesters([requester]) }
                } else if let blocked = share.blockedIdentities.first {
                    share.unblockIdentities([blocked])
                }
            }
        }
    }
}
