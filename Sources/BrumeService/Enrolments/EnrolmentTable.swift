internal import BrumeModel

/// What devices say to each other while one of them lets another one in: the enrolments of a loop's private databases.
///
/// The server passes the messages on and reads none of them. They are in memory only: an enrolment lives ten minutes,
/// and devices begin another one after a restart. Time is an argument, in milliseconds of a clock that does not go
/// back.
///
/// Each account has a list of its own, short enough to be searched, so that a call costs the same whatever others keep
/// here; and what has expired is removed as calls come, some of it with each.
///
/// Bounded by ``Limits``: 4,096 open enrolments with 2 KiB of messages and some 200 bytes besides are 9 MiB, and
/// 16,384 traces with the longest names of containers another 8 MiB. Only whoever has a token puts anything here, and
/// to fill it takes the tokens of 256 accounts.
struct EnrolmentTable {
    struct Limits {
        var lifeMilliseconds = ServiceLimits.enrolmentMilliseconds
        var wrongCodeMilliseconds = ServiceLimits.wrongCodeMilliseconds
        var openPerDatabase = ServiceLimits.enrolmentsPerDatabase
        var openPerAccount = ServiceLimits.enrolmentsPerAccount
        var open = ServiceLimits.enrolmentsPerLoop
        /// Enrolments that have begun, whether they have ended or not, and wrong codes.
        var tracesPerAccount = ServiceLimits.enrolmentTracesPerAccount
        var traces = ServiceLimits.enrolmentTracesPerLoop
    }

    private struct Enrolment {
        let id: [UInt8]
        let database: DatabaseID
        /// The hash of the token of whoever began it.
        let tokenHash: [UInt8]
        let expiry: UInt64
        /// In the order of their steps; none when it was ended. Until it expires its id is kept all the same: a first
        /// message that is late must not begin it again.
        var messages: [[UInt8]]

        var isOpen: Bool { !messages.isEmpty }
    }

    private struct Account {
        /// The oldest first.
        var enrolments: [Enrolment] = []
        var wrongCodes: [(database: DatabaseID, expiry: UInt64)] = []

        var traceCount: Int { enrolments.count + wrongCodes.count }

        func index(of id: [UInt8], in database: DatabaseID) -> Int? {
            enrolments.firstIndex { $0.id == id && $0.database == database }
        }
    }

    /// The caller's account, private database and token.
    struct Caller {
        let account: ClientShare.Key
        let database: DatabaseID
        let tokenHash: [UInt8]
    }

    private let limits: Limits
    private var accounts: [ClientShare.Key: Account] = [:]
    /// When enrolments expire, and wrong codes.
    private var enrolmentExpiries = ExpiryLine()
    private var wrongCodeExpiries = ExpiryLine()
    /// Enrolments that have not ended, as far as those that expired were removed; and the same with what is kept of
    /// those that have ended and of wrong codes.
    private(set) var openCount = 0
    private(set) var traceCount = 0
    var testOnly_accountCount: Int { accounts.count }

    init(limits: Limits = Limits()) { self.limits = limits }

    // MARK: Calls

    /// Keeps the next message of an enrolment; the first one begins it.
    mutating func post(
        _ request: PostEnrolmentRequest, by caller: Caller, nowMilliseconds now: UInt64
    ) throws(ServiceError) {
        removeExpired(of: caller.account, now)
        guard let index = accounts[caller.account]?.index(of: request.id, in: caller.database) else {
            guard request.step == 1 else { throw EnrolmentRefusals.isOver }
            return try begin(request, by: caller, now)
        }
        let messages = accounts[caller.account]!.enrolments[index].messages
        guard !messages.isEmpty else { throw EnrolmentRefusals.isOver }
        if request.step <= messages.count {
            guard messages[request.step - 1] == request.message else {
                throw EnrolmentRefusals.isTaken(step: request.step)
            }
            return
        }
        guard request.step == messages.count + 1 else {
            throw EnrolmentRefusals.skips(to: request.step, behind: messages.count)
        }
        accounts[caller.account]!.enrolments[index].messages.append(request.message)
    }

    /// The caller's enrolments that have not ended, the oldest first.
    ///
    /// - Parameter id: The one that is asked for; nil for all.
    mutating func fetch(_ id: [UInt8]?, by caller: Caller, nowMilliseconds now: UInt64) -> [RelayedEnrolment] {
        removeExpired(of: caller.account, now)
        return openEnrolments(of: caller).filter { id == nil || $0.id == id }.map {
            RelayedEnrolment(id: $0.id, messages: $0.messages, millisecondsLeft: UInt32($0.expiry - now))
        }
    }

    /// Ends an enrolment, and counts a wrong code; of one that is over it counts nothing.
    mutating func end(_ request: EndEnrolmentRequest, by caller: Caller, nowMilliseconds now: UInt64) {
        removeExpired(of: caller.account, now)
        guard let index = accounts[caller.account]?.index(of: request.id, in: caller.database),
            accounts[caller.account]!.enrolments[index].isOpen
        else { return }
        accounts[caller.account]!.enrolments[index].messages = []
        openCount -= 1
        guard request.isForWrongCode else { return }
        let expiry = now + limits.wrongCodeMilliseconds
        accounts[caller.account]!.wrongCodes.append((caller.database, expiry))
        wrongCodeExpiries.append(caller.account, expiry)
        traceCount += 1
    }

    /// Ends what was begun with tokens that are no longer valid. The operator revokes tokens seldom, so that it may
    /// look at all there is.
    mutating func endAll(ofTokens hashes: Set<[UInt8]>) {
        for (account, kept) in accounts {
            for (index, enrolment) in kept.enrolments.enumerated()
            where enrolment.isOpen && hashes.contains(enrolment.tokenHash) {
                accounts[account]!.enrolments[index].messages = []
                openCount -= 1
            }
        }
    }

    // MARK: Beginning

    private mutating func begin(
        _ request: PostEnrolmentRequest, by caller: Caller, _ now: UInt64
    ) throws(ServiceError) {
        if let refusal = refusal(ofEnrolmentBy: caller, now) { throw refusal }
        let expiry = now + limits.lifeMilliseconds
        let enrolment = Enrolment(
            id: request.id, database: caller.database, tokenHash: caller.tokenHash, expiry: expiry,
            messages: [request.message])
        accounts[caller.account, default: Account()].enrolments.append(enrolment)
        enrolmentExpiries.append(caller.account, expiry)
        openCount += 1
        traceCount += 1
    }

    private func refusal(ofEnrolmentBy caller: Caller, _ now: UInt64) -> ServiceError? {
        if let account = accounts[caller.account] {
            let wrongCodes = account.wrongCodes.filter { $0.database == caller.database }
            if wrongCodes.count >= ServiceLimits.wrongCodesPerHour {
                // There may be more, of enrolments that were open when the last was typed.
                let last = wrongCodes.suffix(ServiceLimits.wrongCodesPerHour)
                return EnrolmentRefusals.wrongCodes(millisecondsLeft: last.first!.expiry - now)
            }
            let open = openEnrolments(of: caller)
            if open.count >= limits.openPerDatabase {
                return EnrolmentRefusals.tooMany(open.count, millisecondsLeft: open.first!.expiry - now)
            }
            let allOpen = account.enrolments.filter(\.isOpen)
            if allOpen.count >= limits.openPerAccount {
                return EnrolmentRefusals.tooManyOfAccount(allOpen.count, millisecondsLeft: allOpen.first!.expiry - now)
            }
            if account.traceCount >= limits.tracesPerAccount {
                let first = min(
                    account.enrolments.first?.expiry ?? .max, account.wrongCodes.first?.expiry ?? .max)
                return EnrolmentRefusals.tooManyBegun(millisecondsLeft: first - now)
            }
        }
        return openCount >= limits.open || traceCount >= limits.traces ? EnrolmentRefusals.isFull : nil
    }

    private func openEnrolments(of caller: Caller) -> [Enrolment] {
        accounts[caller.account]?.enrolments.filter { $0.isOpen && $0.database == caller.database } ?? []
    }

    // MARK: Expiry

    /// Removes what has expired of the caller, so that a call sees none of it, and some of what has expired of others:
    /// more than a call can add.
    private mutating func removeExpired(of account: ClientShare.Key, _ now: UInt64) {
        removeAllExpired(of: account, now)
        for _ in 0..<ServiceLimits.expiredEnrolmentsPerCall {
            guard let next = enrolmentExpiries.popExpired(now) ?? wrongCodeExpiries.popExpired(now) else { return }
            removeAllExpired(of: next, now)
        }
    }

    private mutating func removeAllExpired(of account: ClientShare.Key, _ now: UInt64) {
        guard let index = accounts.index(forKey: account) else { return }
        let enrolments = accounts.values[index].enrolments.prefix { $0.expiry <= now }
        let wrongCodeCount = accounts.values[index].wrongCodes.prefix { $0.expiry <= now }.count
        let enrolmentCount = enrolments.count
        guard enrolmentCount + wrongCodeCount > 0 else { return }
        openCount -= enrolments.count { $0.isOpen }
        traceCount -= enrolmentCount + wrongCodeCount
        accounts.values[index].enrolments.removeFirst(enrolmentCount)
        accounts.values[index].wrongCodes.removeFirst(wrongCodeCount)
        if accounts.values[index].traceCount == 0 { accounts.remove(at: index) }
    }
}

extension EnrolmentTable.Limits {
    init(_ configuration: ServiceConfiguration) {
        lifeMilliseconds = configuration.enrolmentMilliseconds
        wrongCodeMilliseconds = configuration.wrongCodeMilliseconds
    }
}

/// Accounts that have something that expires, in the order in which it does.
private struct ExpiryLine {
    private var entries: [(account: ClientShare.Key, expiry: UInt64)?] = []
    private var first = 0

    /// Nothing that is here expires later.
    mutating func append(_ account: ClientShare.Key, _ expiry: UInt64) { entries.append((account, expiry)) }

    /// The next account of which something has expired.
    mutating func popExpired(_ now: UInt64) -> ClientShare.Key? {
        guard first < entries.count, let next = entries[first], next.expiry <= now else { return nil }
        entries[first] = nil
        first += 1
        if first * 2 > entries.count {
            entries.removeFirst(first)
            first = 0
        }
        return next.account
    }
}
