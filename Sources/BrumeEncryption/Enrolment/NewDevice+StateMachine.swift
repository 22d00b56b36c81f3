/// A device that asks another of its account to be let in (Documentation/EncryptionFormats.md, section 9).
///
/// One method for each thing that happens, in this order: ``init(scope:device:requestID:)`` gives the commitment to
/// send, ``take(offer:)`` the opening to send and the code to show, ``typed(_:)`` takes the code that the other device
/// shows, ``take(done:statements:)`` gives the identity. Whatever is refused, or comes a second time, ends it, and a
/// person begins anew: thirty bits of a code allow for one guess.
package struct NewDeviceStateMachine: Sendable {
    enum State: Sendable {
        case committed(EnrolmentMessage.Opening, EnrolmentMessage.Commitment)
        case opened(EnrolmentTranscript, EnrolmentMessage.Offer)
        case confirmed(EnrolmentTranscript, EnrolmentMessage.Offer)
        case ended
    }

    private let scope: IdentityScope
    private let requestID: [UInt8]
    private let device: KeyPairs
    private var state: State

    /// - Parameter requestID: 16 random bytes that name this request.
    package init(scope: IdentityScope, device: KeyPairs, requestID: [UInt8]) {
        self.init(
            scope: scope, device: device, requestID: requestID,
            random: Sodium.randomBytes(EnrolmentTranscript.randomBytes))
    }

    init(scope: IdentityScope, device: KeyPairs, requestID: [UInt8], random: [UInt8]) {
        precondition(requestID.count == EnrolmentTranscript.requestIDBytes, "a request's id has 16 bytes")
        self.scope = scope
        self.requestID = requestID
        self.device = device
        let opening = EnrolmentMessage.Opening(device: device.publicKeys, random: random)
        state = .committed(
            opening, EnrolmentTranscript.commitment(scope: scope, requestID: requestID, to: opening))
    }

    /// The first message; nil once another followed it.
    package var commitment: [UInt8]? {
        guard case .committed(_, let commitment) = state else { return nil }
        return commitment.bytes
    }

    /// What the two devices said; nil before they did.
    var transcript: EnrolmentTranscript? {
        switch state {
        case .opened(let transcript, _), .confirmed(let transcript, _): transcript
        case .committed, .ended: nil
        }
    }

    /// The account's device answered. The message for it, and the code that a person types into it.
    package mutating func take(offer bytes: [UInt8]) throws(EncryptionRefusal) -> (opening: [UInt8], code: String) {
        let before = end()
        guard case .committed(let opening, let commitment) = before else { throw .damaged }
        let offer = try EnrolmentMessage.Offer(bytes)
        let transcript = EnrolmentTranscript(
            scope: scope, requestID: requestID, commitment: commitment, offer: offer, opening: opening)
        state = .opened(transcript, offer)
        return (opening.bytes, transcript.codeOfNewDevice)
    }

    /// A person typed what the account's device shows. Before that nothing from it is believed: a server could pass
    /// for it.
    package mutating func typed(_ code: String) throws(EncryptionRefusal) {
        let before = end()
        guard case .opened(let transcript, let offer) = before else { throw .damaged }
        try EnrolmentCode.check(code, transcript.codeOfDevice)
        state = .confirmed(transcript, offer)
    }

    /// The account's device says that this one is listed.
    ///
    /// - Parameter statements: The account's, checked: the one that the other device told of, the one that lists this
    ///   device, and those behind it.
    package mutating func take(
        done bytes: [UInt8], statements: KnownStatements
    ) throws(EncryptionRefusal) -> Identity {
        let before = end()
        guard case .confirmed(let transcript, let offer) = before else { throw .damaged }
        let done = try EnrolmentMessage.Done(bytes)
        let chain = statements.chain
        guard chain.last.scope == scope, let offered = chain.index(of: offer.statementHash),
            let listing = chain.index(of: done.statementHash), offered < listing,
            chain.statements[offered].lists(offer.device), chain.statements[listing].lists(offer.device),
            chain.statements[listing].lists(device.publicKeys)
        else { throw .brokenChain }
        try Signature.check(
            done.signature, of: transcript.doneMessage(statementHash: done.statementHash), by: offer.device.signing)
        guard chain.last.lists(device.publicKeys) else { throw .keyMissing }
        let keys = try statements.signed[statements.signed.count - 1].openIdentity(as: device.boxes)
        return Identity(keys: keys, chain: chain)
    }

    /// Ends it, unless the method that was called goes on.
    private mutating func end() -> State {
        defer { state = .ended }
        return state
    }
}
