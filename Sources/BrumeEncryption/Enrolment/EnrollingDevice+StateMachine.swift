/// A device of an account that lets another one in (Documentation/EncryptionFormats.md, section 9).
///
/// In this order: ``init(identity:device:requestID:commitment:)`` gives the offer to send, ``take(opening:)`` takes
/// the new device's keys, ``typed(_:)`` what a person typed, and ``done(statement:)`` the message that says that the
/// new device is listed. Whatever is refused, or comes a second time, ends it, and a person begins anew.
package struct EnrollingDeviceStateMachine: Sendable {
    enum State: Sendable {
        case offered(EnrolmentMessage.Offer, EnrolmentMessage.Commitment)
        case opened(EnrolmentTranscript, PublicKeys)
        case confirmed(EnrolmentTranscript, PublicKeys)
        case ended
    }

    private let scope: IdentityScope
    private let device: KeyPairs
    private let requestID: [UInt8]
    private var state: State

    /// - Parameters:
    ///   - identity: The account's, as this device has it.
    ///   - commitment: The new device's first message.
    package init(
        identity: Identity, device: KeyPairs, requestID: [UInt8], commitment: [UInt8]
    ) throws(EncryptionRefusal) {
        guard requestID.count == EnrolmentTranscript.requestIDBytes else { throw .damaged }
        scope = identity.statement.scope
        self.device = device
        self.requestID = requestID
        let offer = EnrolmentMessage.Offer(
            statementHash: identity.statement.hash, device: device.publicKeys,
            random: Sodium.randomBytes(EnrolmentTranscript.randomBytes))
        state = .offered(offer, try EnrolmentMessage.Commitment(commitment))
    }

    /// The message for the new device; nil once another followed it.
    package var offer: [UInt8]? {
        guard case .offered(let offer, _) = state else { return nil }
        return offer.bytes
    }

    /// The new device said what it had promised to say. Nothing is shown yet: first a person types the new device's
    /// code.
    package mutating func take(opening bytes: [UInt8]) throws(EncryptionRefusal) {
        let before = end()
        guard case .offered(let offer, let commitment) = before else { throw .damaged }
        let opening = try EnrolmentMessage.Opening(bytes)
        guard EnrolmentTranscript.commitment(scope: scope, requestID: requestID, to: opening) == commitment else {
            throw .damaged
        }
        let transcript = EnrolmentTranscript(
            scope: scope, requestID: requestID, commitment: commitment, offer: offer, opening: opening)
        state = .opened(transcript, opening.device)
    }

    /// A person typed what the new device shows.
    ///
    /// - Returns: The code to show for the new device, and its keys for the next statement
    ///   (``Identity/adding(device:deviceName:)``).
    package mutating func typed(_ code: String) throws(EncryptionRefusal) -> (code: String, newDevice: PublicKeys) {
        let before = end()
        guard case .opened(let transcript, let newDevice) = before else { throw .damaged }
        try EnrolmentCode.check(code, transcript.codeOfNewDevice)
        state = .confirmed(transcript, newDevice)
        return (transcript.codeOfDevice, newDevice)
    }

    /// The statement that lists the new device is stored. The last message for it.
    package mutating func done(statement: Statement) throws(EncryptionRefusal) -> [UInt8] {
        let before = end()
        guard case .confirmed(let transcript, let newDevice) = before,
            statement.lists(newDevice), statement.lists(device.publicKeys)
        else { throw .damaged }
        let signature = device.sign(transcript.doneMessage(statementHash: statement.hash))
        return EnrolmentMessage.Done(statementHash: statement.hash, signature: signature).bytes
    }

    /// Ends it, unless the method that was called goes on.
    private mutating func end() -> State {
        defer { state = .ended }
        return state
    }
}
