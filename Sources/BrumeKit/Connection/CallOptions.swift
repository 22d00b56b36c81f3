internal import BrumeModel
internal import BrumeProtocol
internal import Foundation

/// How the calls of one operation are made: what its configuration and its group come to.
struct CallOptions: Sendable {
    /// How long each call may take.
    var requestNanoseconds = ClientSession.defaultTimeoutNanoseconds
    /// When all calls of the operation have to be done; nil: no call takes longer than its own time.
    var deadline: Deadline?
    /// For the server's log.
    var operationGroup = ""
    /// For the server's log.
    var traceParent: TraceParent?
    var priority = CallPriority.utility
    /// Whether the calls wait for a server that can't be reached, as `CKOperation.h` has it of the qualities `utility`
    /// and `background`.
    var waitsForServer = false

    /// An end of time, with the seconds that there were, for the error's sentence.
    struct Deadline: Sendable {
        let clock: any ClientClock
        let milliseconds: UInt64
        let seconds: TimeInterval
    }

    /// Nanoseconds that a call that starts now may take.
    func timeoutNanoseconds() throws(CKError) -> UInt64 {
        guard let deadline else { return requestNanoseconds }
        let limit = waitsForServer ? UInt64.max : requestNanoseconds
        let now = deadline.clock.nowMilliseconds
        guard now < deadline.milliseconds else {
            throw CKError(
                .networkFailure,
                message:
                    "the operation was not done within its \(deadline.seconds) s (timeoutIntervalForResource); run a "
                    + "new one, or give it longer")
        }
        let (left, overflow) = (deadline.milliseconds - now).multipliedReportingOverflow(by: 1_000_000)
        return overflow ? limit : min(limit, left)
    }

    /// Throws when the operation's time is over.
    func checkDeadline() throws(CKError) {
        if deadline != nil { _ = try timeoutNanoseconds() }
    }

    var patience: ClientSessionStateMachine.Patience {
        waitsForServer ? .unlimited(requestNanoseconds: requestNanoseconds) : .none
    }
}

/// Which of the calls that wait for the connection are sent first.
package enum CallPriority: UInt8, Comparable, CaseIterable, Sendable {
    case background, utility, standard, userInitiated, userInteractive

    package static func < (left: CallPriority, right: CallPriority) -> Bool { left.rawValue < right.rawValue }
}

extension CallPriority {
    init(_ qualityOfService: QualityOfService) {
        self =
            switch qualityOfService {
            case .userInteractive: .userInteractive
            case .userInitiated: .userInitiated
            case .utility: .utility
            case .background: .background
            case .default: .standard
            @unknown default: .standard
            }
    }

    var taskPriority: TaskPriority {
        switch self {
        case .background: .background
        case .utility: .utility
        case .standard: .medium
        case .userInitiated, .userInteractive: .high
        }
    }
}

extension UInt64 {
    /// The nanoseconds of an interval that an app gives: a millisecond at least, and as many as fit at most.
    init(nanosecondsOf interval: TimeInterval) {
        let nanoseconds = interval * 1_000_000_000
        self = nanoseconds > 1_000_000 ? UInt64(exactly: nanoseconds.rounded()) ?? .max : 1_000_000
    }
}
