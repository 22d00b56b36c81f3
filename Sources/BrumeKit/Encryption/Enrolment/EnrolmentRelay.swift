internal import BrumeModel
internal import BrumeProtocol

/// The server's part in an enrolment, which only passes messages on (`proto/README.md`, section 19).
struct EnrolmentRelay: Sendable {
    /// How often the server is asked whether the other device has answered.
    static let pauseMilliseconds: UInt64 = 1_000
    /// How long a device goes on with an enrolment, whatever the server says: codes that are fixed can be guessed at
    /// for as long.
    static let lifetimeMilliseconds: UInt64 = 600_000

    let account: AccountBinding
    /// When this device began it, by its clock.
    private let begunMilliseconds: UInt64

    init(account: AccountBinding) {
        self.account = account
        begunMilliseconds = account.configuration.clock.nowMilliseconds
    }

    /// - Throws: `unknownItem` where it is over by this device's clock.
    func checkTime() throws(CKError) {
        let now = account.configuration.clock.nowMilliseconds
        guard now < begunMilliseconds + Self.lifetimeMilliseconds else { throw Self.ended }
    }

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
            try checkTime()
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
        _ = await Task { try await tryToEnd(id, forWrongCode: isForWrongCode) }.result
    }

    func tryToEnd(_ id: [UInt8], forWrongCode isForWrongCode: Bool = false) async throws(CKError) {
        try await account.call(.enrolmentsEnd, effect: .onceByOperationID) { coder in
            coder.encodeEndEnrolmentRequest(EndEnrolmentRequest(id: id, isForWrongCode: isForWrongCode))
        } decode: { (coder, bytes) throws(ServiceError) in
            try coder.decodeEndEnrolmentResponse(bytes)
        }
    }

    static let isAnswered = CKError(
        .serverRecordChanged,
        message: "another device has answered this request already, or this one has; begin anew on the new device")

    static let ended = CKError(
        .unknownItem,
        message:
            "the enrolment has ended: it took more than ten minutes, a code was wrong, somebody cancelled it, or the "
            + "server was restarted; begin anew on the new device")
}
