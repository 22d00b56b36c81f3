/// What a key-value store does: what the app sees, when to fetch and to upload, and whom to tell of what.
///
/// Pure: time is an argument (milliseconds), chance comes from a seed, and each event returns everything that is to be
/// done, in order. One thing at a time is under way with the server, so that an answer never crosses a later one.
/// Outcomes name the run that they belong to; those of an account before are ignored.
package struct KeyValueStoreStateMachine: Sendable {
    /// Why the app is told of a change. Raw values are those of `NSUbiquitousKeyValueStoreChangeReasonKey`.
    package enum Reason: Int, Sendable {
        case serverChange = 0
        case initialSync = 1
        case quotaViolation = 2
        case accountChange = 3
    }

    /// A key's value; nil: none.
    package struct Change: Equatable, Sendable {
        package var key: String
        package var value: [UInt8]?

        package init(_ key: String, _ value: [UInt8]?) {
            self.key = key
            self.value = value
        }
    }

    package enum Failure: Equatable, Sendable {
        /// It passes by itself.
        case transient(retryAfterMilliseconds: UInt64)
        case tokenExpired
        case zoneMissing
        /// The server does not take the account; the store is told when it does again.
        case account
        /// Somebody has to do something about it: the operator deploys a schema, for example.
        case persistent
    }

    package enum Outcome: Equatable, Sendable {
        case saved
        /// There is no room for it on the server.
        case full
        case failed(Failure)
    }

    package enum Action: Equatable, Sendable {
        /// Make the zone and the subscription to it.
        case prepare
        /// Fetch a page of changes.
        case fetch(token: [UInt8]?)
        /// Upload, each whatever the server has.
        case send([Change])
        /// Tell the app.
        case announce(Reason, keys: [String])
        /// Write the contents to the disk.
        case persist
    }

    private enum Phase: Equatable, Sendable {
        case idle
        case preparing
        case fetching
        case sending([String: KeyValueStoreContents.Write])
    }

    package private(set) var contents: KeyValueStoreContents
    /// Counts changes of the contents.
    package private(set) var revision: UInt64 = 0
    /// Counts accounts.
    package private(set) var run: UInt64 = 0
    /// Whether there is an account to sync with.
    private var syncs: Bool
    private var isSuspended = false
    private var isPrepared = false
    private var needsFetch = true
    private var phase = Phase.idle
    /// The pages of a fetch that is not done; nothing of it shows before.
    private var fetched: [String: [UInt8]?] = [:]
    private var fetchedBytes = 0
    private var refusedKeys: Set<String> = []
    private var uploadAt: UInt64?
    private var uploadedAt: UInt64?
    private var persistAt: UInt64?
    private var notBefore: UInt64 = 0
    private var pause: RetryPause

    package init(contents: KeyValueStoreContents, syncs: Bool, seed: UInt64) {
        self.contents = contents
        self.syncs = syncs
        pause = RetryPause(
            seed: seed, nanosecondsMin: KeyValueStoreLimits.retryNanosecondsMin,
            nanosecondsMax: KeyValueStoreLimits.retryNanosecondsMax)
    }

    // MARK: The app

    /// The app sets a value, or removes it with nil.
    package mutating func valueSet(_ value: [UInt8]?, forKey key: String, now: UInt64) -> [Action] {
        guard contents[key] != value else { return [] }
        var changed = contents
        if value == nil, changed.values[key] == nil, !isOnItsWay(key) {
            changed.writes[key] = nil
        } else {
            changed.write(value, forKey: key)
        }
        let grows = changed.keys.count > contents.keys.count || changed.byteCount > contents.byteCount
        let isTooLarge = (value?.count ?? 0) > KeyValueStoreLimits.valueBytesMax
        if isTooLarge || (grows && !changed.isWithinLimits) { return [.announce(.quotaViolation, keys: [key])] }
        contents = changed
        contentsChanged(now: now)
        planUpload(now: now)
        return advance(now: now)
    }

    /// The contents are on the disk.
    package mutating func persisted() {
        persistAt = nil
    }

    // MARK: The account

    /// Another account, or none, with what is known of it. What is under way counts no more.
    package mutating func accountChanged(
        to contents: KeyValueStoreContents, syncs: Bool, now: UInt64
    ) -> [Action] {
        let changes = contents.changes(from: self.contents)
        self.contents = contents
        self.syncs = syncs
        run += 1
        (phase, isSuspended, isPrepared, needsFetch) = (.idle, false, false, true)
        (fetched, fetchedBytes, refusedKeys) = ([:], 0, [])
        (uploadAt, uploadedAt, notBefore) = (nil, nil, 0)
        pause.reset()
        contentsChanged(now: now)
        planUpload(now: now)
        return (changes.isEmpty ? [] : [.announce(.accountChange, keys: changes)]) + advance(now: now)
    }

    /// The server takes the account again, or there is another reason to try at once.
    package mutating func circumstancesChanged(now: UInt64) -> [Action] {
        isSuspended = false
        notBefore = 0
        pause.reset()
        return advance(now: now)
    }

    // MARK: The server

    /// Something may have changed on the server.
    package mutating func pushed(run: UInt64, now: UInt64) -> [Action] {
        guard run == self.run else { return [] }
        needsFetch = true
        return advance(now: now)
    }

    /// The zone and the subscription are there.
    package mutating func prepared(run: UInt64, now: UInt64) -> [Action] {
        guard run == self.run, phase == .preparing else { return [] }
        phase = .idle
        isPrepared = true
        return advance(now: now)
    }

    /// A page of changes came.
    package mutating func pageFetched(
        _ changes: [Change], token: [UInt8], moreComing: Bool, run: UInt64, now: UInt64
    ) -> [Action] {
        guard run == self.run, phase == .fetching else { return [] }
        for change in changes { take(change) }
        if moreComing { return [.fetch(token: token)] }
        let actions = fetchEnded(token: token, now: now)
        phase = .idle
        pause.reset()
        return actions + advance(now: now)
    }

    /// The upload came back, with an outcome for each key.
    package mutating func sent(_ outcomes: [String: Outcome], run: UInt64, now: UInt64) -> [Action] {
        guard run == self.run, case .sending(let sent) = phase else { return [] }
        phase = .idle
        var full: [String] = []
        var failure: Failure?
        for (key, write) in sent {
            let isLatest = contents.writes[key]?.number == write.number
            switch outcomes[key] ?? .failed(.persistent) {
            case .saved:
                contents.values[key] = write.value
                if isLatest { contents.writes[key] = nil }
            case .full:
                full.append(key)
                if isLatest { contents.writes[key] = nil }
            case .failed(let reason): failure = failure.map { Self.worse($0, reason) } ?? reason
            }
        }
        contentsChanged(now: now)
        planUpload(now: now)
        var actions: [Action] = full.isEmpty ? [] : [.announce(.quotaViolation, keys: full.sorted())]
        if let failure { handle(failure, now: now) } else { pause.reset() }
        actions += advance(now: now)
        return actions
    }

    /// What was under way failed as a whole.
    package mutating func failed(_ failure: Failure, run: UInt64, now: UInt64) -> [Action] {
        guard run == self.run, phase != .idle else { return [] }
        phase = .idle
        planUpload(now: now)
        handle(failure, now: now)
        return advance(now: now)
    }

    // MARK: Time

    /// When ``timePassed(now:)`` is to be called at the latest.
    package var deadlineMilliseconds: UInt64? {
        var deadline = persistAt ?? .max
        if phase == .idle, syncs, !isSuspended {
            if !isPrepared || needsFetch {
                deadline = min(deadline, notBefore)
            } else if let uploadAt {
                deadline = min(deadline, max(uploadAt, notBefore))
            }
        }
        return deadline == .max ? nil : deadline
    }

    package mutating func timePassed(now: UInt64) -> [Action] { advance(now: now) }

    // MARK: Inside

    private mutating func advance(now: UInt64) -> [Action] {
        var actions: [Action] = []
        if let persistAt, now >= persistAt {
            self.persistAt = nil
            actions.append(.persist)
        }
        guard phase == .idle, syncs, !isSuspended, now >= notBefore else { return actions }
        if !isPrepared {
            phase = .preparing
            return actions + [.prepare]
        }
        if needsFetch {
            needsFetch = false
            (fetched, fetchedBytes, refusedKeys) = ([:], 0, [])
            phase = .fetching
            return actions + [.fetch(token: contents.token)]
        }
        guard let uploadAt, now >= uploadAt else { return actions }
        self.uploadAt = nil
        let batch = nextBatch()
        guard !batch.isEmpty else { return actions }
        uploadedAt = now
        phase = .sending(Dictionary(uniqueKeysWithValues: batch.map { ($0.key, contents.writes[$0.key]!) }))
        return actions + [.send(batch)]
    }

    /// The writes that were made first, as many as an upload takes.
    private func nextBatch() -> [Change] {
        var batch: [Change] = []
        var bytes = 0
        for (key, write) in contents.writes.sorted(by: { $0.value.number < $1.value.number }) {
            bytes += write.value?.count ?? 0
            if batch.count == KeyValueStoreLimits.uploadItemsMax { break }
            if bytes > KeyValueStoreLimits.uploadBytesMax, !batch.isEmpty { break }
            batch.append(Change(key, write.value))
        }
        return batch
    }

    private func isOnItsWay(_ key: String) -> Bool {
        if case .sending(let sent) = phase { sent[key] != nil } else { false }
    }

    private mutating func take(_ change: Change) {
        let bytes = change.key.utf8.count + (change.value?.count ?? 0)
        let isNew = fetched[change.key] == nil
        guard fetchedBytes + bytes <= KeyValueStoreLimits.fetchedBytesMax,
            !isNew || fetched.count < KeyValueStoreLimits.fetchedKeysMax
        else {
            refusedKeys.insert(change.key)
            return
        }
        fetchedBytes += bytes
        fetched[change.key] = .some(change.value)
    }

    private mutating func fetchEnded(token: [UInt8], now: UInt64) -> [Action] {
        let before = contents
        let isInitial = !contents.hasFetched
        // A fetch from the start tells of all that there is.
        if contents.token == nil { contents.values = [:] }
        for (key, value) in fetched { contents.values[key] = value }
        contents.token = token
        contents.hasFetched = true
        for (key, write) in contents.writes where write.isProvisional {
            if contents.values[key] == nil {
                contents.writes[key]!.isProvisional = false
            } else {
                contents.writes[key] = nil
            }
        }
        let violations = makeRoom().union(refusedKeys)
        (fetched, fetchedBytes, refusedKeys) = ([:], 0, [])
        contentsChanged(now: now)
        planUpload(now: now)
        let changes = contents.changes(from: before).filter { !violations.contains($0) }
        var actions: [Action] = []
        if !changes.isEmpty { actions.append(.announce(isInitial ? .initialSync : .serverChange, keys: changes)) }
        if !violations.isEmpty { actions.append(.announce(.quotaViolation, keys: violations.sorted())) }
        return actions
    }

    /// Takes back the latest writes until the store fits its limits, and says which. What other devices brought stays.
    private mutating func makeRoom() -> Set<String> {
        var taken: Set<String> = []
        let latest = contents.writes.sorted { $0.value.number > $1.value.number }
        for (key, write) in latest where !contents.isWithinLimits {
            guard let value = write.value, value.count > (contents.values[key]?.count ?? -1) else { continue }
            contents.writes[key] = nil
            taken.insert(key)
        }
        return taken
    }

    private mutating func handle(_ failure: Failure, now: UInt64) {
        switch failure {
        case .transient(let retryAfterMilliseconds):
            let hint = UInt32(clamping: retryAfterMilliseconds)
            notBefore = now + pause.next(hintMilliseconds: hint) / 1_000_000 + 1
            // A fetch that failed is still due; one too many does no harm.
            needsFetch = true
        case .tokenExpired:
            contents.token = nil
            contentsChanged(now: now)
            needsFetch = true
            // A server that never takes its own token must not be asked without a pause.
            notBefore = now + pause.next() / 1_000_000
        case .zoneMissing:
            contents.token = nil
            contentsChanged(now: now)
            (isPrepared, needsFetch) = (false, true)
            notBefore = now + pause.next() / 1_000_000
        case .account:
            isSuspended = true
            needsFetch = true
        case .persistent:
            needsFetch = true
            notBefore = now + KeyValueStoreLimits.mendingMilliseconds
        }
    }

    private static func worse(_ one: Failure, _ other: Failure) -> Failure {
        func rank(_ failure: Failure) -> Int {
            switch failure {
            case .transient: 0
            case .persistent: 1
            case .tokenExpired: 2
            case .zoneMissing: 3
            case .account: 4
            }
        }
        return rank(one) >= rank(other) ? one : other
    }

    private mutating func contentsChanged(now: UInt64) {
        revision += 1
        persistAt = persistAt ?? now + KeyValueStoreLimits.persistPauseMilliseconds
    }

    private mutating func planUpload(now: UInt64) {
        guard !contents.writes.isEmpty else {
            uploadAt = nil
            return
        }
        let interval = uploadedAt.map { $0 + KeyValueStoreLimits.uploadIntervalMilliseconds } ?? 0
        uploadAt = uploadAt ?? max(now + KeyValueStoreLimits.uploadPauseMilliseconds, interval)
    }
}
