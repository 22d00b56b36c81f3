/// What a member of a ring may do to it. Who may write records is the share's affair.
package enum RingRole: UInt8, Hashable, Sendable {
    case owner
    /// Adds and drops, and makes invitations.
    case administrator
    /// Drops, and takes in who has a join proof.
    case writer
    case reader

    /// Whether this role allows no more than another one.
    func isAtMost(_ other: RingRole) -> Bool { rawValue >= other.rawValue }
}

/// Somebody who has a ring's key.
package struct RingMember: Hashable, Sendable {
    /// By which invitation, and with which proof.
    package struct Joining: Hashable, Sendable {
        package let invitationID: [UInt8]
        package let proof: [UInt8]

        package init(invitationID: [UInt8], proof: [UInt8]) {
            self.invitationID = invitationID
            self.proof = proof
        }
    }

    /// The user record name.
    package let user: String
    /// The statement to whose identity the key is boxed.
    package let statementHash: [UInt8]
    package let role: RingRole
    /// How a guest came in; set in the one entry that adds him.
    package let joining: Joining?

    package init(user: String, statementHash: [UInt8], role: RingRole, joining: Joining? = nil) {
        self.user = user
        self.statementHash = statementHash
        self.role = role
        self.joining = joining
    }

    package static func == (left: RingMember, right: RingMember) -> Bool {
        left.user.hasBytes(of: right.user) && left.statementHash == right.statementHash && left.role == right.role
            && left.joining == right.joining
    }
}

extension PartWriter {
    mutating func write(_ member: RingMember) {
        write(text: member.user)
        write(bytes: member.statementHash)
        write(u8: member.role.rawValue)
        write(bytes: member.joining?.invitationID ?? [])
        write(bytes: member.joining?.proof ?? [])
    }
}

extension PartReader {
    mutating func readMember() throws(EncryptionRefusal) -> RingMember {
        let user = try readText()
        let statementHash = try readBytes(exactly: Digest.byteCount)
        let role = RingRole(rawValue: try readU8())
        let invitationID = try readBytes(atMost: RingInvitation.idBytes)
        let proof = try readBytes(atMost: Signature.byteCount)
        let isJoining = invitationID.count == RingInvitation.idBytes && proof.count == Signature.byteCount
        guard AccountName.isValid(user), let role, isJoining || (invitationID.isEmpty && proof.isEmpty) else {
            throw .damaged
        }
        return RingMember(
            user: user, statementHash: statementHash, role: role,
            joining: isJoining ? .init(invitationID: invitationID, proof: proof) : nil)
    }
}
