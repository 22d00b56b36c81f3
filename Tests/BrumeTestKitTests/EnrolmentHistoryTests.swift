import BrumeModel
import Testing

@testable import BrumeTestKit

@Suite("What enrolments may come to")
struct EnrolmentHistoryTests {
    private static let second: UInt64 = 1_000_000_000
    private static let life = EnrolmentHistory.Life(number: 1, start: 0)

    /// Two enrolments that began at 9 s and were ended for wrong codes, the second with an answer at 12.5 s. A third
    /// one's beginning is refused from 22 s to 22.5 s.
    private static func problem(isSentOnce: Bool) -> String? {
        let history = EnrolmentHistory()
        func key(_ id: UInt8) -> EnrolmentHistory.Key { .init(account: 0, id: [id]) }
        let beginning = history.posts([1], step: 1, of: key(1), at: 9 * second, in: life)
        let end = history.ends(key(1), isForWrongCode: true, at: 9 * second, in: life)
        let answered = isSentOnce ? 9 * second + second / 2 : 22 * second + second / 2
        for call in [beginning, end] {
            history.answered(call, isSuccess: true, isSentOnce: isSentOnce, at: answered, in: life)
        }
        _ = history.posts([2], step: 1, of: key(2), at: 9 * second, in: life)
        let other = history.ends(key(2), isForWrongCode: true, at: 12 * second, in: life)
        history.answered(other, isSuccess: true, isSentOnce: true, at: 12 * second + second / 2, in: life)
        let refused = history.posts([3], step: 1, of: key(3), at: 22 * second, in: life)
        let error = ServiceError(.requestRateLimited, "wrong codes were typed 3 times")
        history.answered(refused, isSuccess: false, isSentOnce: true, at: 22 * second + second / 2, in: life)
        return history.problem(
            withRefusal: error, of: .init(call: refused, step: 1, message: [3]), of: key(3),
            .init(sent: 22 * second, answered: 22 * second + second / 2, life: life))
    }

    @Test("a wrong code that was sent again after its enrolment was over may count twice, and one sent once may not")
    func wrongCodesSentAgain() {
        #expect(Self.problem(isSentOnce: false) == nil)
        #expect(Self.problem(isSentOnce: true) != nil)
    }
}
