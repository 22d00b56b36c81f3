package import BrumeModel

/// What a client asks of the enrolments of its account.
package enum EnrolmentRequest: Equatable, Sendable {
    case post(PostEnrolmentRequest)
    /// One, or with nil all.
    case fetch([UInt8]?)
    case end(EndEnrolmentRequest)
}
