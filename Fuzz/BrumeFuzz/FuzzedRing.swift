internal import BrumeEncryption

/// The ring of a shared tree, whose next entry comes from somebody else, and guests who say that they had a link.
struct FuzzedRing: Sendable {
    private let statements: StatementDirectory
    private let owner: Identity
    private let guests: [Identity]
    /// With a link for many and one for one guest.
    private let begun: RingChain
    /// With both guests as members, of whom one reads alone.
    private let joined: RingChain
    /// Without one of them, and with another link.
    private let left: RingChain
    /// The links' secrets, in the order of the invitations.
    private let secrets: [LinkSecret]

    init(place: Place, owner: Identity) {
        do throws(EncryptionRefusal) {
            self.owner = owner
            let user = owner.statement.scope.account
            var statements = StatementDirectory()
            statements.add(owner.chain)
            guests = try ["_g", "_h"].map { name throws(EncryptionRefusal) in
                let scope = IdentityScope(account: name, container: place.container, environment: place.environment)
                let device = KeyPairs(seed: .random()).publicKeys
                return try Identity.first(scope: scope, device: device, deviceName: "", code: RecoveryCode()).identity
            }
            for guest in guests { statements.add(guest.chain) }
            secrets = [LinkSecret(), LinkSecret()]
            var draft = RingDraft(members: [
                RingMember(user: user, statementHash: owner.statement.hash, role: .owner)
            ])
            for (secret, isForOneGuest) in zip(secrets, [false, true]) {
                draft.invitations.append(
                    try RingInvitation.make(
                        maker: user, makerKeys: nil, owner: owner.keys.publicKeys, role: .writer,
                        isForOneGuest: isForOneGuest, isOpen: false, secret: secret))
            }
            draft.zoneKeyNumber = 1
            draft.treeKeys = [1: .random()]
            let author = RingAuthor(user: user, identity: owner.keys, statements: statements)
            begun = try author.begin(RingName(place: place, root: "r"), draft)
            draft = RingDraft(after: begun.head, statements: statements)
            for (place, guest) in guests.enumerated() {
                let joining = Self.joining(guest, begun.head.invitations[place], secrets[place], begun.head.ring)
                draft.admit(
                    RingMember(
                        user: guest.statement.scope.account, statementHash: guest.statement.hash,
                        role: place == 0 ? .writer : .reader, joining: joining))
            }
            joined = try author.next(after: begun, keys: begun.keys(of: owner), draft)
            draft = RingDraft(after: joined.head, statements: statements)
            draft.drop([guests[1].statement.scope.account])
            _ = try draft.replaceLinks(owner: owner.keys.publicKeys, author: user, authorKeys: nil)
            left = try author.next(after: joined, keys: joined.keys(of: owner), draft)
            self.statements = statements
        } catch {
            preconditionFailure("a ring with guests can't be made: \(error)")
        }
    }

    private static func joining(
        _ guest: Identity, _ invitation: RingInvitation, _ secret: LinkSecret, _ ring: RingName
    ) -> RingMember.Joining {
        RingMember.Joining(
            invitationID: invitation.id,
            proof: secret.joinProof(
                ring: ring, invitationID: invitation.id, guest: guest.statement.scope.account,
                statementHash: guest.statement.hash))
    }

    /// The two later entries, and what a guest sends to be taken in.
    var seeds: [[UInt8]] {
        let proof = Self.joining(guests[0], begun.head.invitations[0], secrets[0], begun.head.ring)
        return [joined.entries[1].bytes, left.entries[2].bytes, proof.invitationID + proof.proof]
    }

    /// Takes an entry behind each that there is, and looks for keys in it as each member does.
    func take(_ bytes: [UInt8]) throws(EncryptionRefusal) {
        let signed = try SignedRingEntry(bytes)
        let outline = try RingOutline(kept: bytes)
        let others = signed.entry.members.count { $0.role != .owner }
        precondition(
            outline.number == signed.entry.number && outline.hash == signed.entry.hash
                && outline.others.count == others, "an entry's outline is another one's")
        var refusal: EncryptionRefusal?
        for var chain in [begun, joined] {
            do throws(EncryptionRefusal) {
                try chain.append(signed, statements: statements)
            } catch {
                refusal = error
                continue
            }
            for identity in [owner] + guests {
                let isMember = signed.entry.member(named: identity.statement.scope.account) != nil
                precondition(isMember || chain.keys(of: identity).current == nil, "somebody who is out has the key")
            }
        }
        if let refusal { throw refusal }
    }

    /// Looks at an invitation's id and a proof as at a guest's: it holds for the guest alone who made it.
    func admit(_ bytes: [UInt8]) throws(EncryptionRefusal) {
        let (id, proof) = (Array(bytes.prefix(16)), Array(bytes.dropFirst(16)))
        var admitted: [String] = []
        for guest in guests {
            let user = guest.statement.scope.account
            let member = begun.head.member(
                joining: user, statementHash: guest.statement.hash, invitationID: id, proof: proof,
                wantedRole: .writer)
            if member != nil { admitted.append(user) }
        }
        precondition(admitted.isEmpty || admitted == ["_g"], "a proof holds for somebody else: \(admitted)")
        try begun.head.check(
            RingMember.Joining(invitationID: id, proof: proof), ofGuest: "_g", statementHash: guests[0].statement.hash)
    }
}
