internal import BrumeModel
internal import BrumeProtocol

/// What a server makes of a message by which one device lets another in.
enum EnrolmentLie: Sendable {
    case flip(Int)
    case cut(Int)

    /// Nil where the message does not have what the lie takes.
    func told(_ message: [UInt8]) -> [UInt8]? {
        var message = message
        switch self {
        case .flip(let index):
            guard message.indices.contains(index) else { return nil }
            message[index] ^= 1
        case .cut(let count):
            guard count < message.count else { return nil }
            message.removeLast(message.count - count)
        }
        return message
    }
}

extension ToldLie {
    /// Another message of the enrolments that the server shows.
    static func toldEnrolments(
        _ lie: EnrolmentLie, _ number: Int, _ answer: ServerAnswer, to call: AnsweredCall
    ) throws(ServiceError) -> ServerAnswer? {
        guard call.method == .enrolmentsFetch, case .message(let bytes) = answer else { return nil }
        let coder = MessageCoder()
        var isLie = false
        var enrolments = try decode(bytes, coder.decodeFetchEnrolmentsResponse)
        for index in enrolments.indices where enrolments[index].messages.count >= number {
            guard let told = lie.told(enrolments[index].messages[number - 1]) else { continue }
            enrolments[index].messages[number - 1] = told
            isLie = true
        }
        return isLie ? .message(coder.encodeFetchEnrolmentsResponse(enrolments)) : nil
    }
}
