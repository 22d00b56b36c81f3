package import BrumeModel
package import BrumeProtocol

/// What a session is asked for, what comes of it, and what is to be done.
extension ClientSessionStateMachine {
    /// What a call waits for.
    package enum Work: Sendable {
        case unary(UnaryCall)
        /// The welcome of an open connection.
        case welcome
        /// The same, or why there is none just now: fails with the first attempt to connect that fails.
        case probe
        /// A round trip.
        case ping
    }

    /// What a call does where the server can't be reached.
    package enum Patience: Equatable, Sendable {
        /// It waits until its deadline.
        case untilDeadline
        /// It ends when an attempt to connect fails, unless the server was there a moment ago.
        case none
        /// It waits until its deadline, and has so much time for an answer once it is sent.
        case unlimited(requestNanoseconds: UInt64)
    }

    /// What a call comes to.
    package enum Answer: Equatable, Sendable {
        case message([UInt8])
        case welcome(Welcome)
        case roundTrip(nanoseconds: UInt64)
    }

    package enum Action: Equatable, Sendable {
        /// Open a connection; those before it are done with.
        case connect
        case send(ClientFrame)
        /// Close the connection when what was sent has left. Nothing of it counts any more.
        case disconnect
        /// The server took us in.
        case welcomed(Welcome)
        /// The server does not take the account, or not any more.
        case accountRefused(ServiceError)
        /// Hand the outcome to who started the call. Once for each.
        case finish(id: UInt64, Result<Answer, ServiceError>)
        /// A message of a transfer's stream.
        case transferReceived(id: UInt64, [UInt8])
        /// A transfer's stream that had no credit has some.
        case transferWritable(id: UInt64)
        /// A transfer's stream has ended: with an error, or because the server was done.
        case transferEnded(id: UInt64, ServiceError?)
        /// A message of the notification stream.
        case streamReceived([UInt8])
        /// Another connection of this device took the notification stream.
        case streamDisplaced
        /// The server did not take the position that the notification stream gave: forget it, and say how the stream
        /// would now resume (``streamAdvanced(opening:)``).
        case streamPositionRefused
        /// The notification stream won't come back by itself.
        case streamFailed(ServiceError)
    }
}
