/// The secret of a link: a seed, of which an invitation has the public keys (Documentation/EncryptionFormats.md,
/// section 11).
package struct LinkSecret: Sendable {
    let pairs: KeyPairs

    /// A secret that nobody had before.
    package init() { self.init(seed: .random()) }

    package init(seed: SecretKey) { pairs = KeyPairs(seed: seed) }

    /// What it is kept as.
    package var seed: SecretKey { pairs.seed }

    /// What shows, to whoever looks at the ring, that a guest had the link.
    package func joinProof(ring: RingName, invitationID: [UInt8], guest: String, statementHash: [UInt8]) -> [UInt8] {
        pairs.sign(Self.joinMessage(ring: ring, invitationID: invitationID, guest: guest, statementHash: statementHash))
    }

    static func joinMessage(
        ring: RingName, invitationID: [UInt8], guest: String, statementHash: [UInt8]
    ) -> PartWriter {
        var message = PartWriter(.join)
        message.write(ring)
        message.write(bytes: invitationID)
        message.write(text: guest)
        message.write(bytes: statementHash)
        return message
    }

    /// The secret for somebody who will want to show the link again.
    func box(id: [UInt8], to identity: PublicKeys) throws(EncryptionRefusal) -> [UInt8] {
        var message = PartWriter(.linkBox)
        defer { message.wipe() }
        message.write(bytes: id)
        message.write(pairs.seed)
        return try BoxPair.box(message, to: identity.box)
    }

    /// What a box holds that was made for an identity: the invitation's id, and the secret.
    static func open(
        _ box: [UInt8], as identity: KeyPairs
    ) throws(EncryptionRefusal) -> (id: [UInt8], secret: LinkSecret) {
        var reader = try PartReader(try identity.open(box), .linkBox)
        defer { reader.wipe() }
        let id = try reader.readBytes(exactly: RingInvitation.idBytes)
        let secret = LinkSecret(seed: try reader.readKey())
        try reader.end()
        return (id, secret)
    }
}
