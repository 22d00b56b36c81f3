internal import BrumeModel
internal import BrumeProtocol

/// The server's part in an enrolment, which only passes messages on (`proto/README.md`, section 19).
struct EnrolmentRelay: Sendable {
    /// How often the server is asked whether the other device has answered.
    static let pauseMilliseconds: UInt64 = 1_000

    let account: AccountBinding

    /// The messages of an enrolment, by their steps.
    enum Step: Int {
        case commitment = 1
        case offer, opening, done
    }

    /// Sends a message. Sent again it has no other effect.
    func post(_ step: Step, _ message: [UInt8], of id: [UInt8]) async throws(CKError) {
        try await account.call(.enrolmentsPost, effect: .onceByOperationID) { coder in
            coder.encodePostEnrolmentRequest(PostEnrolmentRequest(id: id, step: step.rawValue, message: message))
        } decode: { (coder, bytes) throws(ServiceError) in
            try coder.decodePostEnrolmentResponse(bytes)
        }
    }

    /// The account's enrolments that have not ended.
    func enrolments(id: [UInt8]? = nil) async throws(CKError) -> [RelayedEnrolment] {
        let enrolments = try await account.call(.enrolmentsFetch) { coder in
            coder.encodeFetchEnrolmentsRequest(id)
        } decode: { (coder, bytes) throws(ServiceError) in
            try coder.decodeFetchEnrolmentsResponse(bytes)
        }
        return id == nil ? enrolments : enrolments.filter { $0.id == id }
    }

    /// The other device's message, once it is there.
    ///
    /// - Throws: `unknownItem` where the enrolment ended before; `operationCancelled` with the task.
    func message(_ step: Step, of id: [UInt8]) async throws(CKError) -> [UInt8] {
        let clock = account.configuration.clock
        while true {
            guard let enrolment = try await enrolments(id: id).first else { throw Self.ended }
            if enrolment.messages.count >= step.rawValue { return enrolment.messages[step.rawValue - 1] }
            do throws(CancellationError) {
                try await clock.wait(untilMilliseconds: clock.nowMilliseconds + Self.pauseMilliseconds)
            } catch {
                throw CKError.cancelled
            }
        }
    }

    /// Ends an enrolment, as far as the server can be reached, also for a task that was cancelled: it ends by itself as
    /// well.
    func end(_ id: [UInt8], forWrongCode isForWrongCode: Bool = false) async {
        let request = EndEnrolmentRequest(id: id, isForWrongCode: isForWrongCode)
        let call = Task {
            try await account.call(.enrolmentsEnd, effect: .onceByOperationID) { coder in
                coder.encodeEndEnrolmentRequest(request)
            } decode: { (coder, bytes) throws(ServiceError) in
                try coder.decodeEndEnrolmentResponse(bytes)
            }
        }
        _ = await call.result
    }

    static let ended = CKError(
        .unknownItem,
        message:
            "the enrolment has ended: it took more than ten minutes, a code was wrong, somebody cancelled it, or the "
            + "server was restarted; begin anew on the new device")
}
