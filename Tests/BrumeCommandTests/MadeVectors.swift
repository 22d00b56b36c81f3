import Foundation

@testable import BrumeEncryption

/// Vectors that this implementation makes of random keys, in the form of Tests/Fixtures/encryption-1.json, and some of
/// them with one bit flipped.
struct MadeVectors {
    private let ann = IdentityScope(account: "_ann", container: "iCloud.example", environment: "production")
    private let bob = IdentityScope(account: "_bob", container: "iCloud.example", environment: "production")
    private let place: Place

    init() throws {
        place = try Place(
            container: "iCloud.example", environment: "production", owner: "_ann", zone: "Grüße",
            ringID: Sodium.randomBytes(16))
    }

    func all() throws -> [[String: Any]] {
        try values() + assets() + codes() + identities() + enrolment() + rings()
    }

    private func hex(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    private func hex(_ key: SecretKey) -> String { hex(key.copyBytes()) }

    private func flipped(_ bytes: [UInt8], at index: Int) -> [UInt8] {
        var bytes = bytes
        bytes[index] ^= 1
        return bytes
    }

    private var placeJSON: [String: Any] {
        [
            "container": place.container, "environment": place.environment, "owner": place.owner, "zone": place.zone,
            "ring": hex(place.ringID),
        ]
    }

    // MARK: Values

    private func values() -> [[String: Any]] {
        var vectors: [[String: Any]] = []
        for (root, kind) in [("list", Tree.Kind.isPrivate), ("list", .isShared), (Tree.wholeZone, .isPrivate)] {
            let ringKey = SecretKey.random()
            let number = UInt32.random(in: 1...1_000_000)
            let record = TreeCipher(tree: Tree(place: place, root: root, kind: kind), ringKey: ringKey, number: number)
                .record(named: "note", type: "Note")
            let common: [String: Any] = [
                "place": placeJSON, "ringKey": hex(ringKey), "record": "note", "type": "Note",
                "tree": ["root": root, "kind": Int(kind.rawValue), "number": Int(number)],
            ]
            for count in [0, 1, 28, 29, 2_000] {
                let value = Sodium.randomBytes(count)
                let sealed = record.seal(value, field: "text", valueType: "BYTES")
                let vector = common.merging([
                    "kind": "field", "name": "\(count) bytes", "field": "text", "valueType": "BYTES",
                    "value": hex(sealed), "result": hex(value),
                ]) { $1 }
                vectors.append(vector)
                vectors.append(refused(vector, "value", flipped(sealed, at: sealed.count - 1), "damaged"))
                vectors.append(refused(vector, "value", flipped(sealed, at: 5), "wrongTree"))
            }
            for parent in ["list", nil] {
                let stamp = record.stamp(parent: parent)
                let vector = common.merging([
                    "kind": "stamp", "name": "below \(parent ?? "nothing")", "parent": parent as Any? ?? NSNull(),
                    "stamp": hex(stamp), "result": true,
                ]) { $1 }
                vectors += [vector, refused(vector, "stamp", flipped(stamp, at: 30), "damaged")]
            }
        }
        return vectors
    }

    private func refused(_ vector: [String: Any], _ part: String, _ bytes: [UInt8], _ refusal: String) -> [String: Any]
    {
        var vector = vector
        vector["result"] = nil
        vector[part] = hex(bytes)
        vector["refusal"] = refusal
        vector["name"] = "\(vector["name"]!), a bit flipped"
        return vector
    }

    private func assets() -> [[String: Any]] {
        [0, 1, 100, 3_000].flatMap { count -> [[String: Any]] in
            let file = Sodium.randomBytes(count)
            var encryptor = AssetEncryptor(key: .random(), layout: AssetLayout(length: UInt64(count))!)
            var blob: [UInt8] = []
            file.withUnsafeBytes { encryptor.encrypt($0, appendingTo: &blob) }
            let vector: [String: Any] = [
                "kind": "asset", "name": "\(count) bytes", "secret": hex(encryptor.finish().copyBytes()),
                "blob": hex(blob), "result": hex(file),
            ]
            return [vector, refused(vector, "blob", flipped(blob, at: 0), "damaged")]
        }
    }

    private func codes() -> [[String: Any]] {
        (0..<5).map { _ in
            let code = RecoveryCode()
            return ["kind": "code", "name": "random", "text": code.text, "result": hex(code.secret)]
        }
    }

    // MARK: Identities

    private func identities() throws -> [[String: Any]] {
        let (phone, laptop) = (KeyPairs(seed: .random()), KeyPairs(seed: .random()))
        let code = RecoveryCode()
        let one = try Identity.first(scope: ann, device: phone.publicKeys, deviceName: "Telefon ☎︎", code: code)
        let two = try one.identity.adding(device: laptop.publicKeys, deviceName: "")
        let three = try two.identity.replacingKeys(withoutDevices: [phone.publicKeys])
        let signed = [one.signed, two.signed, three.signed]
        let chain = signed.map { hex($0.bytes) }
        let name = one.signed.statement.devices[0].name
        var broken = three.signed.bytes
        broken[broken.count - 1] ^= 1
        return [
            [
                "kind": "statements", "name": "three", "chain": chain,
                "result": [
                    "number": 3, "hash": hex(three.signed.statement.hash), "firstHash": hex(one.signed.statement.hash),
                ],
            ],
            [
                "kind": "statements", "name": "a spoilt box", "chain": [chain[0], chain[1], hex(broken)],
                "refusal": "badSignature",
            ],
            ["kind": "statements", "name": "one left out", "chain": [chain[0], chain[2]], "refusal": "brokenChain"],
            [
                "kind": "recovery", "name": "three", "code": hex(code.secret), "chain": chain,
                "scope": ["account": ann.account, "container": ann.container, "environment": ann.environment],
                "result": ["seed": hex(three.identity.keys.seed)],
            ],
            [
                "kind": "earlierSeed", "name": "three", "seed": hex(three.identity.keys.seed), "signed": chain[2],
                "before": chain[1], "result": hex(one.identity.keys.seed),
            ],
            [
                "kind": "deviceName", "name": "a name", "seed": hex(one.identity.keys.seed), "sealed": hex(name),
                "device": hex(phone.publicKeys.box), "result": "Telefon ☎︎",
            ],
        ]
    }

    private func enrolment() throws -> [[String: Any]] {
        let (phone, laptop) = (KeyPairs(seed: .random()), KeyPairs(seed: .random()))
        let request = Sodium.randomBytes(16)
        let one = try Identity.first(scope: ann, device: phone.publicKeys, deviceName: "", code: RecoveryCode())
        var new = NewDeviceStateMachine(scope: ann, device: laptop, requestID: request)
        let first = new.commitment!
        var old = try EnrollingDeviceStateMachine(
            identity: one.identity, device: phone, requestID: request, commitment: first)
        let second = old.offer!
        let (third, code) = try new.take(offer: second)
        try old.take(opening: third)
        _ = try old.typed(code)
        let two = try one.identity.adding(device: laptop.publicKeys, deviceName: "")
        let fourth = try old.done(statement: two.signed.statement)
        return [
            [
                "kind": "enrolmentDone", "name": "random",
                "who": [
                    "account": ann.account, "container": ann.container, "environment": ann.environment,
                    "request": hex(request),
                ],
                "messages": [first, second, third, fourth].map { hex($0) },
                "chain": [hex(one.signed.bytes), hex(two.signed.bytes)], "deviceSeed": hex(laptop.seed),
                "result": ["seed": hex(one.identity.keys.seed), "statementHash": hex(two.signed.statement.hash)],
            ]
        ]
    }

    // MARK: Rings

    private func rings() throws -> [[String: Any]] {
        var statements = StatementDirectory()
        var identities: [String: Identity] = [:]
        var accounts: [[String: Any]] = []
        for scope in [ann, bob] {
            let (identity, signed) = try Identity.first(
                scope: scope, device: KeyPairs(seed: .random()).publicKeys, deviceName: "", code: RecoveryCode())
            statements.add(try StatementChain(first: signed, of: scope))
            identities[scope.account] = identity
            accounts.append(["user": scope.account, "signed": [hex(signed.bytes)]])
        }
        func member(_ name: String, _ role: RingRole) -> RingMember {
            RingMember(user: name, statementHash: identities[name]!.statement.hash, role: role)
        }
        func author(_ name: String) -> RingAuthor {
            RingAuthor(user: name, identity: identities[name]!.keys, statements: statements)
        }
        let secret = LinkSecret()
        let invitation = try RingInvitation.make(
            maker: "_ann", makerKeys: nil, owner: identities["_ann"]!.keys.publicKeys, role: .reader,
            isForOneGuest: false, isOpen: true, secret: secret)
        var draft = RingDraft(
            members: [member("_ann", .owner), member("_bob", .writer)], invitations: [invitation], zoneKeyNumber: 2)
        draft.treeKeys = [1: .random(), 2: .random()]
        let ring = try RingName(place: place, root: "list")
        let one = try author("_ann").begin(ring, draft)
        func keys(_ chain: RingChain, _ name: String) -> RingKeyring {
            chain.keys(of: identities[name]!)
        }
        let two = try author("_bob").next(
            after: one, keys: keys(one, "_bob"), RingDraft(after: one.head, statements: statements))
        let keyring = keys(two, "_ann")
        func json(_ keys: [UInt32: SecretKey]) -> [String: String] {
            Dictionary(uniqueKeysWithValues: keys.map { ("\($0)", hex($1)) })
        }
        var vector: [String: Any] = [
            "kind": "ring", "name": "two entries", "statements": accounts,
            "entries": two.entries.map { hex($0.bytes) },
            "reader": ["user": "_bob", "seed": hex(identities["_bob"]!.keys.seed)],
            "result": [
                "number": 2, "hash": hex(two.head.hash), "keys": json(keyring.keys), "treeKeys": json(keyring.treeKeys),
            ],
        ]
        let read = vector
        vector["reader"] = ["invitation": hex(secret.pairs.seed)]
        let linked = vector
        vector["result"] = nil
        vector["refusal"] = "badSignature"
        let bytes = two.entries[1].bytes
        vector["entries"] = [hex(one.entries[0].bytes), hex(flipped(bytes, at: bytes.count - 1))]
        return [read, linked, vector]
    }
}
