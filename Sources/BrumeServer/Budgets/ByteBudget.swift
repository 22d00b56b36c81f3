internal import Synchronization

/// Bytes of one kind that a server holds for all of its clients together, or for a part of them. Any thread.
final class ByteBudget: Sendable {
    let limit: Int
    /// The budget that this one is a part of.
    private let whole: ByteBudget?
    private let held = Atomic<Int>(0)

    init(limit: Int, of whole: ByteBudget? = nil) {
        self.limit = limit
        self.whole = whole
    }

    var bytes: Int { held.load(ordering: .relaxed) }
    var isFull: Bool { bytes >= limit || whole?.isFull == true }
    /// The last eighth is left to those who hold little, so that those who hold much can't shut them out.
    var isTight: Bool { bytes >= limit - limit / 8 || whole?.isTight == true }

    fileprivate func add(_ byteCount: Int) {
        held.add(byteCount, ordering: .relaxed)
        whole?.add(byteCount)
    }

    /// Whether there is room for bytes that were just added. Where nobody holds any, one message may be larger than
    /// all.
    fileprivate func hasRoom(for byteCount: Int, ofLittle isLittle: Bool) -> Bool {
        let bytes = bytes
        let room = isLittle ? limit : limit - limit / 8
        return (bytes <= room || bytes <= byteCount) && whole?.hasRoom(for: byteCount, ofLittle: isLittle) != false
    }
}

/// What one client holds of a budget. Any thread.
final class ByteShare: Sendable {
    /// Why nothing more is taken.
    enum Shortage: Equatable, Sendable {
        /// The client holds all that one may hold.
        case share
        /// All clients together hold what the server holds for them.
        case budget
    }

    private let budget: ByteBudget
    let limit: Int
    private let held = Atomic<Int>(0)

    init(of budget: ByteBudget, limit: Int) {
        self.budget = budget
        self.limit = limit
    }

    var bytes: Int { held.load(ordering: .relaxed) }

    /// Counts bytes that are held now, or no more.
    func change(by byteCount: Int) {
        if byteCount == 0 { return }
        held.add(byteCount, ordering: .relaxed)
        budget.add(byteCount)
    }

    /// Counts bytes that are held until ``change(by:)`` takes back what this returns. A few are not worth counting:
    /// they are as many as calls may be open.
    func hold(_ byteCount: Int) -> Int {
        guard byteCount > ServerLimits.uncountedBytes else { return 0 }
        change(by: byteCount)
        return byteCount
    }

    /// Why nothing more is taken of this client; nil: something is.
    var shortage: Shortage? {
        let bytes = bytes
        if bytes >= limit { return .share }
        if budget.isFull || (budget.isTight && bytes > ServerLimits.littleBytes) { return .budget }
        return nil
    }

    /// Counts bytes if there is room for all of them. A client that holds nothing may hold more than its limit at once,
    /// where one message is larger than that.
    func reserve(_ byteCount: Int) -> Shortage? {
        let share = held.add(byteCount, ordering: .relaxed).newValue
        if share > limit, share > byteCount {
            held.subtract(byteCount, ordering: .relaxed)
            return .share
        }
        budget.add(byteCount)
        if budget.hasRoom(for: byteCount, ofLittle: share <= ServerLimits.littleBytes) { return nil }
        change(by: -byteCount)
        return .budget
    }
}
