internal import BrumeEncryption

extension FuzzTarget {
    /// What devices hand each other through the server, and links and codes that a person brings. Each kind begins
    /// with its own label, so that all of them are tried.
    static let encryption = FuzzTarget(
        name: "encryption",
        run: { bytes in
            let bytes = Array(bytes)
            refusing {
                let signed = try SignedStatement(bytes)
                precondition(signed.bytes == bytes, "a statement was read from other bytes than it writes")
                _ = try StatementChain(first: signed, of: signed.statement.scope)
            }
            refusing {
                let signed = try SignedRingEntry(bytes)
                precondition(signed.bytes == bytes, "a ring's entry was read from other bytes than it writes")
                let chain = try RingChain(first: signed, of: signed.entry.ring, statements: device.statements)
                _ = chain.keys(of: device.identity)
            }
            refusing { try ring.take(bytes) }
            refusing { try ring.admit(bytes) }
            refusing {
                var secret = AssetDecryptor(try AssetSecret(bytes))
                precondition(secret.nextChunkByteCount! <= AssetLayout.chunkBytes, "a chunk of more than 64 KiB")
                var file: [UInt8] = []
                try bytes.decoded { try secret.decrypt($0, appendingTo: &file) }
            }
            refusing { _ = try AssetSecret.list(bytes, blobCount: bytes.first.map(Int.init) ?? 0) }
            refusing { _ = try record.open(bytes, field: "f", valueType: "STRING") }
            refusing { try record.check(stamp: bytes, parent: nil) }
            refusing { try device.take(bytes) }
            let text = String(decoding: bytes, as: UTF8.self)
            refusing {
                let fragment = try LinkFragment(text)
                precondition(fragment.text == text, "a link was read from another text than it writes")
                precondition(LinkFragment.resembles(text), "a link does not read like one")
            }
            refusing { _ = try RecoveryCode(text) }
        },
        seeds: { (try? SeededRandomness.testOnly_use(seed: 3, encryptionSeeds)) ?? [] })

    private static func refusing(_ body: () throws -> Void) {
        do {
            try body()
        } catch {
            precondition(error is EncryptionRefusal, "bytes from outside end in another error: \(error)")
        }
    }

    private static let key = SecretKey(copying: [UInt8](repeating: 1, count: 32))
    private static let place = try! Place(
        container: "iCloud.app", environment: "development", owner: "_u", zone: "Notes",
        ringID: [UInt8](repeating: 2, count: 16))
    private static let record = TreeCipher(
        tree: Tree(place: place, root: "r", kind: .isPrivate), ringKey: key, number: 1
    ).record(named: "n", type: "T")
    // The same keys in each process: what the corpus holds goes on being read to its end, and findings come back.
    private static let device = SeededRandomness.testOnly_use(seed: 1) { FuzzedDevices() }
    private static let ring = SeededRandomness.testOnly_use(seed: 2) {
        FuzzedRing(place: place, owner: device.identity)
    }

    private static func encryptionSeeds() throws -> [[UInt8]] {
        let devices = device
        let statements = [
            devices.first, try devices.identity.adding(device: devices.new.publicKeys, deviceName: "x").signed,
        ]
        let invitation = try RingInvitation.make(
            maker: "_u", makerKeys: nil, owner: devices.identity.keys.publicKeys, role: .reader, isForOneGuest: false,
            isOpen: true, secret: LinkSecret())
        let owner = RingMember(user: "_u", statementHash: devices.first.statement.hash, role: .owner)
        let ring = try RingAuthor(user: "_u", identity: devices.identity.keys, statements: devices.statements)
            .begin(RingName(place: place), RingDraft(members: [owner], invitations: [invitation]))
        var encryptor = AssetEncryptor(key: key, layout: AssetLayout(length: 0)!)
        var blob: [UInt8] = []
        [].withUnsafeBytes { encryptor.encrypt($0, appendingTo: &blob) }
        let secret = encryptor.finish()
        let link = LinkFragment(ownersFirstStatement: devices.first.statement.hash, secret: LinkSecret(), title: "a")
        return statements.map(\.bytes) + [
            ring.entries[0].bytes, secret.copyBytes(), AssetSecret.copyBytes(of: [secret]),
        ]
            + [record.seal([1], field: "f", valueType: "STRING"), record.stamp(parent: nil)] + devices.messages
            + [Array(link.text.utf8), Array(RecoveryCode().text.utf8)] + FuzzTarget.ring.seeds
    }
}

/// Two devices that wait for each other's messages.
private struct FuzzedDevices: Sendable {
    let scope = IdentityScope(account: "_u", container: "iCloud.app", environment: "development")
    let new = KeyPairs(seed: SecretKey(copying: [UInt8](repeating: 3, count: 32)))
    let old = KeyPairs(seed: SecretKey(copying: [UInt8](repeating: 4, count: 32)))
    let identity: Identity
    let first: SignedStatement
    private let asking: NewDeviceStateMachine
    private let enrolling: EnrollingDeviceStateMachine
    let messages: [[UInt8]]
    let statements: StatementDirectory

    private static let request = [UInt8](repeating: 5, count: 16)

    init() {
        do {
            (identity, first) = try Identity.first(
                scope: scope, device: old.publicKeys, deviceName: "old", code: RecoveryCode())
            asking = NewDeviceStateMachine(scope: scope, device: new, requestID: Self.request)
            enrolling = try EnrollingDeviceStateMachine(
                identity: identity, device: old, requestID: Self.request, commitment: asking.commitment!)
            var statements = StatementDirectory()
            statements.add(try StatementChain(first: first, of: scope))
            self.statements = statements
            var asked = asking
            messages = [asking.commitment!, enrolling.offer!, try asked.take(offer: enrolling.offer!).opening]
        } catch { preconditionFailure("two devices can't begin to talk: \(error)") }
    }

    /// Takes some bytes for each message that could come.
    func take(_ bytes: [UInt8]) throws(EncryptionRefusal) {
        var asking = asking
        var enrolling = enrolling
        _ = try? asking.take(offer: bytes)
        try? enrolling.take(opening: bytes)
        _ = try EnrollingDeviceStateMachine(
            identity: identity, device: old, requestID: Self.request, commitment: bytes)
    }
}
