package import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// How databases come into memory.
///
/// What the log opens at once can be used at once. For the others the loader's thread does what the log wants done, one
/// after the other; calls for them wait meanwhile, and the loop goes on with its other databases.
extension DatabaseCache {
    /// The database, if it is in memory or quick to open; a new one when it never had a commit.
    ///
    /// - Parameters:
    ///   - account: The account that asks for it, and that should wait for at most one load of each other account.
    ///   - keepsEmpty: Whether a new one is kept. A reader without an account could name any number of containers, and
    ///     so fill the memory with empty databases.
    func access(_ id: DatabaseID, of account: ClientShare.Key, keepsEmpty: Bool = true) -> Access {
        // Calls that wait already come first, even if the database has been loaded meanwhile.
        if !loads.isEmpty, let load = loads[id] {
            if load.outcome == nil { lineUp(load, of: account) }
            return .loading(load)
        }
        if let known = databases.use(id) { return .loaded(known) }
        if unloadable.contains(id) { return .unavailable(Self.unloadableDatabase) }
        return open(id, of: account, keepsEmpty: keepsEmpty)
    }

    /// Asks the log for a database that is not in memory.
    private func open(_ id: DatabaseID, of account: ClientShare.Key, keepsEmpty: Bool) -> Access {
        var work: (@Sendable () -> Void)?
        var atOnce: Result<OpenedDatabase, StoreError>?
        var isWithinCall = true
        source.log.open(id) {
            work = $0
        } _: { [self] result in
            if isWithinCall { atOnce = result } else { loadEnded(id, result) }
        }
        isWithinCall = false
        switch (atOnce, work) {
        case (.success(let opened)?, _):
            if opened.database.sequence > 0 || keepsEmpty { return .loaded(keep(opened)) }
            source.log.close(id)
            return .loaded(host.makeLoaded(opened.database, storage: nil, savedSequence: opened.savedSequence))
        case (.failure(let error)?, _): return .unavailable(loadFailed(id, error))
        case (nil, let work?):
            guard loads.count < ServiceLimits.loads else { return .unavailable(Self.tooManyLoads) }
            let load = DatabaseLoad(id: id, work)
            loads[id] = load
            lineUp(load, of: account)
            return .loading(load)
        case (nil, nil): preconditionFailure("a log neither opens a database nor says what has to be done for it")
        }
    }

    /// Calls `body` with the database as soon as it can be used: at once, or after the account's calls that wait for it
    /// already.
    ///
    /// - Parameter byteCount: The bytes that are held while it waits.
    package func withDatabase(
        _ id: DatabaseID, of account: ClientShare.Key, byteCount: Int = 0, keepsEmpty: Bool,
        _ body: @escaping (Outcome) -> Void
    ) {
        switch access(id, of: account, keepsEmpty: keepsEmpty) {
        case .loaded(let loaded): body(.success(loaded))
        case .unavailable(let error): body(.failure(error))
        case .loading(let load):
            if let refusal = wait(for: load, of: account, byteCount: byteCount, body) { body(.failure(refusal)) }
        }
    }

    /// Runs `body` when the load has ended, after the account's calls that wait already. Returns an error if the call
    /// can't wait, nil if it does.
    func wait(
        for load: DatabaseLoad, of account: ClientShare.Key, byteCount: Int,
        _ body: @escaping (Outcome) -> Void
    ) -> ServiceError? {
        let byteCount = byteCount + ServiceLimits.heldReplyBytes
        // An account may take at most as many places as are left free, so that accounts that come later always find
        // some.
        guard load.callCount(of: account) < limits.callsPerLoad - load.callCount,
            waitingCallBytes + byteCount <= ServiceLimits.waitingCallBytes
        else { return Self.tooManyCalls }
        waitingCallBytes += byteCount
        load.wait(of: account, byteCount: byteCount, body)
        return nil
    }

    private static let unloadableDatabase = ServiceError(
        .internalError, "the database can't be loaded; the server's log says why", retryAfterMilliseconds: 60_000)

    private static let tooManyLoads = ServiceError(
        .serviceUnavailable, "many databases are being loaded; try again shortly",
        retryAfterMilliseconds: ServiceLimits.loadRetryMilliseconds)

    private static let tooManyCalls = ServiceError(
        .serviceUnavailable, "the database is being loaded, and many calls wait for it; try again shortly",
        retryAfterMilliseconds: ServiceLimits.loadRetryMilliseconds)

    // MARK: On another thread

    /// Puts the load into the account's line, unless it is already in it. A load in several lines is done when its
    /// first turn comes, so that nobody waits for a public database behind all other databases of the account that
    /// asked for it first.
    private func lineUp(_ load: DatabaseLoad, of account: ClientShare.Key) {
        guard load.isNew(to: account) else { return }
        source.loading.add(of: account) { [ticket = load.ticket, work = load.work] in
            if ticket.take() { work() }
        }
    }

    private func loadEnded(_ id: DatabaseID, _ result: Result<OpenedDatabase, StoreError>) {
        guard let load = loads[id] else { preconditionFailure("a database was loaded that nobody asked for") }
        switch result {
        case .success(let opened):
            let loaded = keep(opened)
            loaded.isAwaited = true
            let (clients, users) = load.ended(.success(loaded))
            host.databaseArrived(loaded, clients: clients, users: users)
        case .failure(let error):
            _ = load.ended(.failure(loadFailed(id, error)))
        }
        answerCalls(of: load)
    }

    /// Answers some calls per turn, and as many streams, so that many of them don't hold up the loop as the load would
    /// have. Each call is charged to its account's share of the turn, as if it had not waited.
    private func answerCalls(of load: DatabaseLoad) {
        let began = loop.currentNanoseconds
        for _ in 0..<ServiceLimits.awaitedCallsPerTurn
        where loop.currentNanoseconds - began < ServiceLimits.awaitedCallsNanoseconds {
            let next = load.nextCall { host.mayRunCall(of: $0) }
            if let (account, run, byteCount) = next {
                waitingCallBytes -= byteCount
                host.runCall(of: account, run)
            }
            if !load.beginNextListener(), next == nil { break }
        }
        let id = load.id
        if load.mayGoOn(where: host.mayRunCallSoon) {
            return loop.execute { self.answerCalls(ofLoadOf: id) }
        }
        if load.isAwaited {
            _ = loop.schedule(afterMilliseconds: ServiceLimits.diskLookMilliseconds) { [unowned self] in
                answerCalls(ofLoadOf: id)
            }
            return
        }
        loads[id] = nil
        if case .success(let loaded)? = load.outcome {
            loaded.isAwaited = false
            mayDrop = true
            // Whoever waited may have been a reader for whom no empty database is kept.
            dropIfEmpty(loaded)
        }
    }

    private func answerCalls(ofLoadOf id: DatabaseID) {
        if let load = loads[id] { answerCalls(of: load) }
    }

    private func loadFailed(_ id: DatabaseID, _ error: StoreError) -> ServiceError {
        // A damaged snapshot stays as it is: its owner gets an error, the operator a line that names the file. It is
        // read again after the next start; one that the disk failed to read, at the next use.
        log.error("a database can't be loaded", [("reason", "\(error)")])
        var isDamaged = true
        if case .disk = error { isDamaged = false }
        if isDamaged { unloadable.insert(id) }
        host.databaseFailed(isDamaged: isDamaged)
        return Self.unloadableDatabase
    }
}
