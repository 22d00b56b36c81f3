internal import BrumeModel
internal import BrumeStore

/// Whose changes the indexes of a database have yet to take over, in the order of the commits.
///
/// Indexes come after the commits, so the time that they take is charged to an account when it is spent. In a public
/// database they also are a room that all users share (``StoreLimits/pendingIndexBytes``): an account may take as much
/// of it as is left free, so that none leaves others without.
struct IndexDebts {
    private struct Debt {
        let account: ClientShare.Key
        var work: Int
    }

    /// The oldest first; consecutive ones of one account are one.
    private var debts: [Debt] = []
    private var first = 0
    private var ofAccount: [ClientShare.Key: Int] = [:]
    private var total = 0
    /// Time spent on changes that are not done with.
    private var unchargedNanoseconds: UInt64 = 0

    /// What is pending in a database: bytes of versions, where a change counts as its share of the changes that may be
    /// pending.
    static func work(pendingIn database: Database) -> Int {
        database.pendingIndexBytes
            + database.pendingIndexChanges * (StoreLimits.pendingIndexBytes / StoreLimits.pendingIndexChanges)
    }

    /// Whether an account has so little waiting that it is not refused for what others have: one request of somebody
    /// else may fill the whole room (``StoreLimits/pendingIndexReserveBytes``).
    func hasLittle(_ account: ClientShare.Key) -> Bool {
        ofAccount[account, default: 0] <= StoreLimits.smallIndexBytes
    }

    /// Whether an account has no more than what is left free, or little.
    func mayAdd(_ account: ClientShare.Key) -> Bool {
        hasLittle(account) || ofAccount[account, default: 0] <= StoreLimits.pendingIndexBytes - total
    }

    /// A commit of the account has left so much to the indexes, with what was left to them before.
    mutating func committed(_ account: ClientShare.Key, pending: Int) {
        let growth = pending - total
        if growth <= 0 { return _ = done(pending: pending) }
        total = pending
        ofAccount[account, default: 0] += growth
        if debts.count > first, debts[debts.count - 1].account == account {
            debts[debts.count - 1].work += growth
        } else {
            debts.append(Debt(account: account, work: growth))
        }
    }

    /// The indexes have gone on, and so much is left. Returns whose work they did, and which part of all that they did.
    mutating func done(pending: Int) -> [(account: ClientShare.Key, part: Double)] {
        let paid = total - pending
        if paid <= 0 { return [] }
        total = pending
        var left = paid
        var parts: [(account: ClientShare.Key, part: Double)] = []
        while left > 0, first < debts.count {
            let account = debts[first].account
            let work = min(left, debts[first].work)
            left -= work
            debts[first].work -= work
            if debts[first].work == 0 { first += 1 }
            let owed = ofAccount[account, default: 0] - work
            ofAccount[account] = owed > 0 ? owed : nil
            parts.append((account, Double(work) / Double(paid)))
        }
        if first == debts.count {
            (debts, first, ofAccount) = ([], 0, [:])
        } else if first > 64, first > debts.count / 2 {
            debts.removeFirst(first)
            first = 0
        }
        return parts
    }

    /// The indexes have worked for so long, and so much is left. Returns whom to charge for how long: time is charged
    /// when a change is done with, since a large one takes many steps.
    mutating func worked(nanoseconds: UInt64, pending: Int) -> [(account: ClientShare.Key, nanoseconds: UInt64)] {
        unchargedNanoseconds += nanoseconds
        let charged = done(pending: pending).map { ($0.account, UInt64(Double(unchargedNanoseconds) * $0.part)) }
        if !charged.isEmpty || total == 0 { unchargedNanoseconds = 0 }
        return charged
    }

    /// What an account is told that has to wait for the indexes.
    static let refusal = ServiceError(
        .zoneBusy, "the indexes have yet to take over many large changes of this account; try again shortly",
        retryAfterMilliseconds: 1_000)
}
