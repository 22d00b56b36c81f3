import CSodium
import Foundation

@testable import BrumeEncryption

extension Vector {
    /// What the vector's bytes are, in the form of its result.
    func read() throws -> Any {
        switch text("kind") {
        case "pad": Padding.padded(UInt64(number("length")))
        case "hash": Self.hex(Digest.hash(message))
        case "derive": Self.hex(Digest.derive(key("key"), message))
        case "seed": Self.json(KeyPairs(seed: key("seed")).publicKeys)
        case "sign": Self.hex(KeyPairs(seed: key("seed")).sign(message))
        case "box": Self.hex(try openBox())
        case "tree": ["id": Self.hex(try tree.id), "key": Self.hex(try tree.key(from: key("ringKey")))]
        case "field":
            Self.hex(try record.open(bytes("value"), field: text("field"), valueType: text("valueType")))
        case "stamp": try readStamp()
        case "asset": Self.hex(try Self.file(blob: bytes("blob"), AssetSecret(bytes("secret"))))
        case "assetLarge": try makeAsset()
        case "assetList":
            try AssetSecret.list(bytes("secrets"), blobCount: number("count")).map { Self.hex($0.copyBytes()) }
        case "code": Self.hex(try RecoveryCode(text("text")).secret)
        case "paper": Self.hex(RecoveryCode(bytes: bytes("code")).paperKey(scope).publicKey)
        case "anchor": Self.hex(RecoveryCode(bytes: bytes("code")).anchor(statementHash: bytes("statementHash")))
        case "statements": try readStatements()
        case "seedBox": Self.hex(try openSeed(SignedStatement(bytes("signed")), KeyPairs(seed: key("seed")).boxes))
        case "earlierSeed": try readEarlierSeed()
        case "deviceName":
            DeviceName.open(
                bytes("sealed"), of: PublicKeys(signing: [], box: bytes("device")),
                identity: KeyPairs(seed: key("seed")))
                ?? NSNull() as Any
        case "recovery": try recover()
        case "safetyNumber": SafetyNumber.digits(of: inner("first").party, and: inner("second").party)
        case "enrolment": try readEnrolment().result
        case "enrolmentDone": try readEnrolmentDone()
        case "ring": try readRing()
        case "link": try readLink()
        case "joinProof":
            Self.hex(
                LinkSecret(seed: key("secret")).joinProof(
                    ring: try ringName, invitationID: bytes("id"), guest: text("guest"),
                    statementHash: bytes("statementHash")))
        case "invitation": Self.hex(RingInvitation.id(ofParticipant: text("participant")))
        default: try readLinkBox()
        }
    }

    private static func json(_ keys: PublicKeys) -> [String: String] {
        ["signing": hex(keys.signing), "box": hex(keys.box)]
    }

    private func openBox() throws -> [UInt8] {
        let opened = try KeyPairs(seed: key("seed")).open(bytes("box"))
        guard opened.starts(with: message.bytes) else { throw EncryptionRefusal.damaged }
        return opened
    }

    private func readStamp() throws -> Bool {
        try record.check(stamp: bytes("stamp"), parent: values["parent"] as? String)
        return true
    }

    // MARK: Assets

    private static func file(blob: [UInt8], _ secret: AssetSecret) throws -> [UInt8] {
        var decryptor = AssetDecryptor(secret)
        guard UInt64(blob.count) == secret.layout.blobByteCount else { throw EncryptionRefusal.damaged }
        var file: [UInt8] = []
        var rest = blob[...]
        while let count = decryptor.nextChunkByteCount {
            try rest.prefix(count).withUnsafeBytes { try decryptor.decrypt($0, appendingTo: &file) }
            rest = rest.dropFirst(count)
        }
        try decryptor.finish()
        return file
    }

    private static func sha256(_ bytes: [UInt8]) -> String {
        var digest = [UInt8](repeating: 0, count: crypto_hash_sha256_bytes())
        crypto_hash_sha256(&digest, bytes, UInt64(bytes.count))
        return hex(digest)
    }

    private func makeAsset() throws -> [String: String] {
        let file = (0..<number("length")).map { UInt8(($0 * 31 + number("seedByte")) % 251) }
        var encryptor = AssetEncryptor(key: key("key"), layout: AssetLayout(length: UInt64(file.count))!)
        var blob: [UInt8] = []
        var rest = file[...]
        while let count = encryptor.nextFileByteCount {
            rest.prefix(count).withUnsafeBytes { encryptor.encrypt($0, appendingTo: &blob) }
            rest = rest.dropFirst(count)
        }
        let secret = encryptor.finish()
        guard try Self.file(blob: blob, secret) == file else { throw EncryptionRefusal.damaged }
        return ["secret": Self.hex(secret.copyBytes()), "blobHash": Self.sha256(blob)]
    }

    // MARK: Identities

    private func chain(_ signed: [SignedStatement]) throws -> KnownStatements {
        guard let first = signed.first else { throw EncryptionRefusal.brokenChain }
        return try KnownStatements(signed, of: first.statement.scope, trust: .seen)
    }

    private func readStatements() throws -> [String: Any] {
        let chain = try chain(list("chain").map { try SignedStatement($0) }).chain
        return [
            "number": Int(chain.last.number), "hash": Self.hex(chain.last.hash),
            "firstHash": Self.hex(chain.first.hash),
        ]
    }

    private func openSeed(_ signed: SignedStatement, _ device: BoxPair) throws -> SecretKey {
        try signed.checkOwnSignature()
        return try signed.openIdentity(as: device).seed
    }

    private func readEarlierSeed() throws -> String {
        let signed = try SignedStatement(bytes("signed"))
        let before = try SignedStatement(bytes("before")).statement
        guard signed.statement.previousHash == before.hash else { throw EncryptionRefusal.brokenChain }
        try signed.checkOwnSignature()
        return Self.hex(try EarlierSeed.open(signed.statement, with: KeyPairs(seed: key("seed")), before: before).seed)
    }

    private func recover() throws -> [String: String] {
        let code = RecoveryCode(bytes: bytes("code"))
        let signed = try list("chain").map { try SignedStatement($0) }
        let seed = try StatementChain.recover(signed, of: inner("scope").scope, code: code).keys.seed
        return ["seed": Self.hex(seed)]
    }

    private var party: SafetyNumber.Party {
        SafetyNumber.Party(
            scope: scope, firstHash: bytes("firstHash"), keys: PublicKeys(signing: bytes("signing"), box: bytes("box")))
    }

    // MARK: Enrolment

    private func readEnrolment() throws -> (
        result: [String: String], transcript: EnrolmentTranscript, opening: EnrolmentMessage.Opening
    ) {
        let who = inner("who")
        let messages = list("messages")
        let commitment = try EnrolmentMessage.Commitment(messages[0])
        let offer = try EnrolmentMessage.Offer(messages[1])
        let opening = try EnrolmentMessage.Opening(messages[2])
        let request = who.bytes("request")
        guard EnrolmentTranscript.commitment(scope: who.scope, requestID: request, to: opening) == commitment else {
            throw EncryptionRefusal.damaged
        }
        let transcript = EnrolmentTranscript(
            scope: who.scope, requestID: request, commitment: commitment, offer: offer, opening: opening)
        let result = [
            "commitment": Self.hex(commitment.hash), "H": Self.hex(transcript.hash),
            "codeOfN": transcript.codeOfNewDevice, "codeOfA": transcript.codeOfDevice,
        ]
        return (result, transcript, opening)
    }

    private func readEnrolmentDone() throws -> [String: String] {
        let (_, transcript, opening) = try readEnrolment()
        let device = KeyPairs(seed: key("deviceSeed"))
        guard opening.device == device.publicKeys else { throw EncryptionRefusal.damaged }
        let who = inner("who")
        var machine = NewDeviceStateMachine(
            scope: who.scope, device: device, requestID: who.bytes("request"), random: opening.random)
        let messages = list("messages")
        guard try machine.take(offer: messages[1]) == (messages[2], transcript.codeOfNewDevice) else {
            throw EncryptionRefusal.damaged
        }
        try machine.typed(transcript.codeOfDevice)
        let done = messages[3]
        let hash = try EnrolmentMessage.Done(done).statementHash
        let statements = try chain(list("chain").map { try SignedStatement($0) })
        let seed = try machine.take(done: done, statements: statements).keys.seed
        return ["seed": Self.hex(seed), "statementHash": Self.hex(hash)]
    }

    // MARK: Rings

    private func readRing() throws -> [String: Any] {
        var statements = StatementDirectory()
        var chains: [String: StatementChain] = [:]
        for account in values["statements"] as! [[String: Any]] {
            let signed = try Vector(values: account).list("signed").map { try SignedStatement($0) }
            let chain = try chain(signed).chain
            statements.add(chain)
            chains[chain.last.scope.account] = chain
        }
        let entries = try list("entries").map { try SignedRingEntry($0) }
        guard let first = entries.first else { throw EncryptionRefusal.brokenChain }
        let chain = try KnownRing(entries, of: first.entry.ring, statements: statements).chain
        let keyring: RingKeyring
        if values["zoneKey"] != nil {
            let zoneKey = inner("zoneKey")
            keyring = chain.keys(zoneKeys: [UInt32(zoneKey.number("number")): zoneKey.key("key")])
        } else if let invitation = inner("reader").values["invitation"] as? String {
            keyring = try chain.keys(of: LinkSecret(seed: SecretKey(copying: Self.bytes(invitation))))
        } else {
            let reader = inner("reader")
            let newest = KeyPairs(seed: reader.key("seed"))
            keyring = chain.keys(of: Identity(keys: newest, chain: chains[reader.text("user")]!))
        }
        func json(_ keys: [UInt32: SecretKey]) -> [String: String] {
            Dictionary(uniqueKeysWithValues: keys.map { ("\($0)", Self.hex($1)) })
        }
        var result: [String: Any] = [
            "number": Int(chain.head.number), "hash": Self.hex(chain.head.hash), "keys": json(keyring.keys),
        ]
        if !keyring.treeKeys.isEmpty { result["treeKeys"] = json(keyring.treeKeys) }
        return result
    }

    private func readLink() throws -> [String: Any] {
        let fragment = try LinkFragment(text("fragment"))
        return [
            "owner": Self.hex(fragment.owner), "secret": Self.hex(fragment.secret.pairs.seed),
            "title": fragment.title as Any? ?? NSNull(),
        ]
    }

    private func readLinkBox() throws -> [String: String] {
        let (id, secret) = try LinkSecret.open(bytes("box"), as: KeyPairs(seed: key("seed")))
        return ["id": Self.hex(id), "secret": Self.hex(secret.pairs.seed)]
    }
}
