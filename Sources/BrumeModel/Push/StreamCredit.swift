/// What the receiver of a stream's messages still takes: so many messages, and so many bytes of their payloads.
///
/// A message may be sent while there is credit for one more and for at least one more byte: the last message may take
/// the bytes below zero, so that no message is too large for a stream, and a receiver holds at most the credit and one
/// message.
package struct StreamCredit: Equatable, Sendable {
    package var messages: Int
    package var bytes: Int

    package init(messages: Int, bytes: Int) {
        self.messages = messages
        self.bytes = bytes
    }

    package static let none = StreamCredit(messages: 0, bytes: 0)

    /// Whether another message may be sent, of whatever size.
    package var allowsMessage: Bool { messages > 0 && bytes > 0 }

    /// Whether all that another credit stands for may be sent.
    package func covers(_ other: StreamCredit) -> Bool { messages >= other.messages && bytes >= other.bytes }

    /// Whether it is at least half of another credit, in messages or in bytes: time to grant it anew, since granting
    /// each message would cost a frame for each.
    package func isHalf(of other: StreamCredit) -> Bool {
        messages > 0 && messages * 2 >= other.messages || bytes > 0 && bytes * 2 >= other.bytes
    }

    package static func += (left: inout StreamCredit, right: StreamCredit) {
        left.messages += right.messages
        left.bytes += right.bytes
    }

    package static func -= (left: inout StreamCredit, right: StreamCredit) {
        left.messages -= right.messages
        left.bytes -= right.bytes
    }
}
