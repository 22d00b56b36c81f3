import Testing

@testable import BrumeEncryption

@Suite struct EnrolmentTests {
    private let request = [UInt8](repeating: 3, count: 16)
    private let phone = Samples.device(1)
    private let laptop = Samples.device(2)
    private let ann: (identity: Identity, signed: SignedStatement)

    init() throws {
        ann = try Identity.first(
            scope: Samples.scope, device: phone.publicKeys, deviceName: "phone", code: RecoveryCode())
    }

    private func newDevice(_ keys: KeyPairs? = nil, request: [UInt8]? = nil) -> NewDeviceStateMachine {
        NewDeviceStateMachine(scope: Samples.scope, device: keys ?? laptop, requestID: request ?? self.request)
    }

    private func enrolling(_ commitment: [UInt8], request: [UInt8]? = nil) throws -> EnrollingDeviceStateMachine {
        try EnrollingDeviceStateMachine(
            identity: ann.identity, device: phone, requestID: request ?? self.request, commitment: commitment)
    }

    /// Both devices, after the new one's code is known to the person.
    private func opened() throws -> (new: NewDeviceStateMachine, old: EnrollingDeviceStateMachine, code: String) {
        var new = newDevice()
        var old = try enrolling(try #require(new.commitment))
        let (opening, code) = try new.take(offer: try #require(old.offer))
        try old.take(opening: opening)
        return (new, old, code)
    }

    @Test("a device whose code was typed, and into which the other's was, gets the identity")
    func enrols() throws {
        var (new, old, code) = try opened()
        #expect(code.count == 6)
        let (otherCode, keys) = try old.typed(code.lowercased())
        #expect(keys == laptop.publicKeys && otherCode != code)
        let next = try ann.identity.adding(device: keys, deviceName: "laptop")
        let done = try old.done(statement: next.signed.statement)
        try new.typed(otherCode)
        let identity = try new.take(done: done, statements: known(ann.signed, next.signed))
        #expect(identity.keys.publicKeys == ann.identity.keys.publicKeys)
        #expect(identity.statement.devices.map(\.keys) == [phone.publicKeys, laptop.publicKeys])
    }

    @Test("a wrong code ends it on either side, also for the right one")
    func wrongCodes() throws {
        var (new, old, code) = try opened()
        #expect(refusal { try old.typed("000000") } == .wrongCode)
        #expect(refusal { try old.typed(code) } == .damaged)
        (new, old, code) = try opened()
        let otherCode = try old.typed(code).code
        #expect(refusal { try new.typed("") } == .wrongCode)
        #expect(refusal { try new.typed(otherCode) } == .damaged)
    }

    @Test("nothing is given, and nothing taken, before the person typed")
    func order() throws {
        var (new, old, code) = try opened()
        let next = try ann.identity.adding(device: laptop.publicKeys, deviceName: "")
        var early = old
        #expect(refusal { try early.done(statement: next.signed.statement) } == .damaged)
        _ = try old.typed(code)
        let done = try old.done(statement: next.signed.statement)
        #expect(refusal { try new.take(done: done, statements: known(ann.signed, next.signed)) } == .damaged)
    }

    @Test("a server between the devices makes other codes of whatever it replaces")
    func between() throws {
        // It passes for the account's device before the new one, and for the new one before the account's.
        let mallory = Samples.device(66)
        let malloryAnn = try Identity.first(
            scope: Samples.scope, device: mallory.publicKeys, deviceName: "", code: RecoveryCode())
        var new = newDevice()
        let falseOld = try EnrollingDeviceStateMachine(
            identity: malloryAnn.identity, device: mallory, requestID: request,
            commitment: try #require(new.commitment))
        var falseNew = newDevice(mallory)
        var old = try enrolling(try #require(falseNew.commitment))
        let (_, code) = try new.take(offer: try #require(falseOld.offer))
        let (falseOpening, falseCode) = try falseNew.take(offer: try #require(old.offer))
        try old.take(opening: falseOpening)
        #expect(code != falseCode)
        #expect(refusal { try old.typed(code) } == .wrongCode)
    }

    @Test("each message that was replaced is refused by itself, or by the codes")
    func replaced() throws {
        // The opening does not keep the promise.
        let new = newDevice()
        var copy = new
        var old = try enrolling(try #require(new.commitment))
        let offer = try #require(old.offer)
        let (opening, code) = try copy.take(offer: offer)
        for other in opening.flipped + opening.cutAndContinued {
            var old = old
            #expect(refusal { try old.take(opening: other) } != nil)
        }
        let strangers = EnrolmentMessage.Opening(device: Samples.device(9).publicKeys, random: Samples.file(32)).bytes
        var stranger = old
        #expect(refusal { try stranger.take(opening: strangers) } == .damaged)
        try old.take(opening: opening)
        #expect(try old.typed(code).newDevice == laptop.publicKeys)
        // Each byte of the offer counts, into both codes.
        for other in offer.flipped {
            var copy = new
            if let answer = try? copy.take(offer: other) { #expect(answer.code != code) }
        }
        for other in offer.cutAndContinued {
            var copy = new
            #expect(refusal { try copy.take(offer: other) } == .damaged)
        }
        // So does the request, and the account.
        #expect(
            refusal {
                var old = try enrolling(try #require(new.commitment), request: [UInt8](repeating: 4, count: 16))
                try old.take(opening: opening)
            } == .damaged)
    }

    /// What a message with one byte flipped may be refused with, byte for byte.
    ///
    /// - Parameter parts: What comes after format and suite: how many bytes each part has after its length, and why
    ///   another one is refused.
    private func refusals(
        _ label: Label, _ parts: [(byteCount: Int, refusals: Set<EncryptionRefusal>)]
    ) -> [Set<EncryptionRefusal>] {
        let head = [Set<EncryptionRefusal>](repeating: [.damaged], count: 4 + label.text.utf8.count)
        return parts.reduce(into: head + [[.newer], [.newer]]) { refusals, part in
            refusals += [Set](repeating: [.damaged], count: 4)
            refusals += [Set](repeating: part.refusals, count: part.byteCount)
        }
    }

    /// Every byte of a message counts, and so does its end.
    private func expect(
        _ refusals: [Set<EncryptionRefusal>], of message: [UInt8], sourceLocation: SourceLocation = #_sourceLocation,
        _ take: ([UInt8]) throws -> Void
    ) {
        #expect(refusal { try take(message) } == nil, sourceLocation: sourceLocation)
        #expect(refusals.count == message.count, sourceLocation: sourceLocation)
        for (index, (other, expected)) in zip(message.flipped, refusals).enumerated() {
            let found = refusal { try take(other) }
            #expect(
                found.map(expected.contains) == true, "byte \(index): \(String(describing: found))",
                sourceLocation: sourceLocation)
        }
        for other in message.cutAndContinued {
            #expect(
                refusal { try take(other) } == .damaged, "\(other.count) bytes", sourceLocation: sourceLocation)
        }
    }

    @Test("each message with any byte flipped, cut or continued is refused by name")
    func everyByte() throws {
        let new = newDevice()
        let commitment = try #require(new.commitment)
        let old = try enrolling(commitment)
        let offer = try #require(old.offer)
        var answered = new
        let (opening, code) = try answered.take(offer: offer)
        // What the new device has promised shows when it opens it; what it was offered, in the codes.
        expect(refusals(.enrolment1, [(32, [.damaged])]), of: commitment) { other in
            var (old, new) = (try enrolling(other), new)
            try old.take(opening: try new.take(offer: try #require(old.offer)).opening)
        }
        // What is no signing key is told from what is another one.
        let offered: [(Int, Set<EncryptionRefusal>)] = [
            (32, [.wrongCode]), (32, [.damaged, .wrongCode]), (32, [.wrongCode]), (32, [.wrongCode]),
        ]
        expect(refusals(.enrolment2, offered), of: offer) { other in
            var (old, new) = (old, new)
            let (opening, code) = try new.take(offer: other)
            try old.take(opening: opening)
            _ = try old.typed(code)
        }
        expect(refusals(.enrolment3, Array(repeating: (32, [.damaged]), count: 3)), of: opening) { other in
            var old = old
            try old.take(opening: other)
        }
        var confirmed = old
        try confirmed.take(opening: opening)
        let shown = try confirmed.typed(code).code
        let next = try ann.identity.adding(device: laptop.publicKeys, deviceName: "")
        let done = try confirmed.done(statement: next.signed.statement)
        try answered.typed(shown)
        let statements = try known(ann.signed, next.signed)
        expect(refusals(.enrolment4, [(32, [.brokenChain]), (64, [.badSignature])]), of: done) { other in
            var new = answered
            _ = try new.take(done: other, statements: statements)
        }
    }

    @Test("a second message of a kind ends it: it would be a second guess")
    func once() throws {
        var new = newDevice()
        var old = try enrolling(try #require(new.commitment))
        let offer = try #require(old.offer)
        let opening = try new.take(offer: offer).opening
        #expect(refusal { try new.take(offer: offer) } == .damaged)
        #expect(refusal { try new.typed("000000") } == .damaged)
        try old.take(opening: opening)
        #expect(refusal { try old.take(opening: opening) } == .damaged)
        #expect(old.offer == nil && new.commitment == nil)
    }

    @Test("the last message counts only with the device's signature, its statement, and a chain that has both")
    func lastMessage() throws {
        var (new, old, code) = try opened()
        let otherCode = try old.typed(code).code
        let next = try ann.identity.adding(device: laptop.publicKeys, deviceName: "")
        let done = try old.done(statement: next.signed.statement)
        try new.typed(otherCode)
        func taken(_ done: [UInt8], _ statements: KnownStatements) -> EncryptionRefusal? {
            var new = new
            return refusal { try new.take(done: done, statements: statements) }
        }
        #expect(taken(done, try known(ann.signed, next.signed)) == nil)
        let later = try next.identity.replacingKeys()
        #expect(taken(done, try known(ann.signed, next.signed, later.signed)) == nil, "more may have happened since")
        for other in done.flipped + done.cutAndContinued {
            #expect(taken(other, try known(ann.signed, next.signed)) != nil)
        }
        // Somebody else's chain, though it lists this device; the chain without the statement; a statement that lists
        // it by half.
        let mallory = try Identity.first(
            scope: Samples.scope, device: Samples.device(66).publicKeys, deviceName: "", code: RecoveryCode())
        let theirs = try mallory.identity.adding(device: laptop.publicKeys, deviceName: "")
        #expect(taken(done, try known(mallory.signed, theirs.signed)) == .brokenChain)
        #expect(taken(done, try known(ann.signed)) == .brokenChain)
        let half = PublicKeys(signing: Samples.device(9).publicKeys.signing, box: laptop.publicKeys.box)
        let halves = try ann.identity.adding(device: half, deviceName: "")
        (new, old, code) = try opened()
        try new.typed(old.typed(code).code)
        #expect(refusal { try old.done(statement: halves.signed.statement) } == .damaged)
        // The same signed all the same, and a statement in which the device that says so is not listed any more.
        let two = try ann.identity.adding(device: Samples.device(8).publicKeys, deviceName: "")
        let three = try two.identity.replacingKeys(withoutDevices: [phone.publicKeys])
        let four = try three.identity.adding(device: laptop.publicKeys, deviceName: "")
        for statements in [
            try known(ann.signed, halves.signed), try known(ann.signed, two.signed, three.signed, four.signed),
        ] {
            let listing = statements.chain.last
            var (machine, device, code) = try opened()
            let otherCode = try device.typed(code).code
            #expect(refusal { try device.done(statement: listing) } == .damaged)
            try machine.typed(otherCode)
            let transcript = try #require(machine.transcript)
            let signature = phone.sign(transcript.doneMessage(statementHash: listing.hash))
            let done = EnrolmentMessage.Done(statementHash: listing.hash, signature: signature).bytes
            #expect(refusal { try machine.take(done: done, statements: statements) } == .brokenChain)
        }
        // Removed again before it came to that.
        let removed = try next.identity.replacingKeys(withoutDevices: [laptop.publicKeys])
        (new, old, code) = try opened()
        try new.typed(old.typed(code).code)
        let doneAgain = try old.done(statement: next.signed.statement)
        #expect(taken(doneAgain, try known(ann.signed, next.signed, removed.signed)) == .keyMissing)
    }

    private func known(_ signed: SignedStatement...) throws -> KnownStatements {
        try KnownStatements(signed, of: Samples.scope, trust: .seen)
    }
}
