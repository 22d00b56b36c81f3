extension ServerLie {
    /// A message by which one device lets another in. The server passes them on; lie to the device that gets it.
    public enum EnrolmentMessage: Int, CaseIterable, Sendable {
        /// The first one, of the new device (`CKContainer.requestEnrolment()`).
        case commitment = 1
        /// The answer of the device that has the keys (`CKContainer.answer(_:)`).
        case offer
        /// What the new device says to that, when it shows its code.
        case opening
        /// The last one, of the device that has the keys, once the code was typed there.
        case done
    }
}

/// Messages by which one device lets another in.
///
/// With another commitment or opening `CKContainer.answer(_:)` fails with `serverRejectedRequest`. With another offer
/// the new device's `code()` does, or it shows a code that is not taken on the other device (`invalidArguments`). With
/// another last message `confirm(_:)` fails with `accountTemporarilyUnavailable`, and can be called again once the
/// server tells the truth; otherwise the enrolment has ended. Where the message is of a newer version by its format,
/// the code is `incompatibleVersion`. The new device gets no keys in any case.
extension ServerLie {
    /// A byte of a message is another one.
    ///
    /// - Parameter index: Which byte; one that the message does not have leaves it as it is.
    public static func flipsByte(_ index: Int, ofEnrolmentMessage message: EnrolmentMessage) -> ServerLie {
        precondition(index >= 0, "a message has no byte \(index)")
        return ServerLie("byte \(index) of the \(message) is flipped", .enrolment(.flip(index), message))
    }

    /// A message ends after so many bytes.
    public static func cutsEnrolmentMessage(_ message: EnrolmentMessage, toByteCount count: Int) -> ServerLie {
        precondition(count >= 0, "no message has \(count) bytes")
        return ServerLie("the \(message) has \(count) bytes", .enrolment(.cut(count), message))
    }
}
