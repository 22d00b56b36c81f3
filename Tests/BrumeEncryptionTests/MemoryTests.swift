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
        let identity = Identity(keys: try all[1].openIdentity(as: phone.boxes), statement: all[1].statement)
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
        #expect(refusal { try KnownStatements([], of: Samples.scope, trust: .seen) } == .damaged)
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
        #expect(refusal { try KnownRing([], of: house.tree, statements: house.statements) } == .damaged)
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

    @Test("an earlier life of a zone is never taken for a new one")
    func lives() throws {
        var lives = ZoneLives()
        let (first, second) = ([UInt8](repeating: 1, count: 16), [UInt8](repeating: 2, count: 16))
        #expect(try lives.meet(first) == .new)
        #expect(try lives.meet(first) == .current)
        #expect(try lives.meet(second) == .new)
        #expect(try lives.meet(first) == .over)
        #expect(try ZoneLives(ringIDs: lives.ringIDs) == lives && lives.meet(second) == .current)
        #expect(refusal { try lives.meet([]) } == .damaged)
        #expect(
            refusal {
                for number in 0...UInt32(5000) {
                    _ = try lives.meet(
                        Array(Samples.key(3).copyBytes().prefix(12)) + withUnsafeBytes(of: number) { Array($0) })
                }
            } == .damaged)
    }
}
