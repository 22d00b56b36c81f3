import BrumeModel
import BrumeProtocol
import BrumeStore
import BrumeTestKit
import Testing

@testable import BrumeEncryption
@testable import BrumeServer
@testable import BrumeService

/// What each user learns of rings, and what they may cost their owner.
@Suite("Rings of others", .timeLimit(.minutes(1)))
struct RingSecrecyTests {
    private let coder = MessageCoder()

    /// How a call ends, byte by byte.
    private func end(
        _ peer: FramePeer, _ method: BrumeProtocol.Method, _ request: [UInt8]
    ) throws -> Result<[UInt8], ServiceError> {
        let stream = peer.start(method, request)
        peer.server.settle()
        return try #require(peer.outcome(stream))
    }

    /// What the four methods answer about a ring.
    private func answers(
        to peer: FramePeer, about root: String, in zone: ZoneID, _ scene: RingScene
    ) throws -> [Result<[UInt8], ServiceError>] {
        let statements = scene.accounts.signed[peer.user]!
        let rootName = root.isEmpty ? nil : root
        let entry = try scene.accounts.begun(by: scene.ann, zone: "notes", root: rootName).entries[0].bytes
        return [
            try end(
                peer, .ringsFetch, coder.encodeFetchRingRequest(FetchRingRequest(zone: zone, root: root, after: 0))),
            try end(
                peer, .ringsJoin,
                coder.encodeJoinRingRequest(JoinRingRequest(zone: zone, root: root, statements: statements))),
            try end(
                peer, .ringsAppend,
                coder.encodeAppendRingEntryRequest(AppendRingEntryRequest(zone: zone, entry: SharedBytes(entry)))),
        ]
    }

    @Test("are as if they were not there for whoever takes part in another record, and for strangers")
    func others() throws {
        let scene = try RingScene()
        let (bob, dan) = (scene.bob, scene.dan)
        let absent = try answers(to: bob, about: "none", in: scene.theirs, scene)
        #expect(try absent[0].get() == coder.encodeFetchRingResponse(RingPage(entries: [], last: 0)))
        for answer in absent[1...] { #expect(throws: ServiceError.self) { try answer.get() } }
        for root in ["other", ""] {
            #expect(try answers(to: bob, about: root, in: scene.theirs, scene) == absent, "\(root)")
        }
        #expect(try scene.ann.ring("other", of: scene.notes).last == 1 && scene.ann.ring(of: scene.notes).last == 1)
        // A user who takes part in nothing hears the same of every zone.
        let missing = ZoneID(name: "missing", owner: scene.ann.user)
        let nobodys = ZoneID(name: "notes", owner: "_" + String(repeating: "7", count: 32))
        let strange = try answers(to: dan, about: "list", in: missing, scene)
        for zone in [scene.theirs, nobodys, ZoneID(name: Names.defaultZone, owner: scene.ann.user)] {
            for root in ["list", "other", "none", ""] {
                #expect(try answers(to: dan, about: root, in: zone, scene) == strange)
            }
            #expect(
                try dan.code { _ = try dan.ringStatements(of: scene.ann.user, beside: zone) } == .zoneNotFound)
        }
        for answer in strange {
            let error = #expect(throws: ServiceError.self) { try answer.get() }
            #expect(error?.code == .zoneNotFound)
        }
    }

    @Test("show statements to those who may learn of one of the zone's rings, and to nobody else") func statements()
        throws
    {
        let scene = try RingScene()
        try scene.join(scene.cid, "other")
        #expect(try scene.bob.ringStatements(of: scene.ann.user, beside: scene.theirs).last == 1)
        try scene.ann.shareRecord("third", in: "notes", with: [scene.dan.user])
        let url = try scene.ann.shareRecord("fourth", in: "notes", with: [scene.dan.user])
        try scene.dan.accept(url)
        for user in [scene.ann.user, scene.cid.user] {
            let page = try scene.dan.ringStatements(of: user, beside: scene.theirs)
            #expect(page == StatementsPage(statements: [], last: 0), "his record has no ring")
        }
        let ring = try scene.accounts.begun(by: scene.ann, zone: "notes", root: "fourth")
        try scene.ann.append(ring, to: scene.notes)
        #expect(try scene.dan.ringStatements(of: scene.ann.user, beside: scene.theirs).last == 1)
    }

    @Test("are found by their trees' ids by those who may learn of them, and by nobody else") func roots() throws {
        let scene = try RingScene()
        let place = scene.list.head.ring.place
        let all = ["list", "other", "none"]
        #expect(try scene.ann.ringRoots(all, of: scene.notes, at: place) == ["list", "other"])
        #expect(try scene.ann.ringRoots(all, of: scene.theirs, at: place) == ["list", "other"])
        #expect(try scene.bob.ringRoots(all, of: scene.theirs, at: place) == ["list"])
        #expect(try scene.ann.ringRoots([], of: scene.notes, at: place).isEmpty)
        #expect(try scene.ann.ringRoots(all, of: .defaultZone, at: place).isEmpty, "it has no ring")
        #expect(try scene.dan.code { _ = try scene.dan.ringRoots(all, of: scene.theirs, at: place) } == .zoneNotFound)
        #expect(
            try scene.ann.code { _ = try scene.ann.ringRoots(all, of: ZoneID(name: "missing"), at: place) }
                == .zoneNotFound)
    }

    @Test("of one's own zone may be named with its owner's real name") func ownName() throws {
        let scene = try RingScene()
        let ann = scene.ann
        #expect(try ann.ring("list", of: scene.theirs) == ann.ring("list", of: scene.notes))
        try ann.append(scene.accounts.next(scene.list, by: ann), to: scene.theirs)
        #expect(try ann.ringStatements(of: ann.user, beside: scene.theirs).last == 1)
        let code = try ann.code {
            try ann.join("list", in: scene.theirs, statements: scene.accounts.signed[ann.user]!)
        }
        #expect(code == .invalidArguments)
    }

    @Test("of a whole shared zone have those who take part in it, as its trees' rings do") func wholeZone() throws {
        let scene = try RingScene()
        let (ann, bob, dan) = (scene.ann, scene.bob, scene.dan)
        let url = try ann.shareZone("whole", with: [bob.user])
        let (whole, theirs) = (ZoneID(name: "whole"), ann.theirs("whole"))
        let zone = try scene.accounts.begun(by: ann, zone: "whole")
        try ann.append(zone, to: whole)
        try ann.append(try scene.accounts.begun(by: ann, zone: "whole", root: "tree"), to: whole)
        let early = try bob.code { try bob.join(in: theirs, statements: scene.accounts.signed[bob.user]!) }
        #expect(early == .zoneNotFound, "he was invited, and has not accepted")
        try bob.accept(url)
        for root in ["", "tree"] {
            try bob.join(root, in: theirs, statements: scene.accounts.signed[bob.user]!)
            #expect(try ann.ring(root, of: whole).guests.map(\.user) == [bob.user])
        }
        let both = try scene.accounts.next(zone, by: ann) { draft in
            draft.members += [scene.accounts.member(bob), scene.accounts.member(dan)]
        }
        try ann.append(both, to: whole, with: scene.accounts.signed[dan.user]!)
        #expect(try bob.ring(of: theirs).departed == [dan.user], "he has not accepted either")
    }

    @Test("of a whole shared zone tell those who were taken in, also after somebody else was invited") func news()
        throws
    {
        let scene = try RingScene()
        let (ann, bob, cid) = (scene.ann, scene.bob, scene.cid)
        let url = try ann.shareZone("whole", with: [bob.user])
        let (whole, theirs) = (ZoneID(name: "whole"), ann.theirs("whole"))
        let zone = try scene.accounts.begun(by: ann, zone: "whole")
        try ann.append(zone, to: whole)
        try bob.accept(url)
        // He is not shown that the share changed.
        var edit = ShareEdit()
        edit.puts = [.init(id: "cid", invitee: .user(cid.user), permission: .readOnly)]
        _ = try ann.changeShare(of: "whole", edit)
        try bob.join(in: theirs, statements: scene.accounts.signed[bob.user]!)
        let before = try bob.changes(of: theirs)
        let (zones, tag) = (try bob.sharedChanges(), before.records[0].system.changeTag)
        #expect(try bob.changes(of: theirs, since: before.token).records.isEmpty)
        let both = try scene.accounts.next(zone, by: ann) { $0.members.append(scene.accounts.member(bob)) }
        try ann.append(both, to: whole)
        #expect(try bob.sharedChanges(since: zones.token).changed == [theirs])
        let after = try bob.changes(of: theirs, since: before.token)
        #expect(after.records.map(\.system.changeTag) == [tag], "the share is as he knows it, and comes again")
        #expect(try bob.changes(of: theirs, since: after.token).records.isEmpty)
        // What he is not shown stays where he has it.
        edit.puts = [.init(id: "dan", invitee: .user(scene.dan.user), permission: .readOnly)]
        _ = try ann.changeShare(of: "whole", edit)
        #expect(try bob.changes(of: theirs, since: after.token).records.isEmpty)
    }

    @Test("are not asked to take in somebody who went") func guestsWhoWent() throws {
        let scene = try RingScene()
        for peer in [scene.bob, scene.cid] { try scene.join(peer) }
        _ = try scene.bob.leave([scene.theirs])
        #expect(try scene.ann.ring("list", of: scene.notes).guests.map(\.user) == [scene.cid.user])
    }

    @Test("take no guests where the owner's quota is used up, and still take a member's newer keys") func quota() throws
    {
        var scene = try RingScene(permission: .readOnly) { $0.quotaBytes = 2_000 }
        try scene.join(scene.bob)
        try scene.takeIn(scene.bob, by: scene.ann)
        let (bob, database) = (scene.bob, try scene.database())
        let before = database.quotaBytes
        // What is beyond the allowance for overhead.
        for number in 1...UInt32(Limits.overheadAllowanceBytes / 100_000 + 1) {
            _ = try database.append(
                ringEntry: SharedBytes([UInt8](repeating: 1, count: 100_000)), number: number, root: "",
                zone: .defaultZone, quota: nil, nowMilliseconds: 1)
        }
        #expect(try scene.cid.code { try scene.join(scene.cid) } == .quotaExceeded)
        try scene.accounts.replaceKeys(of: bob)
        try scene.join(bob)
        #expect(try scene.ann.ring("list", of: scene.notes).renewed == [bob.user])
        let full = database.quotaBytes
        try scene.append(by: scene.ann)
        #expect(full > before && database.quotaBytes > full)
    }

    @Test("take keys from somebody whatever the quota, but with statements only until others' are 16 MiB")
    func statementsInQuota() throws {
        var scene = try RingScene { $0.quotaBytes = 2_000 }
        try scene.join(scene.bob)
        try scene.takeIn(scene.bob, by: scene.ann)
        let (ann, bob, database) = (scene.ann, scene.bob, try scene.database())
        _ = try database.append(
            ringEntry: SharedBytes([1]), number: 1, root: "", zone: .defaultZone, quota: nil, nowMilliseconds: 1)
        for number in 1...Limits.ringReserveBytes / 480_000 + 1 {
            let digits = String(number, radix: 16)
            var others = RingOthers()
            others.statements = (0..<10).map { _ in
                RingOthers.Statement(
                    user: "_" + String(repeating: "0", count: 32 - digits.count) + digits, chain: 1,
                    bytes: SharedBytes([UInt8](repeating: 1, count: 48_000)))
            }
            others.named = others.statements.map(\.user)
            _ = try database.append(
                ringEntry: SharedBytes([1]), number: UInt32(number + 1), root: "", zone: .defaultZone, quota: nil,
                with: others, nowMilliseconds: 1)
        }
        // Dan's come for the first time, with an entry that takes Bob's keys.
        let (dan, statements) = (scene.accounts.member(scene.dan), scene.accounts.signed[scene.dan.user]!)
        let full = database.quotaBytes
        let both = try scene.accounts.next(scene.list, by: ann) { draft in
            draft.drop([bob.user])
            draft.members.append(dan)
        }
        #expect(try ann.code { try ann.append(both, to: scene.notes, with: statements) } == .quotaExceeded)
        #expect(database.quotaBytes == full)
        try scene.append(by: ann) { $0.drop([bob.user]) }
        #expect(database.quotaBytes > full)
    }

    @Test("forget what strangers said who came by a link and left, where others need the room") func strangers() throws
    {
        var scene = try RingScene()
        try scene.dan.accept(try scene.ann.shareRecord("third", in: "notes", with: [scene.dan.user]))
        try scene.ann.append(scene.accounts.begun(by: scene.ann, zone: "notes", root: "third"), to: scene.notes)
        try scene.join(scene.bob)
        try scene.takeIn(scene.bob, by: scene.ann)
        try scene.join(scene.dan, "third")
        try scene.restart(run: 2)
        let bob = scene.bob.user
        try scene.append(by: scene.ann) { $0.drop([bob]) }
        for peer in [scene.bob, scene.dan] { _ = try peer.leave([scene.theirs]) }
        let database = try scene.database()
        let zone = try #require(database.incarnation(of: scene.notes, for: Caller(user: scene.ann.user, isOwner: true)))
        func kept(_ peer: FramePeer) -> UInt32 { database.rings.statements(of: peer.user, inZone: zone).last }
        for number in 1..<Limits.ringUsersPerZone / 2 {
            let digits = String(number, radix: 16)
            var others = RingOthers()
            others.statements = [
                .init(
                    user: "_" + String(repeating: "0", count: 32 - digits.count) + digits, chain: 1,
                    bytes: SharedBytes([1]))
            ]
            _ = try database.join(
                others, root: "list", inZone: zone, isGuest: true, quota: nil, nowMilliseconds: 1)
        }
        #expect(kept(scene.bob) == 1 && kept(scene.dan) == 1)
        try scene.join(scene.cid)
        #expect(kept(scene.bob) == 1 && kept(scene.dan) == 0 && kept(scene.cid) == 1)
        try scene.takeIn(scene.cid, by: scene.ann)
    }

    @Test("answer what was asked before, however full the disk is") func retries() throws {
        let log = ScriptedLogStorage()
        let scene = try RingScene(log: log)
        try scene.join(scene.bob, by: scene.proof(of: scene.bob))
        scene.server.log?.isFull = true
        try scene.join(scene.bob, by: scene.proof(of: scene.bob))
        #expect(try scene.cid.code { try scene.join(scene.cid) } == .serviceUnavailable)
    }

    @Test("with statements that are not as they were are the server's fault, and its health says so") func damage()
        throws
    {
        let scene = try RingScene()
        let database = try scene.database()
        var others = RingOthers()
        others.statements = [.init(user: scene.bob.user, chain: 1, bytes: SharedBytes([1, 2, 3]))]
        let zone = try #require(database.incarnation(of: scene.notes))
        _ = try database.join(others, root: "list", inZone: zone, isGuest: true, quota: nil, nowMilliseconds: 1)
        #expect(try scene.bob.code { try scene.join(scene.bob) } == .internalError)
        #expect(scene.server.core.health(at: scene.server.nowNanoseconds).isDamageFound)
    }

    @Test("take no member whose name is no user's, whatever statements come along") func names() throws {
        var scene = try RingScene()
        for name in ["x", "_" + String(repeating: "A", count: 32), Names.defaultZone] {
            try scene.accounts.begin(user: name)
            let hash = scene.accounts.identities[name]!.statement.hash
            let next = try scene.accounts.next(scene.list, by: scene.ann) { draft in
                draft.members.append(RingMember(user: name, statementHash: hash, role: .writer))
            }
            for statements in [scene.accounts.signed[name]!, []] {
                let code = try scene.ann.code { try scene.ann.append(next, to: scene.notes, with: statements) }
                #expect(code == .invalidArguments)
            }
        }
        try scene.append(by: scene.ann)
        #expect(try scene.isSaved())
    }

    @Test("take no entry of an author who left or may only read, but for what the owner gives back")
    func formerAuthors() throws {
        let scene = try RingScene()
        let (ann, bob, cid, accounts) = (scene.ann, scene.bob, scene.cid, scene.accounts)
        let url = try ann.shareZone("whole", with: [bob.user, cid.user])
        for peer in [bob, cid] { try peer.accept(url) }
        let (whole, theirs) = (ZoneID(name: "whole"), ann.theirs("whole"))
        let first = try accounts.begun(by: ann, zone: "whole")
        try ann.append(first, to: whole)
        let second = try accounts.next(first, by: ann) { $0.members.append(accounts.member(bob)) }
        try ann.append(second, to: whole, with: accounts.signed[bob.user]!)
        let third = try accounts.next(second, by: bob)
        _ = try ann.changeShare(of: "whole", .inviting([bob.user], permission: .readOnly))
        for peer in [bob, cid] {
            #expect(try peer.code { try peer.append(third, to: theirs) } == .permissionFailure)
        }
        _ = try ann.changeShare(of: "whole", .inviting([bob.user]))
        try cid.append(third, to: theirs)
        let fourth = try accounts.next(third, by: bob)
        _ = try ann.changeShare(of: "whole", .removing([bob.user]))
        #expect(try cid.code { try cid.append(fourth, to: theirs) } == .permissionFailure)
        try cid.append(third, to: theirs)
        #expect(try ann.ring(of: whole).last == 3 && ann.ring(of: whole).departed == [bob.user])
        try ann.append(fourth, to: whole)
        #expect(try ann.ring(of: whole).last == 4)
    }

    @Test("are told once of a guest who has a proof, however often he asks without") func proofs() throws {
        let scene = try RingScene()
        let proof = scene.proof(of: scene.bob)
        try scene.join(scene.bob)
        try scene.join(scene.bob, by: proof)
        let before = try scene.sequence()
        for _ in 0..<3 {
            try scene.join(scene.bob)
            try scene.join(scene.bob, by: proof)
        }
        #expect(try scene.sequence() == before)
        #expect(try scene.ann.ring("list", of: scene.notes).guests.map(\.proof) == [proof.proof])
    }

    @Test("are due and not due by turns so often, until there is another entry") func selections() throws {
        var scene = try RingScene()
        let bob = scene.bob
        try scene.join(bob)
        try scene.takeIn(bob, by: scene.ann)
        let former = scene.accounts.signed[bob.user]!
        try scene.accounts.begin(bob)
        let chains = [former, scene.accounts.signed[bob.user]!]
        try scene.join(bob)
        for number in 0..<RingSelections.selectionsMax {
            try bob.join("list", in: scene.theirs, statements: chains[number % 2])
            #expect(try scene.isSaved() == (number % 2 == 0))
        }
        let before = try scene.sequence()
        #expect(try bob.code { try bob.join("list", in: scene.theirs, statements: former) } == .limitExceeded)
        try scene.join(bob)
        #expect(try scene.sequence() == before)
        let member = scene.accounts.member(bob)
        try scene.append(by: scene.ann) { draft in
            draft.drop([member.user])
            draft.members.append(member)
        }
        try bob.join("list", in: scene.theirs, statements: former)
        #expect(try !scene.isSaved())
    }

    @Test("are forgotten with the zone, with all that is beside them") func zones() throws {
        let scene = try RingScene()
        try scene.join(scene.bob)
        let database = try scene.database()
        #expect(database.rings.zoneCount == 1)
        try scene.ann.deleteZone("notes")
        #expect(database.rings == ZoneRings())
        let audit = database.audit()
        #expect(audit.kept == audit.recounted)
    }
}
