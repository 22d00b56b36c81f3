import Testing

@testable import BrumeEncryption

@Suite struct StatementTests {
    private let code = RecoveryCode(bytes: Array(1...16))
    private let phone = Samples.device(1)
    private let laptop = Samples.device(2)

    private func first(
        _ scope: IdentityScope = Samples.scope
    ) throws -> (identity: Identity, signed: SignedStatement) {
        try Identity.first(scope: scope, device: phone.publicKeys, deviceName: "Ann's phone", code: code)
    }

    private func chain(_ signed: SignedStatement...) throws -> StatementChain {
        var chain = try StatementChain(first: signed[0], of: Samples.scope)
        for signed in signed.dropFirst() { try chain.append(signed) }
        return chain
    }

    @Test("a first statement lists the device and the code, each of which opens the identity")
    func begins() throws {
        let (identity, signed) = try first()
        let read = try SignedStatement(signed.bytes)
        #expect(read == signed && read.bytes == signed.bytes)
        #expect(try chain(read).last.keys == identity.keys.publicKeys)
        #expect(try read.openIdentity(as: phone.boxes).publicKeys == identity.keys.publicKeys)
        #expect(try read.openIdentity(as: code.paperKey(Samples.scope)).publicKeys == identity.keys.publicKeys)
        #expect(refusal { try read.openIdentity(as: laptop.boxes) } == .keyMissing)
        #expect(read.anchor == code.anchor(statementHash: read.statement.hash))
        #expect(
            DeviceName.open(read.statement.devices[0].name, of: phone.publicKeys, identity: identity.keys)
                == "Ann's phone")
    }

    @Test("a device that is added opens the same identity; one that is removed does not open the new one")
    func addsAndRemoves() throws {
        let one = try first()
        let two = try one.identity.adding(device: laptop.publicKeys, deviceName: "laptop")
        let three = try two.identity.replacingKeys(withoutDevices: [phone.publicKeys])
        let chain = try chain(one.signed, two.signed, three.signed)
        #expect(chain.statements.map(\.number) == [1, 2, 3])
        #expect(try two.signed.openIdentity(as: laptop.boxes).publicKeys == one.identity.keys.publicKeys)
        #expect(refusal { try three.signed.openIdentity(as: phone.boxes) } == .keyMissing)
        let opened = try three.signed.openIdentity(as: laptop.boxes)
        #expect(
            opened.publicKeys == three.identity.keys.publicKeys && opened.publicKeys != one.identity.keys.publicKeys)
        #expect(DeviceName.open(chain.last.devices[0].name, of: laptop.publicKeys, identity: opened) == "laptop")
        // The code stays good, without anybody having typed it.
        #expect(try three.signed.openIdentity(as: code.paperKey(Samples.scope)).publicKeys == opened.publicKeys)
        #expect(three.signed.anchor.isEmpty)
    }

    @Test("a code that was replaced opens the new identity no more")
    func newCode() throws {
        let one = try first()
        let other = RecoveryCode()
        let two = try one.identity.replacingKeys(code: other)
        _ = try chain(one.signed, two.signed)
        #expect(refusal { try two.signed.openIdentity(as: code.paperKey(Samples.scope)) } == .keyMissing)
        _ = try two.signed.openIdentity(as: other.paperKey(Samples.scope))
        #expect(two.signed.anchor == other.anchor(statementHash: two.signed.statement.hash))
    }

    @Test("a head made of kept statements takes what the whole chain takes, and refuses what it refuses")
    func heads() throws {
        let one = try first()
        let two = try one.identity.adding(device: laptop.publicKeys, deviceName: "")
        let three = try two.identity.replacingKeys(code: RecoveryCode())
        let four = try three.identity.replacingKeys(withoutDevices: [laptop.publicKeys])
        var kept = try #require(try StatementHead(kept: [one.signed, two.signed, three.signed].map(\.bytes)))
        #expect(kept.last == three.signed.statement)
        #expect(refusal { try kept.append(three.signed) } == .brokenChain)
        #expect(refusal { try kept.append(two.signed) } == .brokenChain)
        // Keys and codes that were replaced stay so, whoever signs.
        for signed in [
            resigned(behind: three, by: KeyPairs(seed: .random()), codeOf: one.signed),
            resigned(behind: three, by: one.identity.keys, codeOf: three.signed),
        ] {
            var chain = try chain(one.signed, two.signed, three.signed)
            #expect(refusal { try kept.append(signed) } == .brokenChain)
            #expect(refusal { try chain.append(signed) } == .brokenChain)
        }
        let fresh = resigned(behind: three, by: KeyPairs(seed: .random()), codeOf: three.signed)
        var other = kept
        try other.append(fresh)
        try kept.append(four.signed)
        #expect(kept.last == four.signed.statement)
        #expect(try StatementHead(kept: []) == nil)
        for kept in [[two], [one, three], [one, one], [one, two, two]] {
            #expect(refusal { try StatementHead(kept: kept.map(\.signed.bytes)) } == .brokenChain)
        }
        for flipped in two.signed.bytes.flipped {
            let read = try? Statement(kept: flipped)
            #expect(read == nil || read == two.signed.statement, "what is read was signed")
        }
        #expect(refusal { try StatementHead(kept: [one.signed.bytes, [1]]) } == .damaged)
    }

    /// A statement behind another one, correctly signed, with the keys and the code of somebody's choice.
    private func resigned(
        behind before: (identity: Identity, signed: SignedStatement), by keys: KeyPairs, codeOf other: SignedStatement
    ) -> SignedStatement {
        let (last, signed) = (before.signed.statement, before.signed)
        let statement = Statement(
            scope: last.scope, number: last.number + 1, previousHash: last.hash, keys: keys.publicKeys,
            codeKey: other.statement.codeKey, devices: last.devices,
            earlierSeed: EarlierSeed.seal(before.identity.keys, for: keys, behind: last.hash))
        let anchor = other.statement.codeKey == last.codeKey ? [] : other.anchor
        return SignedStatement(
            statement: statement,
            ownSignature: keys.sign(SignedStatement.ownMessage(statement, anchor: anchor, boxes: signed.boxes)),
            previousSignature: before.identity.keys.sign(SignedStatement.nextMessage(statement)), anchor: anchor,
            boxes: signed.boxes)
    }

    @Test("a chain takes nothing that does not follow: left out, repeated, of another account, or by a stranger")
    func chains() throws {
        let one = try first()
        let two = try one.identity.adding(device: laptop.publicKeys, deviceName: "")
        let three = try two.identity.replacingKeys()
        #expect(refusal { try chain(two.signed) } == .brokenChain, "it begins with the first")
        for (previous, anchor) in [(one.signed.ownSignature, one.signed.anchor), ([], [])] {
            let first = SignedStatement(
                statement: one.signed.statement, ownSignature: one.signed.ownSignature, previousSignature: previous,
                anchor: anchor, boxes: one.signed.boxes)
            #expect(refusal { try chain(first) } == .brokenChain)
        }
        #expect(refusal { try chain(one.signed, three.signed) } == .brokenChain)
        #expect(refusal { try chain(one.signed, one.signed) } == .brokenChain)
        #expect(refusal { try chain(one.signed, two.signed, two.signed) } == .brokenChain)
        #expect(refusal { try chain(first().signed, two.signed) } == .brokenChain, "another first one")
        for scope in [
            IdentityScope(account: "_bob", container: Samples.scope.container, environment: "production"),
            IdentityScope(account: "_ann", container: "other", environment: "production"),
            IdentityScope(account: "_ann", container: Samples.scope.container, environment: "development"),
        ] { #expect(refusal { try chain(first(scope).signed) } == .brokenChain) }
    }

    @Test("a stranger who follows an account's statement is refused, whoever signs")
    func strangers() throws {
        let one = try first()
        let mallory = KeyPairs(seed: Samples.key(66))
        let statement = Statement(
            scope: Samples.scope, number: 2, previousHash: one.signed.statement.hash, keys: mallory.publicKeys,
            codeKey: one.signed.statement.codeKey, devices: one.signed.statement.devices,
            earlierSeed: Samples.file(EarlierSeed.byteCount))
        func signed(_ own: KeyPairs, _ previous: KeyPairs?, anchor: [UInt8] = []) -> SignedStatement {
            SignedStatement(
                statement: statement,
                ownSignature: own.sign(SignedStatement.ownMessage(statement, anchor: anchor, boxes: one.signed.boxes)),
                previousSignature: previous?.sign(SignedStatement.nextMessage(statement)) ?? [],
                anchor: anchor, boxes: one.signed.boxes)
        }
        let identity = one.identity.keys
        #expect(refusal { try chain(one.signed, signed(mallory, mallory)) } == .badSignature)
        #expect(refusal { try chain(one.signed, signed(mallory, nil)) } == .badSignature)
        #expect(refusal { try chain(one.signed, signed(identity, identity)) } == .badSignature)
        #expect(refusal { try chain(one.signed, signed(mallory, identity, anchor: Samples.file(32))) } == .brokenChain)
        // With the account's own keys anybody is the account.
        let taken = signed(mallory, identity)
        _ = try chain(one.signed, taken)
        #expect(refusal { try taken.openIdentity(as: phone.boxes) } == .damaged, "the box is of another identity")
    }

    @Test("neither a code nor an identity that was replaced comes back, nor half of one")
    func comingBack() throws {
        let one = try first()
        let two = try one.identity.replacingKeys(code: RecoveryCode())
        let three = try two.identity.replacingKeys()
        #expect(refusal { try two.identity.replacingKeys(code: code) } == .brokenChain)
        let short = Identity(keys: two.identity.keys, chain: StatementChain(kept: [two.identity.statement]))
        let again = try short.replacingKeys(code: code).signed
        #expect(refusal { try chain(one.signed, two.signed, again) } == .brokenChain)
        let last = three.signed.statement
        let new = Samples.device(7).publicKeys
        for keys in [
            one.identity.keys.publicKeys, PublicKeys(signing: new.signing, box: last.keys.box),
            PublicKeys(signing: new.signing, box: one.identity.keys.publicKeys.box),
            PublicKeys(signing: last.keys.signing, box: new.box),
        ] {
            let statement = Statement(
                scope: Samples.scope, number: 4, previousHash: last.hash, keys: keys, codeKey: last.codeKey,
                devices: last.devices, earlierSeed: Samples.file(EarlierSeed.byteCount))
            let signed = SignedStatement(
                statement: statement, ownSignature: Samples.file(64), previousSignature: Samples.file(64), anchor: [],
                boxes: three.signed.boxes)
            #expect(refusal { try chain(one.signed, two.signed, three.signed, signed) } == .brokenChain)
        }
    }

    @Test("what others would refuse is not made")
    func notMade() throws {
        let one = try first()
        #expect(refusal { try one.identity.adding(device: phone.publicKeys, deviceName: "") } == .damaged)
        #expect(refusal { try one.identity.replacingKeys(withoutDevices: [phone.publicKeys]) } == .damaged)
    }

    @Test("names that look alike are not the same account")
    func lookalikes() throws {
        let composed = IdentityScope(account: "_caf\u{e9}", container: "c", environment: "production")
        let decomposed = IdentityScope(account: "_cafe\u{301}", container: "c", environment: "production")
        #expect(composed != decomposed)
        let signed = try first(composed).signed
        #expect(refusal { try StatementChain(first: signed, of: decomposed) } == .brokenChain)
        _ = try StatementChain(first: signed, of: composed)
    }

    @Test("a statement in which a key stands twice, or without a device, or of nobody, is refused")
    func contents() throws {
        let statement = try first().signed.statement
        func changed(
            account: String = "_ann", environment: String = "production", number: UInt32 = 1, keys: PublicKeys? = nil,
            codeKey: [UInt8]? = nil,
            devices: [Statement.Device]? = nil
        ) throws {
            _ = try Statement(
                Statement(
                    scope: IdentityScope(account: account, container: "c", environment: environment), number: number,
                    previousHash: Statement.noHash, keys: keys ?? statement.keys,
                    codeKey: codeKey ?? statement.codeKey, devices: devices ?? statement.devices
                ).bytes, checksKeys: true)
        }
        try changed()
        let device = statement.devices[0]
        #expect(refusal { try changed(account: "") } == .damaged)
        #expect(refusal { try changed(account: "__defaultOwner__") } == .damaged)
        #expect(refusal { try changed(environment: "staging") } == .damaged)
        #expect(refusal { try changed(number: 0) } == .damaged)
        #expect(refusal { try changed(keys: device.keys) } == .damaged)
        #expect(refusal { try changed(codeKey: device.keys.box) } == .damaged)
        #expect(refusal { try changed(devices: []) } == .damaged)
        #expect(refusal { try changed(devices: [device, device]) } == .damaged)
        #expect(refusal { try changed(codeKey: [UInt8](repeating: 0, count: 32)) } == .damaged)
        let many = (0..<65).map { Statement.Device(keys: Samples.device($0).publicKeys) }
        #expect(refusal { try changed(devices: many) } == .damaged)
        try changed(devices: Array(many.prefix(64)))
    }

    @Test("every flipped byte of a signed statement is refused, and every cut")
    func damage() throws {
        let signed = try first().signed
        let bytes = signed.bytes
        for (index, other) in bytes.flipped.enumerated() {
            let refusal = refusal { _ = try chain(SignedStatement(other)) }
            #expect(refusal != nil, "byte \(index)")
        }
        for other in bytes.cutAndContinued { #expect(refusal { try chain(SignedStatement(other)) } == .damaged) }
    }

    @Test("the newest identity gives all that went before, and no stranger's")
    func earlierSeeds() throws {
        let one = try first()
        let two = try one.identity.replacingKeys()
        let three = try two.identity.adding(device: laptop.publicKeys, deviceName: "")
        let four = try three.identity.replacingKeys()
        let chain = try chain(one.signed, two.signed, three.signed, four.signed)
        let identities = chain.identities(from: try four.signed.openIdentity(as: laptop.boxes))
        #expect(identities.map(\.publicKeys) == [four, two, one].map(\.identity.keys.publicKeys))
        #expect(chain.identities(from: phone).map(\.publicKeys) == [phone.publicKeys], "another seed opens none")
        // A seed that the statement before does not have the keys of.
        let lying = Statement(
            scope: Samples.scope, number: 2, previousHash: one.signed.statement.hash,
            keys: two.identity.keys.publicKeys,
            codeKey: one.signed.statement.codeKey, devices: one.signed.statement.devices,
            earlierSeed: EarlierSeed.seal(laptop, for: two.identity.keys, behind: one.signed.statement.hash))
        #expect(
            refusal {
                try EarlierSeed.open(lying, with: two.identity.keys, before: one.signed.statement)
            } == .damaged)
    }

    @Test("whoever goes does not keep the identity: without a device, or with another code, its keys are others")
    func sameKeys() throws {
        let one = try first()
        let two = try one.identity.adding(device: laptop.publicKeys, deviceName: "")
        let last = two.signed.statement
        func signed(codeKey: [UInt8], devices: [Statement.Device], earlierSeed: [UInt8] = []) -> SignedStatement {
            let statement = Statement(
                scope: Samples.scope, number: 3, previousHash: last.hash, keys: last.keys, codeKey: codeKey,
                devices: devices, earlierSeed: earlierSeed)
            let anchor = codeKey == last.codeKey ? [] : Samples.file(32)
            return SignedStatement(
                statement: statement,
                ownSignature: one.identity.keys.sign(
                    SignedStatement.ownMessage(statement, anchor: anchor, boxes: two.signed.boxes)),
                previousSignature: one.identity.keys.sign(SignedStatement.nextMessage(statement)), anchor: anchor,
                boxes: two.signed.boxes)
        }
        let otherCode = RecoveryCode().paperKey(Samples.scope).publicKey
        _ = try chain(one.signed, two.signed, signed(codeKey: last.codeKey, devices: last.devices))
        for refused in [
            signed(codeKey: last.codeKey, devices: [last.devices[0]]),
            signed(codeKey: otherCode, devices: last.devices),
            signed(
                codeKey: last.codeKey, devices: last.devices,
                earlierSeed: EarlierSeed.seal(phone, for: one.identity.keys, behind: last.hash)),
        ] { #expect(refusal { try chain(one.signed, two.signed, refused) } == .brokenChain) }
    }

    @Test("a code gets the newest identity back, from the statement that it was made with on")
    func recovery() throws {
        let one = try first()
        let two = try one.identity.adding(device: laptop.publicKeys, deviceName: "")
        let three = try two.identity.replacingKeys(withoutDevices: [phone.publicKeys])
        let all = [one.signed, two.signed, three.signed]
        func recovered(_ signed: [SignedStatement], code: RecoveryCode? = nil) throws -> PublicKeys {
            try StatementChain.recover(signed, of: Samples.scope, code: code ?? self.code).keys.publicKeys
        }
        #expect(try recovered(all) == three.identity.keys.publicKeys)
        #expect(refusal { try recovered(all, code: RecoveryCode()) } == .wrongCode)
        #expect(refusal { try recovered([]) } == .brokenChain)
        #expect(refusal { try recovered([one.signed, three.signed]) } == .brokenChain)
        // With another code the old one is good for nothing, and the new one begins where it was made.
        let newCode = RecoveryCode()
        let four = try three.identity.replacingKeys(code: newCode)
        #expect(try recovered(all + [four.signed], code: newCode) == four.identity.keys.publicKeys)
        #expect(try recovered([four.signed], code: newCode) == four.identity.keys.publicKeys)
        // What went before is known again, too, as far as the hashes go on.
        let identity = try StatementChain.recover(all + [four.signed], of: Samples.scope, code: newCode)
        let chain = identity.chain
        #expect(chain.statements == (all + [four.signed]).map(\.statement))
        #expect(chain.identities(from: identity.keys).map(\.publicKeys).last == one.identity.keys.publicKeys)
        let stranger = try first().signed
        let other = try StatementChain.recover([stranger, all[2], four.signed], of: Samples.scope, code: newCode).chain
        #expect(other.statements.map(\.number) == [3, 4])
        #expect(refusal { try SafetyNumber.digits(of: other, and: chain) } == .brokenChain)
        #expect(refusal { try recovered(all + [four.signed]) } == .wrongCode)
        // A server that makes an identity for the code's public key lacks the anchor.
        let mallory = KeyPairs(seed: Samples.key(66))
        let statement = Statement(
            scope: Samples.scope, number: 1, previousHash: Statement.noHash, keys: mallory.publicKeys,
            codeKey: one.signed.statement.codeKey, devices: [.init(keys: Samples.device(66).publicKeys)])
        let invented = SignedStatement(
            statement: statement,
            ownSignature: mallory.sign(
                SignedStatement.ownMessage(statement, anchor: one.signed.anchor, boxes: one.signed.boxes)),
            previousSignature: [], anchor: one.signed.anchor, boxes: one.signed.boxes)
        #expect(refusal { try recovered([invented]) } == .brokenChain)
        #expect(refusal { try recovered([one.signed, invented]) } == .brokenChain)
    }

    @Test("a name of a device is cut to its limit, and one that does not open is none")
    func names() throws {
        let keys = KeyPairs(seed: Samples.key(1))
        let long = String(repeating: "é", count: 150)
        let sealed = DeviceName.seal(long, of: phone.publicKeys, identity: keys)
        #expect(sealed.count <= Limits.sealedNameBytes)
        #expect(DeviceName.open(sealed, of: phone.publicKeys, identity: keys) == String(repeating: "é", count: 100))
        #expect(DeviceName.open(sealed, of: laptop.publicKeys, identity: keys) == nil)
        #expect(DeviceName.open(sealed, of: phone.publicKeys, identity: laptop) == nil)
        #expect(DeviceName.open([], of: phone.publicKeys, identity: keys) == nil)
    }

    @Test("two people see one safety number, and another one as soon as a key or a beginning is another")
    func safetyNumbers() throws {
        let ann = try first()
        let bobScope = IdentityScope(account: "_bob", container: Samples.scope.container, environment: "production")
        let bob = try StatementChain(first: first(bobScope).signed, of: bobScope)
        var anns = try chain(ann.signed)
        let number = try SafetyNumber.digits(of: anns, and: bob)
        #expect(number.count == 60 && number.allSatisfy { ("0"..."9").contains($0) })
        #expect(try SafetyNumber.digits(of: bob, and: anns) == number)
        #expect(try SafetyNumber.digits(of: chain(first().signed), and: bob) != number, "a stranger's chain")
        try anns.append(ann.identity.adding(device: laptop.publicKeys, deviceName: "").signed)
        #expect(try SafetyNumber.digits(of: anns, and: bob) == number, "another device is no other identity")
        try anns.append(
            try ann.identity.adding(device: laptop.publicKeys, deviceName: "").identity.replacingKeys().signed)
        #expect(try SafetyNumber.digits(of: anns, and: bob) != number)
    }
}
