internal import BrumeEncryption
internal import BrumeLock

/// The keys of the account's zones on this device, for as long as the account is the container's.
///
/// What is in memory goes with the account; what is kept on the disk of a zone's ring stays, as the account's keys do.
/// One zone's ring is looked at at a time.
final class EncryptedZones: Sendable {
    private struct State {
        var keys: [String: ZoneKeys] = [:]
        var trees: [String: ZoneTrees] = [:]
        var absence: Absence?
        /// By zones.
        var answers: [String: Answer] = [:]
        var isEnded = false
    }

    /// That the device has no keys of the account, which it does not ask about again for each page of records.
    private struct Absence {
        let error: CKError
        /// The app's operations on the keys until then: another one may have brought them.
        let operations: UInt64
        let untilMilliseconds: UInt64
    }

    /// That the server was asked for a zone's ring, and has no more of it than is known.
    private struct Answer {
        let newest: UInt32
        let untilMilliseconds: UInt64
    }

    private static let absenceMilliseconds: UInt64 = 10_000

    private let driver: ZoneRingDriver
    private let state = Lock(State())
    private let turns = TransferTurns(limit: 1)

    init(folders: KeyFolderAccess) { driver = ZoneRingDriver(folders: folders) }

    /// The keys to encrypt with in a zone. A zone without a ring gets one, and an account without keys gets these.
    ///
    /// - Parameter isStale: The server has refused what was encrypted with those that are known.
    /// - Throws: What ``ZoneRingDriver/run(_:zone:asksServer:for:_:)`` throws.
    func keysForWriting(
        zone: String, isStale: Bool = false, for account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> ZoneKeys {
        if knownKeys(zone: zone) == nil {
            // The server says whose keys these are: it is waited for as long as for the call that they are for.
            _ = try await account.keyFolders.folder(of: account, options)
        }
        // The account may have other keys by now, and its ring no entry yet that would say so.
        if isStale { account.keys.statementsMayHaveChanged() }
        let identity = try await account.keys.identity(for: account)
        func sufficient() -> ZoneKeys? {
            guard !isStale, let keys = known(zone, identity.keys.publicKeys), keys.isForWriting else { return nil }
            return keys
        }
        if let keys = sufficient() { return keys }
        return try await turns.run { () async throws(CKError) in
            // Another save may have looked meanwhile.
            if let keys = sufficient() { return keys }
            guard let found = try await driver.run(.write, zone: zone, asksServer: isStale, for: account, options)
            else { throw AccountKeysFailure.notSetUp.error }
            return remember(ZoneKeys(found.ring, of: found.identity), zone: zone)
        }
    }

    /// Makes the ring of a zone that is to be one tree; where it is, nothing changes.
    ///
    /// - Throws: The same; `invalidArguments` where the zone has keys for records.
    func makePerZone(_ zone: String, for account: AccountBinding, _ options: CallOptions) async throws(CKError) {
        try await turns.run { () async throws(CKError) in
            let found = try await driver.run(.writePerZone, zone: zone, asksServer: true, for: account, options)
            if let found { _ = remember(ZoneKeys(found.ring, of: found.identity), zone: zone) }
        }
    }

    /// Goes on with what the server shows for a zone's keys, where this device knows other ones.
    ///
    /// - Returns: Whether they were other ones.
    /// - Throws: The same as ``keysForWriting(zone:isStale:for:_:)``.
    func accept(_ zone: String, for account: AccountBinding, _ options: CallOptions) async throws(CKError) -> Bool {
        try await turns.run { () async throws(CKError) in
            let before = try await driver.kept(zone, for: account).known?.endedBranches.count ?? 0
            let found = try await driver.run(.accept, zone: zone, asksServer: true, for: account, options)
            guard let found else { return false }
            _ = remember(ZoneKeys(found.ring, of: found.identity), zone: zone)
            return found.ring.endedBranches.count > before
        }
    }

    /// The keys to open values with in a zone, those up to a number; nil where the zone or the account has none.
    ///
    /// - Parameter isOpenVain: Values don't open with those that are known: the zone may have been made anew. The
    ///   server is asked, but not again within ten seconds.
    /// - Throws: The same. What is known then, ``knownKeys(zone:)`` has.
    func keysForReading(
        zone: String, upTo number: UInt32, isOpenVain: Bool = false, for account: AccountBinding,
        _ options: CallOptions
    ) async throws(CKError) -> ZoneKeys? {
        guard let identity = try await identity(for: account) else { return nil }
        let clock = account.configuration.clock
        func sufficient() -> ZoneKeys?? {
            let keys = known(zone, identity.keys.publicKeys)
            if !isOpenVain, let keys, keys.newest >= number { return keys }
            guard let answer = state.withLock({ $0.answers[zone] }), answer.newest == keys?.newest ?? 0,
                clock.nowMilliseconds < answer.untilMilliseconds
            else { return nil }
            return .some(keys)
        }
        if let keys = sufficient() { return keys }
        return try await turns.run { () async throws(CKError) in
            if let keys = sufficient() { return keys }
            var keys: ZoneKeys?
            for asksServer in isOpenVain ? [true] : [false, true] {
                let found = try await driver.run(.read, zone: zone, asksServer: asksServer, for: account, options)
                // What is on the disk stays of use where the server's answer is of none.
                keys = found.map { remember(ZoneKeys($0.ring, of: $0.identity), zone: zone) }
                if !isOpenVain, let keys, keys.newest >= number { return keys }
            }
            let answer = Answer(
                newest: keys?.newest ?? 0, untilMilliseconds: clock.nowMilliseconds &+ Self.absenceMilliseconds)
            state.withLock { $0.answers[zone] = answer }
            return keys
        }
    }

    /// The account's identity to open values with; nil where it has none.
    private func identity(for account: AccountBinding) async throws(CKError) -> Identity? {
        let operations = account.keys.operations
        let now = account.configuration.clock.nowMilliseconds
        if let absence = state.withLock({ $0.absence }), absence.operations == operations,
            now < absence.untilMilliseconds
        {
            throw absence.error
        }
        do throws(CKError) {
            return try await account.keys.identityIfAny(for: account)
        } catch {
            if error.code == .accountTemporarilyUnavailable {
                let until = now &+ Self.absenceMilliseconds
                let absence = Absence(error: error, operations: operations, untilMilliseconds: until)
                state.withLock { $0.absence = absence }
            }
            throw error
        }
    }

    /// The keys of a zone that are known without asking anybody.
    func knownKeys(zone: String) -> ZoneKeys? { state.withLock { $0.keys[zone] } }

    private func known(_ zone: String, _ identity: PublicKeys) -> ZoneKeys? {
        knownKeys(zone: zone).flatMap { $0.identity == identity ? $0 : nil }
    }

    private func remember(_ keys: ZoneKeys, zone: String) -> ZoneKeys {
        state.withLock { state in
            if state.isEnded { return }
            // The records of a zone that was made anew are others: what was known of their parents is void.
            if let before = state.keys[zone], before.place != keys.place { state.trees[zone] = nil }
            state.answers[zone] = nil
            state.keys[zone] = keys
        }
        return keys
    }

    /// Whether a zone's assets are encrypted, as far as this device has kept its ring, or that of an earlier life; nil
    /// where it has kept none.
    ///
    /// - Throws: `internalError` where what is kept can't be read.
    func keptAssetPolicy(_ zone: String, for account: AccountBinding) async throws(CKError) -> Bool? {
        if let keys = knownKeys(zone: zone) { return keys.encryptsAssets }
        return try await driver.kept(zone, for: account).known.map { !$0.chain.head.hasPlainAssets }
    }

    /// Whether all of a zone is one tree, as far as this device has kept its ring. Asks nobody.
    func isPerZone(_ zone: String, for account: AccountBinding) async -> Bool {
        if let keys = knownKeys(zone: zone) { return keys.isPerZone }
        guard let kept = try? await driver.kept(zone, for: account), !kept.isOver else { return false }
        return kept.known?.chain.head.isPerZone ?? false
    }

    // MARK: Trees

    /// Whether any zone's keys are known: else nobody asks for trees.
    var isInUse: Bool { state.withLock { !$0.keys.isEmpty } }

    /// What is known of the trees of a zone.
    func trees(zone: String) -> ZoneTrees { state.withLock { $0.trees[zone] } ?? ZoneTrees() }

    /// Remembers whose parents records of a zone have, where the zone has keys.
    func learn(_ parents: some Sequence<(record: String, parent: String?)>, zone: String) {
        state.withLock { state in
            guard state.keys[zone] != nil, !state.isEnded else { return }
            for (record, parent) in parents { state.trees[zone, default: ZoneTrees()].learn(record, parent: parent) }
        }
    }

    // MARK: Ends

    /// A zone was deleted: what comes of its name is another one.
    func zoneWasDeleted(_ zone: String, for account: AccountBinding) async throws(CKError) {
        state.withLock { state in
            state.keys[zone] = nil
            state.trees[zone] = nil
            state.answers[zone] = nil
        }
        try await turns.run { () async throws(CKError) in try await driver.zoneWasDeleted(zone, for: account) }
    }

    /// The container has another account now. Nothing is remembered any more.
    func end() {
        state.withLock { state in
            state.keys = [:]
            state.trees = [:]
            state.answers = [:]
            state.isEnded = true
        }
    }
}
