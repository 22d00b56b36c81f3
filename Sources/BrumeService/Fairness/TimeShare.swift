/// What one account took of a loop's time, and whether it may take more in this turn.
///
/// An account may begin whatever it likes until it has spent ``Limits/turnNanoseconds`` in a turn of the loop. What it
/// spent beyond that is a debt, which later turns pay off by as much: so an account whose every request takes long gets
/// the loop for one request now and then, and the requests of all others run in the turns between. Counted by time,
/// because what holds up others is time; and by requests, for floods of small ones and for a loop whose clock stands
/// still.
///
/// Belongs to one loop. A class, so that a client finds its account's share without a look-up.
final class TimeShare {
    struct Limits: Sendable {
        /// Time that one account's requests may take in a turn before the next one waits. One that began runs to its
        /// end.
        var turnNanoseconds: UInt64 = ServiceLimits.accountTurnNanoseconds
        /// Frames and requests of one account in a turn.
        var turnCount = ServiceLimits.accountTurnCount
        /// Bytes of an account's changes that may wait for the disk before it gets no more turns.
        var undurableBytes = ServiceLimits.undurableTurnBytes
        /// The same limit when no other account writes.
        var undurableBytesAlone = ServiceLimits.undurableTurnBytesAlone
    }

    let account: ClientShare.Key
    /// Clients of the account on this loop. Without any, and without a debt, the share is forgotten.
    var clientCount = 0
    /// Bytes of its commits on this loop that are not durable yet.
    @exclusivity(unchecked) private(set) var undurableBytes = 0
    /// Until then the account leaves the disk to others.
    @exclusivity(unchecked) private(set) var restsUntilNanoseconds: UInt64 = 0
    private let limits: Limits
    @exclusivity(unchecked) private var turn: UInt64 = 0
    @exclusivity(unchecked) private var spentNanoseconds: UInt64 = 0
    @exclusivity(unchecked) private var count = 0
    /// Everything before this time has been charged.
    @exclusivity(unchecked) private var spentUntil: UInt64 = 0

    init(account: ClientShare.Key, limits: Limits) {
        self.account = account
        self.limits = limits
    }

    /// Whether the account may begin something in the turn.
    func mayBegin(inTurn turn: UInt64) -> Bool {
        advance(to: turn)
        return spentNanoseconds < limits.turnNanoseconds && count < limits.turnCount
    }

    // MARK: The disk

    /// Whether so much of the account waits for the disk that it may begin nothing before some of it is durable.
    ///
    /// - Parameter isShared: Whether other accounts write as well.
    func waitsForDisk(isShared: Bool) -> Bool {
        undurableBytes >= (isShared ? limits.undurableBytes : limits.undurableBytesAlone)
    }

    /// The account made a commit, which goes to the disk.
    func committed(_ byteCount: Int) { undurableBytes += byteCount }

    /// Notes that a commit of the account is durable. If much of the account's data waited, the disk belongs to the
    /// others for as long as the commit took, so an account that writes as much as the disk takes gets half of it. But
    /// for no longer than a disk needs for the commit itself, because the commit may have waited for others, or for a
    /// full disk.
    ///
    /// - Parameters:
    ///   - sinceNanoseconds: When the commit was made.
    ///   - isShared: Whether other accounts write as well.
    func becameDurable(_ byteCount: Int, sinceNanoseconds: UInt64, isShared: Bool, nowNanoseconds: UInt64) {
        if isShared, waitsForDisk(isShared: true) {
            let waited = nowNanoseconds - min(nowNanoseconds, sinceNanoseconds)
            let rest = min(waited, UInt64(byteCount) * ServiceLimits.diskRestNanosecondsPerByte)
            restsUntilNanoseconds = max(restsUntilNanoseconds, nowNanoseconds) + rest
        }
        undurableBytes -= byteCount
    }

    /// Charges for a request of the account, or for one of its frames.
    ///
    /// - Parameter count: 0 for what belongs to a frame or request that has been counted already.
    func spend(nanoseconds: UInt64, count: Int = 1, inTurn turn: UInt64) {
        advance(to: turn)
        spentNanoseconds += nanoseconds
        self.count += count
    }

    /// Charges for the time between two readings of the loop's clock, without the part that has been charged already.
    func spend(from began: UInt64, to ended: UInt64, count: Int = 1, inTurn turn: UInt64) {
        spend(nanoseconds: ended - min(ended, max(began, spentUntil)), count: count, inTurn: turn)
        spentUntil = ended
    }

    private func advance(to turn: UInt64) {
        let passed = turn - self.turn
        if passed == 0 { return }
        self.turn = turn
        count = 0
        let (paid, overflow) = limits.turnNanoseconds.multipliedReportingOverflow(by: passed)
        spentNanoseconds -= overflow ? spentNanoseconds : min(spentNanoseconds, paid)
    }
}
