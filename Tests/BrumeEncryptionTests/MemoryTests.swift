import Testing

@testable import BrumeEncryption

/// What a device remembers, before a server that is behind or lies.
@Suite struct MemoryTests {
    private let code = RecoveryCode()
    private let phone = Samples.device(1)
    private let laptop = Samples.device(2)

    private func statements() throws -> [SignedStatement] {
        let one = try Identity.first(scope: Samples.scope, device: phone.publicKeys, deviceName: "", code: code)
        let two = try one.identity.adding(device: laptop.publicKeys, deviceName: "")
        let three = try two.identity.replacingKeys()
        return [one.signed, two.signed, three.signed]
    }

    @Test("a device takes what follows, and gives a server back what it lost")
    func statementsGrow() throws {
        let all = try statements()
        var known = try KnownStatements(Array(all.prefix(1)), of: Samples.scope, trust: .seen)
        #expect(try known.meet(Array(all.prefix(1))) == .same)
        #expect(try known.meet(all) == .extended)
        #expect(known.chain.last == all[2].statement && known.signed == all)
        #expect(try known.meet(Array(all.prefix(1))) == .behind(missing: Array(all[1...])))
        #expect(try known.meet([]) == .behind(missing: all))
        #expect(known.signed == all, "what it knows it keeps")
    }

    @Test("other statements than the known ones are nobody's before a person decides")
    func statementsFork() throws {
        let all = try statements()
        var known = try KnownStatements(all, of: Samples.scope, trust: .link)
        #expect(try known.meet(statements()) == .forked(at: 1), "a stranger's, or a reset")
        // Somebody with the keys of the first statement, as a lost device, goes on from there.
        let identity = Identity(
            keys: try all[1].openIdentity(as: phone.boxes),
            chain: try KnownStatements(Array(all.prefix(2)), of: Samples.scope, trust: .seen).chain)
        let rival = try identity.replacingKeys().signed
        #expect(try known.meet([all[0], all[1], rival]) == .forked(at: 3))
        #expect(known.chain.last == all[2].statement && known.trust == .link)
    }

    @Test("a statement that does not follow is refused, and those before it are taken")
    func statementsRefused() throws {
        let all = try statements()
        var known = try KnownStatements([all[0]], of: Samples.scope, trust: .seen)
        #expect(refusal { try known.meet([all[0], all[1], all[1]]) } == .brokenChain)
        #expect(known.signed == Array(all.prefix(2)))
        #expect(refusal { try KnownStatements([all[0], all[2]], of: Samples.scope, trust: .seen) } == .brokenChain)
        #expect(refusal { try KnownStatements([], of: Samples.scope, trust: .seen) } == .brokenChain)
    }

    @Test("statements that were kept are the ones that were known, and no others in their place")
    func statementsKept() throws {
        let all = try statements()
        let known = try KnownStatements(all, of: Samples.scope, trust: .link)
        #expect(try KnownStatements(kept: all.map(\.bytes), trust: .link) == known)
        #expect(refusal { try KnownStatements(kept: [], trust: .seen) } == .brokenChain)
        #expect(refusal { try KnownStatements(kept: [all[1].bytes], trust: .seen) } == .brokenChain)
        #expect(refusal { try KnownStatements(kept: [all[0].bytes, all[2].bytes], trust: .seen) } == .brokenChain)
        #expect(refusal { try KnownStatements(kept: [Array(all[0].bytes.dropLast())], trust: .seen) } == .damaged)
    }

    @Test("how a device knows an account gets better and never worse")
    func trust() throws {
        var known = try KnownStatements(statements(), of: Samples.scope, trust: .seen)
        known.confirm(.compared)
        known.confirm(.link)
        #expect(known.trust == .compared)
    }

    @Test("a ring is taken as far as it goes on, and given back to a server that lost some of it")
    func ringGrows() throws {
        let house = try Household("_ann", "_bob")
        let one = try house.begun(house.draft(house["_bob"].member(.writer)))
        let two = try house.next(one, by: "_bob")
        let three = try house.next(two, by: "_ann") { $0.members.removeLast() }
        var known = try KnownRing(one.entries, of: house.tree, statements: house.statements)
        #expect(try known.meet(three.entries, statements: house.statements) == .extended)
        #expect(try known.meet(three.entries, statements: house.statements) == .same)
        // Before Bob was dropped: nothing is written under a key that he has.
        #expect(
            try known.meet(two.entries, statements: house.statements) == .behind(missing: [three.entries[2]]))
        #expect(known.chain.head == three.head)
        #expect(refusal { try KnownRing([], of: house.tree, statements: house.statements) } == .brokenChain)
    }

    @Test("two heads are a fork until the owner ends one of them")
    func ringForks() throws {
        let house = try Household("_ann", "_bob", "_cat")
        let one = try house.begun(house.draft(house["_bob"].member(.administrator), house["_cat"].member(.reader)))
        let bobs = try house.next(one, by: "_bob") { $0.members.removeLast() }
        let anns = try house.next(one, by: "_ann")
        var known = try KnownRing(bobs.entries, of: house.tree, statements: house.statements)
        #expect(try known.meet(anns.entries, statements: house.statements) == .forked(at: 2))
        #expect(known.chain.head == bobs.head)
        let ended = try house.next(anns, by: "_ann") {
            $0.members.removeLast()
            $0.otherBranch = bobs.head.hash
        }
        #expect(try known.meet(ended.entries, statements: house.statements) == .joined)
        #expect(known.chain.head == ended.head)
        // A branch that ends another than the known one.
        let elsewhere = try house.next(anns, by: "_ann") { $0.otherBranch = anns.head.hash }
        known = try KnownRing(bobs.entries, of: house.tree, statements: house.statements)
        #expect(try known.meet(elsewhere.entries, statements: house.statements) == .forked(at: 2))
        // And one whose entries don't hold.
        var broken = ended.entries
        broken.swapAt(1, 2)
        #expect(refusal { try known.meet(broken, statements: house.statements) } == .brokenChain)
        #expect(known.chain.head == bobs.head)
    }

    @Test("of branches that ended those are kept which ended last, as far as a file of them can be read again")
    func largeBranches() throws {
        let house = try Household("_ann", "_bob")
        let one = try house.begun(house.draft(house["_bob"].member(.writer)))
        func branch(_ byteCount: Int) throws -> RingChain {
            RingChain(kept: try house.next(one, by: "_bob").entries, byteCount: byteCount)
        }
        let sizes = [1_000, Limits.ringBytes / 2, Limits.ringBytes]
        let (branches, ring) = (try sizes.map(branch), try branch(Limits.ringBytes / 2))
        let kept = KnownRing.kept(branches, beside: ring)
        #expect(kept.map(\.head) == branches.suffix(2).map(\.head))
        #expect(KnownRing.kept(branches, beside: try branch(Limits.ringBytes)).map(\.head) == [branches[2].head])
        #expect(KnownRing.kept(branches.dropLast(), beside: try branch(1_000)).count == 2)
    }

    @Test("who knew a part alone of a branch that ended needs the rest to see it, and reads what was written there")
    func endedBranches() throws {
        let house = try Household("_ann", "_bob", "_cat")
        let one = try house.begun(house.draft(house["_bob"].member(.administrator), house["_cat"].member(.reader)))
        let bobs = try house.next(one, by: "_bob")
        let longer = try house.next(bobs, by: "_bob")
        let ended = try house.next(house.next(one, by: "_ann"), by: "_ann") { $0.otherBranch = longer.head.hash }
        var known = try KnownRing(bobs.entries, of: house.tree, statements: house.statements)
        #expect(try known.meet(ended.entries, statements: house.statements) == .forked(at: 2))
        #expect(
            try known.meet(ended.entries, ended: [one.entries, bobs.entries], statements: house.statements)
                == .forked(at: 2))
        // One that ended and was never this device's.
        let others = try house.next(one, by: "_bob")
        let other = try house.next(house.next(one, by: "_ann"), by: "_ann") { $0.otherBranch = others.head.hash }
        #expect(
            try known.meet(other.entries, ended: [others.entries], statements: house.statements) == .forked(at: 2))
        #expect(try known.meet(ended.entries, ended: [longer.entries], statements: house.statements) == .joined)
        #expect(known.chain.head == ended.head && known.endedBranches.map(\.head) == [longer.head])
        let cats = known.endedBranches.map { house.keys($0, of: "_cat") }
        #expect(cats[0].keys.keys.sorted() == [1, 2, 3])
    }

    @Test("an earlier life of a zone is never taken for a new one")
    func lives() throws {
        let house = try Household("_ann")
        func life(_ number: UInt8) throws -> RingChain {
            let place = try Place(
                container: Samples.place.container, environment: Samples.place.environment, owner: "_ann",
                zone: "Notes",
                ringID: [UInt8](repeating: number, count: 16))
            return try house.author("_ann").begin(RingName(place: place), house.draft())
        }
        var lives = ZoneLives()
        #expect(try lives.meet(life(1)) == .new)
        #expect(try lives.meet(life(1)) == .current)
        #expect(try lives.meet(life(2)) == .new)
        #expect(try lives.meet(life(1)) == .over)
        lives = ZoneLives(ringIDs: lives.ringIDs)
        #expect(try lives.meet(life(2)) == .current)
        let tree = try house.begun(house.draft())
        #expect(tree.head.ring.root != nil)
        #expect(try lives.meet(tree) == .new, "participants of a record's share see the tree's ring alone")
        #expect(try lives.meet(tree) == .current && lives.meet(life(2)) == .over)
        lives = ZoneLives(ringIDs: [[UInt8]](repeating: [9], count: Limits.zoneLives))
        #expect(refusal { try lives.meet(life(3)) } == .damaged)
    }
}
