import Testing

@testable import BrumeEncryption

/// What a server keeps in mind of statements and rings.
@Suite("Outlines of chains")
struct OutlineTests {
    /// A chain of statements with four pairs of keys, two statements each.
    private static func chain() throws -> (chain: StatementChain, signed: [SignedStatement]) {
        let scope = IdentityScope(
            account: "_ann", container: Samples.place.container, environment: Samples.place.environment)
        func device() -> PublicKeys { KeyPairs(seed: .random()).publicKeys }
        var (identity, first) = try Identity.first(
            scope: scope, device: device(), deviceName: "", code: RecoveryCode())
        var signed = [first]
        for index in 1..<8 {
            let next =
                index % 2 == 1
                ? try identity.adding(device: device(), deviceName: "") : try identity.replacingKeys()
            identity = next.identity
            signed.append(next.signed)
        }
        return (identity.chain, signed)
    }

    @Test("say of statements what the chain says, and which of them have the newest keys") func statements() throws {
        let (chain, signed) = try Self.chain()
        var growing = try #require(try StatementKeys(kept: [signed[0].bytes]))
        for count in 1...signed.count {
            let whole = try #require(try StatementKeys(kept: signed.prefix(count).map(\.bytes)))
            if count > 1 { try growing.append(kept: signed[count - 1].bytes) }
            for keys in [whole, growing] {
                let last = chain.statements[count - 1]
                #expect(keys.count == count && keys.newest == last.keys && keys.newestHash == last.hash)
                for (index, statement) in chain.statements.enumerated() {
                    let found = keys.find(statement.hash)
                    #expect(found?.index == (index < count ? index : nil))
                    #expect(found?.keys == (index < count ? statement.keys : nil))
                    let isNewest = index < count && statement.keys == last.keys
                    #expect(keys.areNewest(ofStatement: statement.hash) == isNewest)
                }
                #expect(keys.find(Statement.noHash) == nil && !keys.areNewest(ofStatement: Statement.noHash))
            }
        }
        #expect(try StatementKeys(kept: [[UInt8]]()) == nil)
    }

    @Test("take no statement where it does not stand") func order() throws {
        let (_, signed) = try Self.chain()
        let (_, others) = try Self.chain()
        for wrong in [[1], [0, 2], [0, 0], [1, 2]] {
            #expect(throws: EncryptionRefusal.brokenChain) { try StatementKeys(kept: wrong.map { signed[$0].bytes }) }
        }
        var keys = try #require(try StatementKeys(kept: [signed[0].bytes]))
        for wrong in [signed[0], signed[2], others[1]] {
            #expect(throws: EncryptionRefusal.brokenChain) { try keys.append(kept: wrong.bytes) }
        }
        #expect(throws: EncryptionRefusal.self) { try keys.append(kept: Array(signed[1].bytes.dropLast())) }
        try keys.append(kept: signed[1].bytes)
        #expect(keys.count == 2)
    }

    @Test("read no more of statements in the midst of a chain than their places and keys, and refuse others' and parts")
    func midst() throws {
        let (_, signed) = try Self.chain()
        let (_, others) = try Self.chain()
        let bytes = signed.prefix(4).map(\.bytes)
        for wrong in [[bytes[0], bytes[2], bytes[3]], [bytes[0], others[1].bytes, bytes[2]], bytes + [bytes[2]]] {
            #expect(throws: EncryptionRefusal.brokenChain) { try StatementKeys(kept: wrong) }
            #expect(throws: EncryptionRefusal.brokenChain) { try StatementHead(kept: wrong) }
        }
        let whole = try #require(try StatementKeys(kept: bytes))
        for count in bytes[1].indices {
            let cut = [bytes[0], Array(bytes[1].prefix(count)), bytes[2], bytes[3]]
            let keys = try? StatementKeys(kept: cut)
            #expect(keys.map { $0.newestHash == whole.newestHash && $0.count == 4 } ?? true)
            #expect((keys == nil) == ((try? StatementHead(kept: cut)) == nil))
            if count < 240 { #expect(keys == nil) }
        }
    }

    @Test("are enough to check a ring's entries: with them they pass and fail as with the chains")
    func directory() throws {
        var house = try Household("_ann")
        let chain = try house.begun(house.draft())
        func directory(_ count: Int) throws -> StatementDirectory {
            var directory = StatementDirectory()
            directory.add(try #require(try StatementKeys(kept: Self.signed(house["_ann"]).prefix(count))))
            return directory
        }
        var known = try RingChain(first: chain.entries[0], of: house.tree, statements: try directory(1))
        try house.replaceKeys(of: "_ann")
        let next = try house.next(chain, by: "_ann")
        #expect(throws: EncryptionRefusal.brokenChain) {
            try known.append(next.entries[1], statements: try directory(1))
        }
        try known.append(next.entries[1], statements: try directory(2))
        #expect(known.head == next.head)
    }

    /// The statements of somebody in the form in which they are kept: what is signed and boxed is not looked at.
    private static func signed(_ person: Household.Person) -> [[UInt8]] {
        person.chain.statements.map { statement in
            let signature = [UInt8](repeating: 1, count: Signature.byteCount)
            let boxBytes = 4 + Label.identityBox.text.utf8.count + 4 + SecretKey.byteCount + BoxPair.overheadBytes
            return SignedStatement(
                statement: statement, ownSignature: signature,
                previousSignature: statement.number == 1 ? [] : signature, anchor: [],
                boxes: statement.boxKeys.map { _ in [UInt8](repeating: 2, count: boxBytes) }
            ).bytes
        }
    }

    @Test("say of a ring's entry its ring, number and owner, whether it is closed, and whether assets are plain")
    func entries() throws {
        let house = try Household("_ann", "_ben")
        var chains = [try house.begun(house.draft(house["_ben"].member(.writer)))]
        chains.append(try house.next(chains[0], by: "_ben"))
        let zone = try house.author("_ann").begin(house.zone, house.draft())
        let key = try #require(house.keys(zone, of: "_ann").current)
        chains.append(try house.next(chains[1], by: "_ann") { $0.drop(["_ben"]) })
        chains.append(try house.next(chains[2], by: "_ann") { $0.close(zoneKey: key) })
        let others = try [false, true].map {
            try house.author("_ann").begin(house.zone, isPerZone: !$0, hasPlainAssets: $0, house.draft())
        }
        for chain in chains + [zone] + others {
            let bytes = chain.entries.last!.bytes
            let outline = try RingOutline(kept: bytes)
            #expect(outline.ring == chain.head.ring && outline.number == chain.head.number)
            #expect(outline.zoneKeyNumber == chain.head.zoneKeyNumber)
            #expect(outline.isClosed == chain.head.isClosed && outline.hasPlainAssets == chain.head.hasPlainAssets)
            #expect(outline.ownerStatementHash == house["_ann"].chain.last.hash)
            let others = chain.head.members.filter { $0.role != .owner }
            #expect(outline.others.map(\.user) == others.map(\.user))
            #expect(outline.others.map(\.statementHash) == others.map(\.statementHash))
            #expect(outline.others.map(\.isAuthor) == others.map { $0.role != .reader })
            #expect(throws: EncryptionRefusal.self) { try RingOutline(kept: Array(bytes.prefix(200))) }
        }
        #expect(chains.map(\.head.isClosed) == [false, false, false, true])
        #expect(throws: EncryptionRefusal.damaged) { try RingOutline(kept: []) }
    }

    @Test("of several accounts are enough for a ring with members, and for those whom a link lets in")
    func members() throws {
        var house = try Household("_ann", "_ben", "_cyd")
        let secret = LinkSecret()
        let invitation = try house.invitation(.writer, secret: secret)
        let one = try house.begun(house.draft(house["_ben"].member(.writer)))
        let two = try house.next(one, by: "_ann") { $0.invitations = [invitation] }
        let guest = house.guest("_cyd", .writer, by: invitation, secret: secret)
        let three = try house.next(two, by: "_ben") { $0.members.append(guest) }
        func directory(_ names: String...) throws -> StatementDirectory {
            var directory = StatementDirectory()
            for name in names { directory.add(try #require(try StatementKeys(kept: Self.signed(house[name])))) }
            return directory
        }
        let all = try directory("_ann", "_ben", "_cyd")
        var chain = try RingChain(first: three.entries[0], of: house.tree, statements: all)
        for signed in three.entries.dropFirst() { try chain.append(signed, statements: all) }
        #expect(chain.head == three.head)
        var short = try RingChain(first: three.entries[0], of: house.tree, statements: directory("_ann", "_ben"))
        try short.append(three.entries[1], statements: try directory("_ann", "_ben"))
        #expect(throws: EncryptionRefusal.brokenChain) {
            try short.append(three.entries[2], statements: try directory("_ann", "_ben"))
        }
        // Somebody who began anew has both chains.
        let former = try #require(try StatementKeys(kept: Self.signed(house["_cyd"])))
        try house.begin("_cyd")
        var both = try directory("_ann", "_ben", "_cyd")
        both.add(former)
        let four = try house.next(three, by: "_ann") { draft in
            draft.drop(["_cyd"])
            draft.members.append(house["_cyd"].member(.reader))
        }
        try chain.append(four.entries[3], statements: both)
    }

    @Test("say whether a guest's proof holds, for the ring, the guest and the statement that it was made for")
    func proofs() throws {
        let house = try Household("_ann", "_ben", "_cyd")
        let secret = LinkSecret()
        let invitation = try house.invitation(secret: secret)
        let head = try house.next(house.begun(house.draft()), by: "_ann") { $0.invitations = [invitation] }.head
        let hash = house["_ben"].chain.last.hash
        func joining(_ secret: LinkSecret, in ring: RingName? = nil) throws -> RingMember.Joining {
            try #require(house.guest("_ben", .reader, by: invitation, secret: secret, in: ring).joining)
        }
        try head.check(joining(secret), ofGuest: "_ben", statementHash: hash)
        #expect(throws: EncryptionRefusal.badSignature) {
            try head.check(joining(secret), ofGuest: "_cyd", statementHash: hash)
        }
        #expect(throws: EncryptionRefusal.badSignature) {
            try head.check(joining(secret), ofGuest: "_ben", statementHash: house["_cyd"].chain.last.hash)
        }
        for wrong in [try joining(LinkSecret()), try joining(secret, in: house.zone)] {
            #expect(throws: EncryptionRefusal.badSignature) {
                try head.check(wrong, ofGuest: "_ben", statementHash: hash)
            }
        }
        let before = try house.begun(house.draft()).head
        #expect(throws: EncryptionRefusal.notAllowed) {
            try before.check(joining(secret), ofGuest: "_ben", statementHash: hash)
        }
    }

    @Test("say which of two statements has the newer keys") func comparing() throws {
        let (chain, signed) = try Self.chain()
        let keys = try #require(try StatementKeys(kept: signed.map(\.bytes)))
        let hashes = chain.statements.map(\.hash)
        for (index, hash) in hashes.enumerated() {
            for (other, otherHash) in hashes.enumerated() {
                let isAsNew = index >= other || chain.statements[index].keys == chain.statements[other].keys
                #expect(keys.keys(of: hash, areAsNewAs: otherHash) == isAsNew)
            }
            #expect(keys.has(hash) && !keys.keys(of: hash, areAsNewAs: Statement.noHash))
        }
        #expect(!keys.has(Statement.noHash) && !keys.isContinued(by: chain.statements[7]))
        let shorter = try #require(try StatementKeys(kept: signed.prefix(7).map(\.bytes)))
        #expect(shorter.isContinued(by: chain.statements[7]) && !shorter.isContinued(by: chain.statements[6]))
    }
}
