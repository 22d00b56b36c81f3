package import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

/// `Enrolments.Post`, `Enrolments.Fetch` and `Enrolments.End`.
extension MessageCoder {
    // MARK: The server's side

    package func decodePostEnrolmentRequest(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> PostEnrolmentRequest {
        let message = try request(brume__v1__post_enrolment_request__unpack, bytes)
        let step = message.pointee.step
        guard (1...UInt32(Limits.enrolmentSteps)).contains(step) else {
            throw ServiceError(
                .invalidArguments, "an enrolment has the steps 1 to \(Limits.enrolmentSteps), and no step \(step)")
        }
        let relayed = message.pointee.message
        guard relayed.len > 0 else {
            throw ServiceError(.invalidArguments, "the request has no message; one for the other device belongs there")
        }
        guard relayed.len <= Limits.enrolmentMessageBytes else {
            throw ServiceError(
                .limitExceeded,
                "an enrolment's message has \(relayed.len) bytes; the limit is \(Limits.enrolmentMessageBytes)")
        }
        return PostEnrolmentRequest(
            id: try checkedID(message.pointee.enrolment_id.array), step: Int(step), message: relayed.array)
    }

    package func encodePostEnrolmentResponse() -> [UInt8] { [] }

    /// Returns the id of the enrolment that the caller wants; nil for all.
    package func decodeFetchEnrolmentsRequest(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> [UInt8]? {
        let message = try request(brume__v1__fetch_enrolments_request__unpack, bytes)
        let id = message.pointee.enrolment_id.array
        return id.isEmpty ? nil : try checkedID(id)
    }

    package func encodeFetchEnrolmentsResponse(_ enrolments: [RelayedEnrolment]) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__fetch_enrolments_response__init)
            message.pointee.n_enrolments = enrolments.count
            message.pointee.enrolments = arena.messages(enrolments) { enrolment in
                let part = arena.make(brume__v1__enrolment__init)
                part.pointee.enrolment_id = arena.data(enrolment.id)
                part.pointee.n_messages = enrolment.messages.count
                part.pointee.messages = arena.list(enrolment.messages)
                part.pointee.milliseconds_left = enrolment.millisecondsLeft
                return part
            }
            return message
        }
    }

    package func decodeEndEnrolmentRequest(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> EndEnrolmentRequest {
        let message = try request(brume__v1__end_enrolment_request__unpack, bytes)
        return EndEnrolmentRequest(
            id: try checkedID(message.pointee.enrolment_id.array), isForWrongCode: message.pointee.wrong_code != 0)
    }

    package func encodeEndEnrolmentResponse() -> [UInt8] { [] }

    private func checkedID(_ id: [UInt8]) throws(ServiceError) -> [UInt8] {
        guard id.count == Limits.enrolmentIDBytes else {
            throw ServiceError(
                .invalidArguments, "an enrolment's id has \(Limits.enrolmentIDBytes) bytes, not \(id.count)")
        }
        return id
    }

    // MARK: The client's side

    package func encodePostEnrolmentRequest(_ request: PostEnrolmentRequest) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__post_enrolment_request__init)
            message.pointee.enrolment_id = arena.data(request.id)
            message.pointee.step = UInt32(request.step)
            message.pointee.message = arena.data(request.message)
            return message
        }
    }

    package func decodePostEnrolmentResponse(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) {
        _ = try answer(brume__v1__post_enrolment_response__unpack, bytes)
    }

    package func encodeFetchEnrolmentsRequest(_ id: [UInt8]?) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__fetch_enrolments_request__init)
            message.pointee.enrolment_id = arena.data(id ?? [])
            return message
        }
    }

    package func decodeFetchEnrolmentsResponse(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> [RelayedEnrolment] {
        let message = try answer(brume__v1__fetch_enrolments_response__unpack, bytes)
        return (0..<message.pointee.n_enrolments).map { index in
            let part = message.pointee.enrolments[index]!.pointee
            return RelayedEnrolment(
                id: part.enrolment_id.array, messages: (0..<part.n_messages).map { part.messages[$0].array },
                millisecondsLeft: part.milliseconds_left)
        }
    }

    package func encodeEndEnrolmentRequest(_ request: EndEnrolmentRequest) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__end_enrolment_request__init)
            message.pointee.enrolment_id = arena.data(request.id)
            message.pointee.wrong_code = request.isForWrongCode ? 1 : 0
            return message
        }
    }

    package func decodeEndEnrolmentResponse(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) {
        _ = try answer(brume__v1__end_enrolment_response__unpack, bytes)
    }
}
