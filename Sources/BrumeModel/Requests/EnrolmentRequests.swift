/// A message from one of an account's devices to another, which lets a new one in: the server passes it on.
package struct PostEnrolmentRequest: Equatable, Sendable {
    /// The enrolment's id.
    package var id: [UInt8]
    /// Its place among the enrolment's messages, from 1 on.
    package var step: Int
    package var message: [UInt8]

    package init(id: [UInt8], step: Int, message: [UInt8]) {
        self.id = id
        self.step = step
        self.message = message
    }
}

/// A request to end an enrolment.
package struct EndEnrolmentRequest: Equatable, Sendable {
    package var id: [UInt8]
    /// Whether a person typed a code that was not the other device's.
    package var isForWrongCode: Bool

    package init(id: [UInt8], isForWrongCode: Bool) {
        self.id = id
        self.isForWrongCode = isForWrongCode
    }
}

/// What the devices of an account have said in an enrolment that has not ended.
package struct RelayedEnrolment: Equatable, Sendable {
    package var id: [UInt8]
    package var messages: [[UInt8]]
    /// The time until it ends by itself.
    package var millisecondsLeft: UInt32

    package init(id: [UInt8], messages: [[UInt8]], millisecondsLeft: UInt32) {
        self.id = id
        self.messages = messages
        self.millisecondsLeft = millisecondsLeft
    }
}
