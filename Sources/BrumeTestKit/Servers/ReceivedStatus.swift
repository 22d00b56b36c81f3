package import BrumeModel

/// A status frame's or an item's error, read without our own coder.
package struct ReceivedStatus: Error, CustomStringConvertible {
    package let code: ErrorCode
    package let message: String
    package let retryAfterMilliseconds: UInt64

    package init(_ payload: [UInt8]) {
        let fields = ProtobufReader(payload)
        code = ErrorCode(rawValue: Int32(fields?.signed(1) ?? -1))
        message = fields?.text(2) ?? ""
        retryAfterMilliseconds = fields?.varint(3) ?? 0
    }

    package var description: String { "\(code.rawValue): \(message)" }

    /// A reader is told what was wrong: words, not a word.
    package var isSentence: Bool { message.split(separator: " ").count >= 3 }
}
