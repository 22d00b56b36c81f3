/// What devices posted in enrolments and when, so that what the server shows can be held against it.
///
/// I18: what is fetched was posted by a device of the account, in its place and in order, and each enrolment is shown
/// once, with the time that it has left. What was kept is shown for as long as it lives; nothing is that was ended, is
/// too old, or was posted before the server started.
///
/// A call has its effect at some time between the one at which it is sent and its answer's. If it was sent more than
/// once, or has no answer of the server, it may have one at any time after. Times are in nanoseconds; the server counts
/// whole milliseconds, so that what is certain leaves one out.
final class EnrolmentHistory {
    /// So short that enrolments and wrong codes expire within a run.
    static let lifeMilliseconds: UInt64 = 6_000
    static let wrongCodeMilliseconds: UInt64 = 20_000
    static let millisecond: UInt64 = 1_000_000
    private static let life = lifeMilliseconds * millisecond
    private static let wrongCodeLife = wrongCodeMilliseconds * millisecond

    /// An account's enrolment; another account may take the same id.
    struct Key: Hashable {
        let account: Int
        let id: [UInt8]
    }

    /// A process of the server, and when it started.
    struct Life: Equatable {
        let number: Int
        let start: UInt64
    }

    /// A call, with when its effect may be.
    final class Call {
        let sent: UInt64
        /// The life in which it was sent.
        let life: Life
        /// The last time at which it may have its effect.
        fileprivate(set) var last = UInt64.max
        /// The life in which it certainly succeeded, and when its answer came.
        fileprivate(set) var success: (life: Life, time: UInt64)?

        fileprivate init(sent: UInt64, life: Life) { (self.sent, self.life) = (sent, life) }

        func hasSucceeded(in life: Life, by time: UInt64) -> Bool {
            success.map { $0.life == life && $0.time <= time } ?? false
        }
    }

    struct Post {
        let call: Call
        let step: Int
        let message: [UInt8]
    }

    struct Enrolment {
        var posts: [Post] = []
        var ends: [(call: Call, isForWrongCode: Bool)] = []

        var beginnings: [Post] { posts.filter { $0.step == 1 } }
    }

    private(set) var enrolments: [Key: Enrolment] = [:]
    /// The ids of each account, in the order in which its devices used them.
    private(set) var ids: [Int: [[UInt8]]] = [:]
    private var revocations: [Int: [(asked: UInt64, done: UInt64)]] = [:]

    // MARK: What devices do

    func posts(_ message: [UInt8], step: Int, of key: Key, at now: UInt64, in life: Life) -> Call {
        let call = Call(sent: now, life: life)
        if enrolments[key, default: Enrolment()].posts.isEmpty { ids[key.account, default: []].append(key.id) }
        enrolments[key, default: Enrolment()].posts.append(Post(call: call, step: step, message: message))
        return call
    }

    func ends(_ key: Key, isForWrongCode: Bool, at now: UInt64, in life: Life) -> Call {
        let call = Call(sent: now, life: life)
        enrolments[key, default: Enrolment()].ends.append((call, isForWrongCode))
        return call
    }

    /// The server has answered a call.
    ///
    /// - Parameter isSentOnce: Whether nothing of it can arrive any more.
    func answered(_ call: Call, isSuccess: Bool, isSentOnce: Bool, at now: UInt64, in life: Life) {
        if isSentOnce { call.last = now }
        if isSuccess, call.life == life { call.success = (life, now) }
    }

    // MARK: Revocations

    func revocationAsked(of account: Int, at now: UInt64) { revocations[account, default: []].append((now, .max)) }

    func revocationDone(of account: Int, at now: UInt64) {
        guard let last = revocations[account]?.indices.last else { return }
        revocations[account]![last].done = now
    }

    private func mayBeRevoked(_ account: Int, from: UInt64, to end: UInt64) -> Bool {
        revocations[account]?.contains { $0.asked <= end && $0.done >= from } ?? false
    }

    // MARK: What is certain

    /// When an enrolment may have begun first in a life of the server; nil where it can't have begun there.
    func firstBeginning(of key: Key, in life: Life) -> UInt64? {
        let sent = enrolments[key]?.beginnings.filter { $0.call.last >= life.start }.map(\.call.sent).min()
        return sent.map { max($0, life.start) }
    }

    /// Whether an enrolment that has begun in this life can't have expired by then, and so can't have begun again.
    func isFirst(_ key: Key, in life: Life, until end: UInt64) -> Bool {
        firstBeginning(of: key, in: life).map { end < $0 + Self.life - Self.millisecond } ?? false
    }

    func hasBegun(_ key: Key, in life: Life, by time: UInt64) -> Bool {
        enrolments[key]?.beginnings.contains { $0.call.hasSucceeded(in: life, by: time) } ?? false
    }

    /// Whether an enrolment may have been ended by then.
    func mayBeEnded(_ key: Key, in life: Life, by end: UInt64) -> Bool {
        enrolments[key]?.ends.contains { $0.call.sent <= end } ?? false
            || mayBeRevoked(key.account, from: firstBeginning(of: key, in: life) ?? 0, to: end)
    }

    /// Whether an enrolment is certainly open from one time to another.
    func isOpen(_ key: Key, in life: Life, from start: UInt64, to end: UInt64) -> Bool {
        hasBegun(key, in: life, by: start) && isFirst(key, in: life, until: end)
            && !mayBeEnded(key, in: life, by: end)
    }

    /// Whether an enrolment was certainly ended by then, and its id can't begin again before `end`.
    func isEnded(_ key: Key, in life: Life, from start: UInt64, to end: UInt64) -> Bool {
        guard isFirst(key, in: life, until: end), let ends = enrolments[key]?.ends else { return false }
        return ends.contains {
            $0.call.hasSucceeded(in: life, by: start) && hasBegun(key, in: life, by: $0.call.sent)
        }
    }

    /// Wrong codes that certainly count from one time to another.
    func wrongCodes(of account: Int, in life: Life, from start: UInt64, to end: UInt64) -> Int {
        enrolments.count { key, enrolment in
            guard key.account == account, enrolment.ends.count == 1, let last = enrolment.ends.last else {
                return false
            }
            return last.isForWrongCode && last.call.hasSucceeded(in: life, by: start)
                && end < last.call.sent + Self.wrongCodeLife - Self.millisecond
                && isOpenBesides(key, in: life, from: last.call.sent, to: last.call.success!.time)
        }
    }

    /// Whether an enrolment is certainly open, whatever ended it since.
    private func isOpenBesides(_ key: Key, in life: Life, from start: UInt64, to end: UInt64) -> Bool {
        hasBegun(key, in: life, by: start) && isFirst(key, in: life, until: end)
            && !mayBeRevoked(key.account, from: firstBeginning(of: key, in: life) ?? 0, to: end)
    }

    // MARK: What is possible

    /// How many enrolments of an account, besides one, may be open at some time between two.
    func possiblyOpenCount(besides key: Key, from start: UInt64, to end: UInt64) -> Int {
        enrolments.count { other, enrolment in
            other.account == key.account && other != key
                && enrolment.beginnings.contains {
                    $0.call.sent <= end && Self.sum($0.call.last, Self.life + Self.millisecond) > start
                }
        }
    }

    /// How many wrong codes of an account may count at some time between two.
    func possibleWrongCodes(of account: Int, from start: UInt64, to end: UInt64) -> Int {
        let first = start - min(start, Self.wrongCodeLife + Self.millisecond)
        return enrolments.reduce(0) { sum, entry in
            guard entry.key.account == account else { return sum }
            return entry.value.ends.reduce(sum) { sum, item in
                guard item.isForWrongCode, item.call.sent <= end, item.call.last > first else { return sum }
                return sum + Self.effectsMax(of: item.call, from: first, to: end)
            }
        }
    }

    /// How often a call that ends an enrolment may have an effect between two times. Sent again when the enrolment is
    /// over, it may meet the same one anew, if what began it was sent again as well.
    private static func effectsMax(of call: Call, from start: UInt64, to end: UInt64) -> Int {
        call.last < .max ? 1 : 1 + Int((end - min(end, max(call.sent, start))) / (life - millisecond))
    }

    /// Whether all that was begun until then had to end with a revocation that is done.
    func isRevoked(_ account: Int, begunBy time: UInt64, doneBy end: UInt64) -> Bool {
        revocations[account]?.contains { time < $0.asked && $0.done <= end } ?? false
    }

    private static func sum(_ time: UInt64, _ span: UInt64) -> UInt64 {
        let (sum, overflow) = time.addingReportingOverflow(span)
        return overflow ? .max : sum
    }
}
