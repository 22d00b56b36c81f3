/// What two devices of an account have to agree on, and the codes by which a person makes sure that they do.
struct EnrolmentTranscript: Hashable, Sendable {
    static let randomBytes = 32
    static let requestIDBytes = 16

    /// All that was said, hashed.
    let hash: [UInt8]

    init(
        scope: IdentityScope, requestID: [UInt8], commitment: EnrolmentMessage.Commitment,
        offer: EnrolmentMessage.Offer, opening: EnrolmentMessage.Opening
    ) {
        var message = PartWriter(.enrolment, capacity: 512)
        message.write(scope)
        message.write(bytes: requestID)
        message.write(bytes: commitment.hash)
        offer.write(to: &message)
        opening.write(to: &message)
        hash = Digest.hash(message)
    }

    /// What the new device shows, and a person types into the other.
    var codeOfNewDevice: String { code(at: 0) }
    /// What the account's device shows then, and the person types into the new one.
    var codeOfDevice: String { code(at: 1) }

    static func commitment(
        scope: IdentityScope, requestID: [UInt8], to opening: EnrolmentMessage.Opening
    ) -> EnrolmentMessage.Commitment {
        var message = PartWriter(.enrolmentCommitment)
        message.write(scope)
        message.write(bytes: requestID)
        opening.write(to: &message)
        return EnrolmentMessage.Commitment(hash: Digest.hash(message))
    }

    /// What the account's device signs in the end.
    func doneMessage(statementHash: [UInt8]) -> PartWriter {
        var message = PartWriter(.enrolmentDone)
        message.write(bytes: hash)
        message.write(bytes: statementHash)
        return message
    }

    private func code(at index: Int) -> String {
        var bits = BitWriter()
        for byte in hash.prefix(8) { bits.write(Int(byte), count: 8) }
        let count = EnrolmentCode.characterCount
        return TypedCharacters.text(Array(bits.values[index * count..<(index + 1) * count]))
    }
}
