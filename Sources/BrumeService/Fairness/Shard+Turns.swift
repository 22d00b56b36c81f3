internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// How a loop's time is shared: what an account asks for runs at once while its share of the turn lasts, and waits for
/// a later turn otherwise, after what it asked for before. That holds wherever a request begins or goes on: when its
/// frame is read, when it comes from another loop, and when what it waited for has come.
///
/// So a call waits for one request of each other account at the most, whatever they send and over however many
/// connections; and one request is bounded by the limits of what it may cost.
///
/// The disk is shared in the same way: an account with much that is not durable gets no turn until it is, and, if
/// others write as well, for about as long again. So a save waits for one commit of each other account and for what
/// came before it (``ServiceLimits/undurableTurnBytes``), and nothing that comes over one loop is refused. While a disk
/// stands still the account's connections are not read: after some 25 s their clients take them for dead and connect
/// again.
extension Shard {
    /// What waits for a turn.
    enum Turn {
        /// Requests that a door has not read.
        case client(Client)
        /// A request that came from another loop, or has waited elsewhere.
        case call(() -> Void)
    }

    func timeShare(of account: ClientShare.Key) -> TimeShare {
        if let known = timeShares[account] { return known }
        let share = TimeShare(account: account, limits: server.configuration.timeShareLimits)
        timeShares[account] = share
        return share
    }

    /// Whether the account may begin something now, and nothing of it waits.
    func mayBegin(_ share: TimeShare) -> Bool {
        mayGoOn(share) && (turns.isEmpty || turns.count(of: share.account) == 0)
    }

    /// Whether the account may begin something in its turn.
    func mayGoOn(_ share: TimeShare) -> Bool { share.mayBegin(inTurn: turnNumber) && !waitsForDisk(share) }

    /// Whether the client's door may read another frame now.
    ///
    /// - Parameter isInItsTurn: Whether it has waited for a turn, which has come.
    package func mayRead(_ client: Client, inItsTurn isInItsTurn: Bool) -> Bool {
        isInItsTurn ? mayGoOn(client.timeShare) : mayBegin(client.timeShare)
    }

    /// While the disk is full nobody waits for it: requests that change something are refused, and those that only read
    /// go on.
    func waitsForDisk(_ share: TimeShare) -> Bool {
        let now = loop.nowNanoseconds
        guard share.undurableBytes > 0 || share.restsUntilNanoseconds > now else { return false }
        return
            (share.restsUntilNanoseconds > now
            || share.waitsForDisk(isShared: server.diskSharing.isShared(atNanoseconds: now)))
            && !server.logs.isFull
    }

    /// Runs a call of an account: at once, or when its account's turn comes.
    package func takeTurn(of account: ClientShare.Key, _ call: @escaping () -> Void) {
        let share = timeShare(of: account)
        if mayBegin(share) { run(.call(call), share) } else { wait(.call(call), of: account) }
    }

    /// The same for a call of a client of another loop. It is refused when as many calls wait as an account may have
    /// open: then some are from connections that are gone, since their calls are no longer counted as open, and a
    /// client that comes and goes could pile up more without end. And it is refused when its turn comes after the
    /// client's token was revoked, since nobody else finds it here.
    func takeFarTurn(of client: Client, refuse: @escaping (ServiceError) -> Void, _ call: @escaping () -> Void) {
        let account = client.share.key
        guard turns.count(of: account) < server.configuration.callsPerAccount else { return refuse(Self.tooManyTurns) }
        takeTurn(of: account) { [self] in
            if server.isStillValid(client.identity) { call() } else { refuse(ServerCore.revokedToken) }
        }
    }

    private static let tooManyTurns = ServiceError(
        .requestRateLimited,
        "calls of connections that were closed before their answers fill the account's line; wait for answers",
        retryAfterMilliseconds: ServiceLimits.callRetryMilliseconds)

    /// Goes on with a request of a client of this loop that has waited elsewhere: at once, or when its account's turn
    /// comes. Until then the request holds what it held. It is refused when its client's token was revoked meanwhile.
    func goOn(
        after detour: Detour, refuse: @escaping (ServiceError) -> Void, _ body: @escaping () -> Void
    ) {
        let client = detour.client
        takeTurn(of: client.share.key) { [self] in
            detour.end()
            if server.isStillValid(client.identity) { body() } else { refuse(ServerCore.revokedToken) }
            client.door.resumeIfPossible()
        }
    }

    /// Runs `body` and charges its time to the account's share.
    func charge(_ share: TimeShare, _ body: () -> Void) {
        let began = loop.currentNanoseconds
        body()
        share.spend(from: began, to: loop.currentNanoseconds, inTurn: turnNumber)
    }

    /// Charges the client's account for what its door has done since a time of the loop's clock, and returns the time
    /// that it is now.
    ///
    /// - Parameter frames: 0 for what belongs to a frame that has been counted already.
    @discardableResult
    package func charge(_ client: Client, since began: UInt64, frames: Int = 1) -> UInt64 {
        let now = loop.currentNanoseconds
        client.timeShare.spend(from: began, to: now, count: frames, inTurn: turnNumber)
        return now
    }

    /// Has the client's door read on when its account's turn comes.
    package func waitForTurn(_ client: Client) { wait(.client(client), of: client.timeShare.account) }

    private func wait(_ turn: Turn, of account: ClientShare.Key) {
        turns.append(turn, of: account)
        giveTurnsNextTurn()
    }

    /// Gives turns in the loop's next turn, and goes on until only accounts are left that wait for the disk. Those are
    /// looked at again when something is durable, and every ``ServiceLimits/sweepMilliseconds``, because the disk may
    /// have become full.
    func giveTurnsNextTurn() {
        if turnsAreScheduled || turns.isEmpty { return }
        turnsAreScheduled = true
        // Tasks run after the turn's events: what comes in from others goes first.
        loop.execute { [self] in
            turnsAreScheduled = false
            giveTurns()
            if turns.accounts.contains(where: { !waitsForDisk(timeShare(of: $0)) }) {
                giveTurnsNextTurn()
            } else {
                giveTurnsAfterRest()
            }
        }
    }

    /// Gives turns once the first of the accounts that leave the disk to others has done so for long enough.
    private func giveTurnsAfterRest() {
        let now = loop.nowNanoseconds
        let ends = turns.accounts.lazy.map { self.timeShare(of: $0).restsUntilNanoseconds }.filter { $0 > now }
        guard let end = ends.min(), end < restTimerNanoseconds else { return }
        restTimerNanoseconds = end
        _ = loop.schedule(afterMilliseconds: (end - now) / 1_000_000 + 1) { [unowned self] in
            if restTimerNanoseconds == end { restTimerNanoseconds = .max }
            giveTurnsNextTurn()
        }
    }

    /// Gives turns to one account after the other, to each while its share lasts, and in all for as long as a turn may
    /// take.
    private func giveTurns() {
        let began = loop.currentNanoseconds
        while loop.currentNanoseconds - began < ServiceLimits.turnsNanoseconds,
            let (account, turn) = turns.popFirst(where: { mayGoOn(timeShare(of: $0)) })
        {
            run(turn, timeShare(of: account))
        }
    }

    private func run(_ turn: Turn, _ share: TimeShare) {
        switch turn {
        // The door charges its own time, frame by frame.
        case .client(let client): client.door.turnCame()
        case .call(let call): charge(share, call)
        }
    }

    /// Forgets accounts that have gone.
    func forgetTimeShares() {
        guard timeShares.count > ServiceLimits.idleTimeShares else { return }
        for (account, share) in timeShares
        where share.clientCount == 0 && turns.count(of: account) == 0 && share.undurableBytes == 0
            && share.mayBegin(inTurn: turnNumber)
        {
            timeShares[account] = nil
        }
    }
}
