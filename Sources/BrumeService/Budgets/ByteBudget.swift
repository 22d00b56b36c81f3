internal import Synchronization

/// Bytes of one kind that a server holds for all of its clients together, or for a part of them. Any thread.
package final class ByteBudget: Sendable {
    let limit: Int
    /// The budget that this one is a part of.
    private let whole: ByteBudget?
    private let held = Atomic<Int>(0)

    init(limit: Int, of whole: ByteBudget? = nil) {
        self.limit = limit
        self.whole = whole
    }

    package var bytes: Int { held.load(ordering: .relaxed) }
    package var isFull: Bool { bytes >= limit || whole?.isFull == true }
    /// Whether only the last eighth is left. It is kept for clients that hold little, so that those that hold much
    /// can't shut them out.
    var isTight: Bool { bytes >= limit - limit / 8 || whole?.isTight == true }

    fileprivate func add(_ byteCount: Int) {
        held.add(byteCount, ordering: .relaxed)
        whole?.add(byteCount)
    }

    /// Whether there is room for bytes that were just added. If nobody else holds any, one message may be larger than
    /// the whole budget.
    fileprivate func hasRoom(for byteCount: Int, ofLittle isLittle: Bool) -> Bool {
        let bytes = bytes
        let room = isLittle ? limit : limit - limit / 8
        return (bytes <= room || bytes <= byteCount) && whole?.hasRoom(for: byteCount, ofLittle: isLittle) != false
    }
}

/// What one client holds of a budget. Any thread.
package final class ByteShare: Sendable {
    /// Why no more bytes are accepted.
    package enum Shortage: Equatable, Sendable {
        /// The client holds as much as one client may.
        case share
        /// All clients together hold as much as the server holds for them.
        case budget
    }

    private let budget: ByteBudget
    let limit: Int
    private let held = Atomic<Int>(0)

    init(of budget: ByteBudget, limit: Int) {
        self.budget = budget
        self.limit = limit
    }

    package var bytes: Int { held.load(ordering: .relaxed) }

    /// Counts bytes that are now held, or, when negative, no longer held.
    package func change(by byteCount: Int) {
        if byteCount == 0 { return }
        held.add(byteCount, ordering: .relaxed)
        budget.add(byteCount)
    }

    /// Counts bytes that are held until ``change(by:)`` takes back the returned number. Small amounts are not worth
    /// counting: there are only as many of them as calls may be open.
    func hold(_ byteCount: Int) -> Int {
        guard byteCount > ServiceLimits.uncountedBytes else { return 0 }
        change(by: byteCount)
        return byteCount
    }

    /// Why no more bytes of this client are accepted; nil when some are.
    package var shortage: Shortage? {
        let bytes = bytes
        if bytes >= limit { return .share }
        if budget.isFull || (budget.isTight && bytes > ServiceLimits.littleBytes) { return .budget }
        return nil
    }

    /// Counts bytes if there is room for all of them; otherwise returns why there is not. A client that holds nothing
    /// may exceed its limit with one message that is larger than that.
    package func reserve(_ byteCount: Int) -> Shortage? {
        let share = held.add(byteCount, ordering: .relaxed).newValue
        if share > limit, share > byteCount {
            held.subtract(byteCount, ordering: .relaxed)
            return .share
        }
        budget.add(byteCount)
        if budget.hasRoom(for: byteCount, ofLittle: share <= ServiceLimits.littleBytes) { return nil }
        change(by: -byteCount)
        return .budget
    }
}
