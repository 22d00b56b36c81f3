/// A link by which guests become members: whoever has its secret can prove it.
package struct RingInvitation: Hashable, Sendable {
    static let idBytes = 16

    package let id: [UInt8]
    /// The user record name of its maker. An invitation goes with its maker, who knows the secret.
    package let maker: String
    /// The highest role that it gives: ``RingRole/writer`` or ``RingRole/reader``.
    package let role: RingRole
    /// Whether it is good for one guest alone.
    package let isForOneGuest: Bool
    /// Whether the secret opens the key by itself, so that who has no identity yet can read.
    package let isOpen: Bool
    /// The keys of the link's secret.
    package let keys: PublicKeys
    /// The secret, for the owner, and for whoever made it if that is another.
    let ownerBox: [UInt8]
    let makerBox: [UInt8]

    fileprivate init(
        id: [UInt8], maker: String, role: RingRole, isForOneGuest: Bool, isOpen: Bool, keys: PublicKeys,
        ownerBox: [UInt8],
        makerBox: [UInt8]
    ) {
        self.id = id
        self.maker = maker
        self.role = role
        self.isForOneGuest = isForOneGuest
        self.isOpen = isOpen
        self.keys = keys
        self.ownerBox = ownerBox
        self.makerBox = makerBox
    }

    /// The id of the invitation for the one guest whom a share has as a participant: so all devices of the owner's know
    /// whose link it is.
    package static func id(ofParticipant name: String) -> [UInt8] {
        var message = PartWriter(.participant)
        message.write(text: name)
        return Array(Digest.hash(message).prefix(idBytes))
    }

    /// An invitation with a new secret.
    ///
    /// - Parameters:
    ///   - id: ``id(ofParticipant:)`` for one guest alone; nil for one that nobody else has.
    ///   - maker: Who makes it: the author of the entry that it is for.
    ///   - makerKeys: The maker's identity, for showing the link again; nil where the owner makes it.
    ///   - owner: The identity of the ring's owner.
    package static func make(
        id: [UInt8]? = nil, maker: String, makerKeys: PublicKeys?, owner: PublicKeys, role: RingRole,
        isForOneGuest: Bool, isOpen: Bool,
        secret: LinkSecret
    ) throws(EncryptionRefusal) -> RingInvitation {
        precondition(role == .writer || role == .reader, "an invitation makes nobody an administrator")
        let id = id ?? Sodium.randomBytes(idBytes)
        precondition(id.count == idBytes, "an invitation's id is of another length")
        var makerBox: [UInt8] = []
        if let makerKeys { makerBox = try secret.box(id: id, to: makerKeys) }
        return RingInvitation(
            id: id, maker: maker, role: role, isForOneGuest: isForOneGuest, isOpen: isOpen,
            keys: secret.pairs.publicKeys,
            ownerBox: try secret.box(id: id, to: owner), makerBox: makerBox)
    }

    package static func == (left: RingInvitation, right: RingInvitation) -> Bool {
        left.id == right.id && left.maker.hasBytes(of: right.maker) && left.role == right.role
            && left.isForOneGuest == right.isForOneGuest && left.isOpen == right.isOpen && left.keys == right.keys
            && left.ownerBox == right.ownerBox && left.makerBox == right.makerBox
    }

    /// The link's secret, as its owner or its maker gets it.
    package func openSecret(as identity: KeyPairs) throws(EncryptionRefusal) -> LinkSecret {
        for box in [ownerBox, makerBox] where !box.isEmpty {
            // A maker can put anything into the owner's box: it is shown if it is this invitation's.
            guard let (id, secret) = try? LinkSecret.open(box, as: identity) else { continue }
            if id == self.id, secret.pairs.publicKeys == keys { return secret }
        }
        throw .keyMissing
    }

    /// Checks that a guest had the link.
    func check(
        _ proof: [UInt8], ofGuest guest: String, statementHash: [UInt8], ring: RingName
    ) throws(EncryptionRefusal) {
        let message = LinkSecret.joinMessage(
            ring: ring, invitationID: id, guest: guest, statementHash: statementHash)
        try Signature.check(proof, of: message, by: keys.signing)
    }

    /// Whether it may stand in the place of another one, as far as its role and its flags say.
    func replaces(_ other: RingInvitation) -> Bool {
        role == other.role && isForOneGuest == other.isForOneGuest && isOpen == other.isOpen
    }

    /// The sizes of the two boxes, of which the second may be missing.
    static let boxBytes =
        4 + Label.linkBox.text.utf8.count + 4 + idBytes + 4 + SecretKey.byteCount + BoxPair.overheadBytes
}

extension PartWriter {
    mutating func write(_ invitation: RingInvitation) {
        write(bytes: invitation.id)
        write(text: invitation.maker)
        write(u8: invitation.role.rawValue)
        write(u8: invitation.isForOneGuest ? 1 : 0)
        write(u8: invitation.isOpen ? 1 : 0)
        write(invitation.keys)
        write(bytes: invitation.ownerBox)
        write(bytes: invitation.makerBox)
    }
}

extension PartReader {
    mutating func readInvitation() throws(EncryptionRefusal) -> RingInvitation {
        let id = try readBytes(exactly: RingInvitation.idBytes)
        let maker = try readText()
        let role = RingRole(rawValue: try readU8())
        let isForOneGuest = try readFlag()
        let isOpen = try readFlag()
        let keys = try readKeys()
        let ownerBox = try readBytes(exactly: RingInvitation.boxBytes)
        let makerBox = try readBytes(atMost: RingInvitation.boxBytes)
        guard AccountName.isValid(maker), let role, makerBox.isEmpty || makerBox.count == RingInvitation.boxBytes
        else {
            throw .damaged
        }
        return RingInvitation(
            id: id, maker: maker, role: role, isForOneGuest: isForOneGuest, isOpen: isOpen, keys: keys,
            ownerBox: ownerBox,
            makerBox: makerBox)
    }

    mutating func readFlag() throws(EncryptionRefusal) -> Bool {
        let number = try readU8()
        guard number <= 1 else { throw .damaged }
        return number == 1
    }
}
