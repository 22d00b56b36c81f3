internal import BrumeModel

/// Why messages of enrolments are refused.
enum EnrolmentRefusals {
    static let isOver = ServiceError(
        .unknownItem,
        "there is no such enrolment: it was ended, ten minutes have passed, or the server was restarted; begin another"
            + " one")

    static func isTaken(step: Int) -> ServiceError {
        ServiceError(
            .serverRecordChanged,
            "the enrolment has another message of step \(step), which another device posted; end it, and begin another"
                + " one")
    }

    static func skips(to step: Int, behind last: Int) -> ServiceError {
        ServiceError(
            .invalidArguments,
            "step \(step) of the enrolment can't come after step \(last); fetch it, and post the next")
    }

    static func wrongCodes(millisecondsLeft: UInt64) -> ServiceError {
        limited(
            "wrong codes were typed \(ServiceLimits.wrongCodesPerHour) times within an hour, so that no device can"
                + " enrol for now; enter the recovery code, or wait",
            millisecondsLeft)
    }

    static func tooMany(_ count: Int, millisecondsLeft: UInt64) -> ServiceError {
        limited(
            "\(count) devices of this account wait to be let in, which is the limit; end one of their enrolments on"
                + " a device that has the keys, or wait until the oldest is over: ten minutes at most", millisecondsLeft
        )
    }

    static func tooManyOfAccount(_ count: Int, millisecondsLeft: UInt64) -> ServiceError {
        limited(
            "\(count) enrolments of this account are open, in all its containers, which is the limit; end one, or wait"
                + " until the oldest is over", millisecondsLeft)
    }

    static func tooManyBegun(millisecondsLeft: UInt64) -> ServiceError {
        limited(
            "this account has begun many enrolments in the last minutes, and ended most; wait before the next",
            millisecondsLeft)
    }

    static let isFull = limited(
        "the server passes on as many enrolments as it may; try again shortly",
        UInt64(ServiceLimits.enrolmentRetryMilliseconds))

    private static func limited(_ message: String, _ milliseconds: UInt64) -> ServiceError {
        ServiceError(.requestRateLimited, message, retryAfterMilliseconds: UInt32(clamping: milliseconds))
    }
}
