import BrumeModel
import BrumeProtocol
import BrumeStore
import BrumeTestKit
import Testing

@testable import BrumeEncryption
@testable import BrumeServer
@testable import BrumeService

/// Ann shares a list of her zone with Bob and Cid, another one with Cid alone, and nothing with Dan.
@Suite("Rings with members", .timeLimit(.minutes(1)))
struct RingMemberTests {
    @Test("take in guests who prove that they had the link, and give them what opens the key") func joining() throws {
        var scene = try RingScene()
        let (ann, bob, accounts) = (scene.ann, scene.bob, scene.accounts)
        let proof = scene.proof(of: bob)
        for wrong in [
            RingMember.Joining(invitationID: proof.invitationID, proof: [UInt8](repeating: 1, count: 64)),
            RingMember.Joining(invitationID: [UInt8](repeating: 1, count: 16), proof: proof.proof),
            scene.proof(of: scene.cid),
        ] {
            #expect(try bob.code { try scene.join(bob, by: wrong) } == .invalidArguments)
        }
        #expect(try bob.code { try bob.join("list", in: scene.theirs, by: proof) } == .invalidArguments, "no statement")
        let before = try scene.sequence()
        try scene.join(bob, by: proof)
        #expect(try scene.sequence() == before + 1)
        for statements in [accounts.signed[bob.user]!, []] {
            try bob.join("list", in: scene.theirs, statements: statements, by: proof)
        }
        #expect(try scene.sequence() == before + 1, "sent again it has no effect")
        let guest = RingGuest(
            user: bob.user, statementHash: accounts.newestHash(of: bob), invitationID: proof.invitationID,
            proof: proof.proof, mayWrite: true)
        for (peer, zone) in [(ann, scene.notes), (bob, scene.theirs), (scene.cid, scene.theirs)] {
            let page = try peer.ring("list", of: zone)
            #expect(page.guests == (peer === scene.cid ? [] : [guest]), "whoever can't take him in is not told")
            #expect(page.departed.isEmpty && page.renewed.isEmpty)
        }
        #expect(try ann.ring("other", of: scene.notes).guests.isEmpty)
        try scene.takeIn(bob, by: ann)
        #expect(try ann.ring("list", of: scene.notes).guests.isEmpty)
        #expect(try scene.isSaved())
        // Bob's device checks all of it, and has the key.
        let page = try bob.ring("list", of: scene.theirs)
        #expect(page.entries == scene.list.entries.map { SharedBytes($0.bytes) } && page.last == 2)
        #expect(try bob.ringStatements(of: ann.user, beside: scene.theirs).statements == accounts.signed[ann.user]!)
        #expect(try ann.ringStatements(of: bob.user, beside: scene.notes).statements == accounts.signed[bob.user]!)
        #expect(scene.list.keys(of: accounts[bob]).current != nil)
    }

    @Test("keep who asked, who is a member and which keys they have, through restarts and in snapshots")
    func keeping() throws {
        var scene = try RingScene()
        try scene.join(scene.bob, by: scene.proof(of: scene.bob))
        try scene.takeIn(scene.bob, by: scene.ann)
        try scene.accounts.replaceKeys(of: scene.bob)
        try scene.join(scene.bob)
        try scene.join(scene.cid)
        func pages() throws -> ([RingPage], [StatementsPage]) {
            let pages = try ["", "list", "other"].map { try scene.ann.ring($0, of: scene.notes) }
            let users = [scene.ann, scene.bob, scene.cid, scene.dan].map(\.user)
            return (pages, try users.map { try scene.ann.ringStatements(of: $0, beside: scene.notes) })
        }
        let before = try pages()
        #expect(before.0[1].renewed == [scene.bob.user] && before.0[1].guests.map(\.user) == [scene.cid.user])
        #expect(before.1.map(\.last) == [1, 2, 1, 0])
        for run in 2...3 as ClosedRange<UInt32> {
            if run == 3 { scene.server.snapshot() }
            try scene.restart(run: run)
            let again = try pages()
            #expect(again.0 == before.0 && again.1 == before.1)
            #expect(try !scene.isSaved())
        }
        let audit = try scene.database().audit()
        #expect(audit.kept == audit.recounted)
    }

    @Test("take no value after somebody went, until there is a key that they don't have") func removal() throws {
        var scene = try RingScene()
        for peer in [scene.bob, scene.cid] {
            try scene.join(peer)
            try scene.takeIn(peer, by: scene.ann)
        }
        #expect(try scene.isSaved())
        _ = try scene.bob.leave([scene.theirs])
        #expect(try scene.ann.ring("list", of: scene.notes).departed == [scene.bob.user])
        #expect(try !scene.isSaved() && !scene.isSaved(by: scene.cid))
        #expect(try scene.bob.code { _ = try scene.bob.ring("list", of: scene.theirs) } == .zoneNotFound)
        // A writer's device makes the next entry.
        let gone = scene.bob.user
        try scene.append(by: scene.cid) { $0.drop([gone]) }
        #expect(try scene.ann.ring("list", of: scene.notes).departed.isEmpty)
        #expect(try scene.isSaved() && scene.isSaved(by: scene.cid))
    }

    @Test("take no value after somebody replaced their keys, until the ring has them") func renewal() throws {
        var scene = try RingScene()
        try scene.join(scene.bob)
        try scene.takeIn(scene.bob, by: scene.ann)
        try scene.accounts.addDevice(to: scene.bob)
        try scene.join(scene.bob)
        #expect(try scene.isSaved(), "a device was added, and the keys are the same")
        let old = try scene.accounts.next(scene.list, by: scene.ann)
        try scene.accounts.replaceKeys(of: scene.bob)
        #expect(try scene.isSaved(), "the server doesn't know yet")
        try scene.join(scene.bob)
        let page = try scene.ann.ring("list", of: scene.notes)
        #expect(page.renewed == [scene.bob.user] && page.guests.isEmpty && page.departed.isEmpty)
        #expect(try !scene.isSaved())
        #expect(try scene.ann.code { try scene.ann.append(old, to: scene.notes) } == .serverRecordChanged)
        try scene.append(by: scene.ann)
        #expect(try scene.isSaved() && scene.ann.ring("list", of: scene.notes).renewed.isEmpty)
        try scene.accounts.replaceKeys(of: scene.ann)
        try scene.ann.appendStatement(scene.accounts.signed[scene.ann.user]!.last!)
        #expect(try scene.bob.ring("list", of: scene.theirs).renewed == [scene.ann.user])
    }

    @Test("bring statements with an entry, of its members alone, each behind the one before")
    func statementsWithEntries() throws {
        var scene = try RingScene()
        let (ann, bob, accounts) = (scene.ann, scene.bob, scene.accounts)
        let next = try accounts.next(scene.list, by: ann) { $0.members.append(accounts.member(bob)) }
        let known = accounts.signed[bob.user]!
        #expect(try ann.code { try ann.append(next, to: scene.notes) } == .invalidArguments)
        let foreign = known + accounts.signed[scene.dan.user]!
        #expect(try ann.code { try ann.append(next, to: scene.notes, with: foreign) } == .invalidArguments)
        var rival = accounts
        try rival.begin(bob)
        let both = known + rival.signed[bob.user]!
        #expect(try ann.code { try ann.append(next, to: scene.notes, with: both) } == .invalidArguments)
        #expect(try ann.ringStatements(of: bob.user, beside: scene.notes).last == 0, "nothing is kept of a refused one")
        let before = try scene.sequence()
        for _ in 0..<2 { try ann.append(next, to: scene.notes, with: accounts.signed[ann.user]! + known) }
        #expect(try scene.sequence() == before + 1, "an entry and its statements are one commit, once")
        #expect(try bob.ringStatements(of: bob.user, beside: scene.theirs).statements == known)
        scene.list = next
        // Nobody else begins another chain of a member's.
        let forged = try scene.accounts.next(next, by: ann)
        let chain = rival.signed[bob.user]!
        #expect(try ann.code { try ann.append(forged, to: scene.notes, with: chain) } == .invalidArguments)
        try scene.accounts.replaceKeys(of: bob)
        let late = try scene.accounts.next(next, by: ann)
        let gap = Array(scene.accounts.signed[bob.user]!.dropFirst())
        try ann.append(late, to: scene.notes, with: gap)
        #expect(try ann.ringStatements(of: bob.user, beside: scene.notes).last == 2)
    }

    @Test("may be brought by anybody who may learn of them: who made an entry its signature says") func givenBack()
        throws
    {
        var scene = try RingScene()
        try scene.join(scene.bob)
        let next = try scene.accounts.next(scene.list, by: scene.ann) {
            $0.members.append(scene.accounts.member(scene.bob))
        }
        try scene.cid.append(next, to: scene.theirs)
        #expect(try scene.ann.ring("list", of: scene.notes).last == 2)
        scene.list = next
        // Cid, who is no member, makes none.
        try scene.join(scene.cid)
        let forged = try scene.accounts.next(scene.list, by: scene.ann)
        var bytes = forged.entries.last!.bytes
        bytes[bytes.count / 2] ^= 1
        #expect(try scene.cid.code { try scene.cid.append(bytes: bytes, to: scene.theirs) } != nil)
        // Bob, who writes, takes him in by the link.
        let proof = scene.proof(of: scene.cid)
        let taken = try scene.accounts.next(scene.list, by: scene.bob) {
            $0.members.append(scene.accounts.member(scene.cid, joining: proof))
        }
        try scene.bob.append(taken, to: scene.theirs)
        #expect(try scene.ann.ring("list", of: scene.notes).guests.isEmpty)
        try scene.accounts.replaceKeys(of: scene.bob)
        scene.list = taken
        let newer = try scene.accounts.next(scene.list, by: scene.bob)
        #expect(try scene.bob.code { try scene.bob.append(newer, to: scene.theirs) } != nil, "unknown keys")
        try scene.bob.append(newer, to: scene.theirs, with: scene.accounts.signed[scene.bob.user]!)
        let older = try scene.accounts.next(newer, by: scene.cid)
        try scene.accounts.replaceKeys(of: scene.cid)
        try scene.join(scene.cid)
        #expect(try scene.cid.code { try scene.cid.append(older, to: scene.theirs) } == .serverRecordChanged)
    }

    @Test("let no writer say which keys another user has, who may be in other shares of the zone")
    func foreignBeginnings() throws {
        var scene = try RingScene()
        let (ann, bob, cid) = (scene.ann, scene.bob, scene.cid)
        try scene.join(bob, by: scene.proof(of: bob))
        try scene.takeIn(bob, by: ann)
        // Bob has had the link, and makes up who comes by it.
        var rival = scene.accounts
        try rival.begin(cid)
        let forged = rival.signed[cid.user]!
        let proof = rival.proof(of: cid, by: scene.invitation, secret: scene.secret, in: scene.list.head.ring)
        let next = try rival.next(scene.list, by: bob) { $0.members.append(rival.member(cid, joining: proof)) }
        #expect(try bob.code { try bob.append(next, to: scene.theirs, with: forged) } == .invalidArguments)
        #expect(try ann.ringStatements(of: cid.user, beside: scene.notes).last == 0)
        #expect(try ann.ring("list", of: scene.notes).last == scene.list.head.number)
        // Once the owner has somebody's statements he lets them in, and brings the statements that follow.
        try scene.join(cid, by: scene.proof(of: cid))
        try scene.accounts.addDevice(to: cid)
        let taken = try scene.accounts.next(scene.list, by: bob) {
            $0.members.append(scene.accounts.member(cid, joining: scene.proof(of: cid)))
        }
        try bob.append(taken, to: scene.theirs, with: scene.accounts.signed[cid.user]!)
        #expect(try ann.ringStatements(of: cid.user, beside: scene.notes).last == 2)
        #expect(try ann.ring("list", of: scene.notes).renewed.isEmpty)
    }

    @Test("take somebody in again who began anew, beside whose former statements the new ones are kept")
    func anew() throws {
        var scene = try RingScene()
        try scene.join(scene.bob)
        try scene.takeIn(scene.bob, by: scene.ann)
        let former = scene.accounts.signed[scene.bob.user]!
        try scene.accounts.begin(scene.bob)
        try scene.join(scene.bob)
        let page = try scene.ann.ring("list", of: scene.notes)
        #expect(page.renewed == [scene.bob.user] && page.guests.map(\.user) == [scene.bob.user])
        #expect(try !scene.isSaved())
        let all = former + scene.accounts.signed[scene.bob.user]!
        #expect(try scene.ann.ringStatements(of: scene.bob.user, beside: scene.notes).statements == all)
        #expect(try scene.ann.ringStatements(of: scene.bob.user, beside: scene.notes, after: 1).statements == [all[1]])
        let member = scene.accounts.member(scene.bob)
        try scene.append(by: scene.ann) { draft in
            draft.drop([member.user])
            draft.members.append(member)
        }
        let after = try scene.ann.ring("list", of: scene.notes)
        #expect(after.renewed.isEmpty && after.guests.isEmpty)
        #expect(try scene.isSaved())
        // Whoever has the account's token alone makes the ring wait until the account's device says otherwise.
        let now = scene.accounts.signed[scene.bob.user]!
        var rival = scene.accounts
        try rival.begin(scene.bob)
        try scene.bob.join("list", in: scene.theirs, statements: rival.signed[scene.bob.user]!)
        #expect(try !scene.isSaved())
        try scene.bob.join("list", in: scene.theirs, statements: [now.last!])
        #expect(try scene.isSaved() && scene.ann.ring("list", of: scene.notes).guests.isEmpty)
        try rival.begin(scene.bob)
        try scene.bob.join("list", in: scene.theirs, statements: rival.signed[scene.bob.user]!)
        try rival.begin(scene.bob)
        let fifth = rival.signed[scene.bob.user]!
        #expect(
            try scene.bob.code { try scene.bob.join("list", in: scene.theirs, statements: fifth) } == .limitExceeded)
    }

    @Test("take the keys of whichever chain the last statement is of, however often it is said") func mixed() throws {
        var scene = try RingScene()
        try scene.join(scene.bob)
        try scene.takeIn(scene.bob, by: scene.ann)
        var rival = scene.accounts
        try rival.begin(scene.bob)
        let both = rival.signed[scene.bob.user]! + scene.accounts.signed[scene.bob.user]!
        let before = try scene.sequence()
        for _ in 0..<2 {
            try scene.bob.join("list", in: scene.theirs, statements: both)
            #expect(try scene.isSaved() && scene.ann.ring("list", of: scene.notes).guests.isEmpty)
        }
        try scene.bob.join("list", in: scene.theirs, statements: both.reversed())
        let after = try scene.sequence()
        try scene.bob.join("list", in: scene.theirs, statements: both.reversed())
        #expect(try scene.sequence() == after && after > before)
        #expect(try !scene.isSaved() && scene.ann.ring("list", of: scene.notes).guests.map(\.user) == [scene.bob.user])
    }

    @Test("refuse statements of others, and such that do not follow those that are kept") func order() throws {
        var scene = try RingScene()
        let bob = scene.bob
        func join(_ statements: [SharedBytes]) throws -> ErrorCode? {
            try bob.code { try bob.join("list", in: scene.theirs, statements: statements) }
        }
        for wrong in [scene.accounts.signed[scene.cid.user]!, [SharedBytes([1, 2])], []] {
            #expect(try join(wrong) == .invalidArguments)
        }
        for _ in 0..<2 { try scene.accounts.replaceKeys(of: bob) }
        let all = scene.accounts.signed[bob.user]!
        #expect(try join(Array(all.dropFirst())) == .serverRecordChanged)
        #expect(try join([all[0], all[2]]) == .serverRecordChanged)
        #expect(try join(all.reversed()) == .serverRecordChanged)
        var flipped = all[1].array
        flipped[flipped.count - 1] ^= 1
        #expect(try join([all[0], SharedBytes(flipped)]) == .invalidArguments)
        #expect(try join([all[0]]) == nil && join(all) == nil && join(all) == nil)
        #expect(try scene.ann.ringStatements(of: bob.user, beside: scene.notes).statements == all)
        let annJoins = try scene.ann.code {
            try scene.ann.join("list", in: scene.notes, statements: scene.accounts.signed[scene.ann.user]!)
        }
        #expect(annJoins == .invalidArguments)
    }

    @Test("take all that is encrypted in their tree: the zone's key, which the others lack, is refused there")
    func privateKeys() throws {
        var scene = try RingScene()
        let ann = scene.ann
        func isSaved(_ name: String, _ parent: ParentChange = .unchanged) throws -> Bool {
            let place = scene.list.head.ring.place
            let header = EncryptedHeader(
                treeID: EncryptedHeader.TreeID(Tree(place: place, root: name, kind: .isPrivate).id), isShared: false,
                keyNumber: 1)
            let save = RecordSave<DecodedFields>(
                name: name, type: "List", parent: parent, fields: ["e": EncryptedSamples.value(header: header)])
            let request = ModifyRecordsRequest<DecodedFields>(
                database: .private, savePolicy: .allKeys, zones: [ZoneModification(zone: scene.notes, saves: [save])])
            guard case .failure(let error) = try ann.modify(request)[0].saves[0].outcome else { return true }
            guard error.code == .accountTemporarilyUnavailable, error.detail == .keysChanged else { throw error }
            return false
        }
        #expect(try ann.save(["below"], below: "list", in: scene.notes, of: .private, type: "List") == [nil])
        for name in ["list", "below"] { #expect(try !isSaved(name)) }
        #expect(try !isSaved("new", .set("list")) && !isSaved("new", .set("below")))
        #expect(try isSaved("apart") && isSaved("apart"))
        #expect(try !isSaved("apart", .set("below")), "it comes into the tree")
        #expect(try isSaved("below", .removed), "it goes out of the tree")
        let zone = try scene.accounts.begun(by: ann, zone: "notes")
        let key = try #require(zone.keys(of: scene.accounts[ann]).current)
        try scene.append(by: ann) { draft in
            draft.invitations = []
            draft.close(zoneKey: key)
        }
        #expect(try isSaved("list"), "the tree's ring was closed")
    }
}
