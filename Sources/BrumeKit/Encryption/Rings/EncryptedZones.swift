internal import BrumeEncryption
internal import BrumeLock

/// The keys of zones on this device, the account's own and those of others in which it takes part, for as long as the
/// account is the container's.
///
/// What is in memory goes with the account; what is kept on the disk of a ring stays, as the account's keys do. One
/// ring is looked at at a time.
final class EncryptedZones: Sendable {
    private struct State {
        var keys: [ZoneRingID: RingKeys] = [:]
        /// By the zones' own rings.
        var trees: [ZoneRingID: ZoneTrees] = [:]
        /// When what the server last showed of the share of a ring was changed, by its clock.
        var shownMilliseconds: [ZoneRingID: Int64] = [:]
        var absence: Absence?
        var answers = ShortMemory<Answer>()
        /// The rings for which the server was asked.
        var looks = ShortMemory<Void>()
        /// The zones of which this device has kept no ring.
        var unkept = ShortMemory<Void>()
        /// What was read of zones that others share: no other process is taken to have noted more.
        var others = ShortMemory<OthersZone>()
        /// The ids of trees of a zone for which the server had no root.
        var rootless = ShortMemory<Set<[UInt8]>>()
        var moved = MovedZones()
        var isEnded = false

        /// What is kept of a zone of another's, and its rings that have come into memory since.
        func withKnownRings(_ kept: OthersZone, of zone: ZoneRingID) -> OthersZone {
            var kept = kept
            for (ring, keys) in keys where ring.zones == zone.zones {
                kept.note(
                    OthersZone.Ring(ringID: keys.place.ringID, encryptsAssets: keys.encryptsAssets), of: ring.root)
            }
            return kept
        }
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
        /// The number of the key that was wanted. A value that names a later one shows that there is more by now.
        let wanted: UInt32
    }

    /// Shares of which it is known when they were changed: of more an older state can be taken for a newer one, once.
    private static let shownSharesMax = 4_096

    let driver: ZoneRingDriver
    private let state = Lock(State())
    let turns = TransferTurns(limit: 1)
    let doneRemovals = DoneRemovals()
    /// Whoever encrypts anew, and whoever notes on the disk that this is to be done.
    let reencryptionTurns = TransferTurns(limit: 1)
    let noteTurns = TransferTurns(limit: 1)

    init(folders: KeyFolderAccess) { driver = ZoneRingDriver(folders: folders) }

    /// The keys to encrypt with. A zone of the account's own without a ring gets one, and an account without keys gets
    /// these.
    ///
    /// - Parameter isStale: The server has refused what was encrypted with those that are known.
    /// - Returns: Nil for a tree without a ring: it has its zone's; and for a zone of another's without one.
    /// - Throws: What ``ZoneRingDriver/run(_:for:_:)`` throws.
    func keysForWriting(
        _ ring: ZoneRingID, isStale: Bool = false, for account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> RingKeys? {
        if knownKeys(ring) == nil {
            // The server says whose keys these are: it is waited for as long as for the call that they are for.
            _ = try await account.keyFolders.folder(of: account, options)
        }
        // The account may have other keys by now, and its ring no entry yet that would say so.
        if isStale { account.keys.statementsMayHaveChanged() }
        try await forgetWhatOthersWrote(ring, account)
        let identity = try await account.keys.identity(for: account)
        func sufficient() -> RingKeys? {
            guard !isStale, let keys = known(ring, identity.keys.publicKeys), keys.isForWriting else { return nil }
            return keys
        }
        if let keys = sufficient() { return keys }
        let zone = ring.isOwnTree ? try await keysForWriting(zone: ring.zone, for: account, options) : nil
        return try await turns.run { () async throws(CKError) in
            // Another save may have looked meanwhile.
            if let keys = sufficient() { return keys }
            let look = ZoneRingDriver.Look(goal: .write, ring: ring, asksServer: isStale, zone: zone)
            return try await self.look(look, account, options)
        }
    }

    /// Has a ring, and the account's keys, read again where another process has written them: somebody may be out.
    private func forgetWhatOthersWrote(_ ring: ZoneRingID, _ account: AccountBinding) async throws(CKError) {
        try await account.keys.forgetWhatOthersWrote(for: account)
        guard let keys = knownKeys(ring) else { return }
        if try await driver.fileHead(of: ring, for: account) != keys.fileHead { forgetKeys(of: ring) }
    }

    /// Somebody has other statements than this device knew: rings may name keys that they replaced.
    func peopleHaveChanged() { state.withLock { $0.keys = $0.keys.mapValues(\.forReading) } }

    /// The same for a zone of the account's own, which always has a ring then.
    func keysForWriting(
        zone: String, isStale: Bool = false, for account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> RingKeys {
        let ring = ZoneRingID(zone: zone)
        guard let keys = try await keysForWriting(ring, isStale: isStale, for: account, options) else {
            throw AccountKeysFailure.notSetUp.error
        }
        return keys
    }

    /// Makes the ring of a zone of which the app says how it is encrypted; where it is so, nothing changes.
    ///
    /// - Throws: The same; `invalidArguments` where the zone has keys, and they say otherwise.
    func makeKeys(
        ofZone zone: String, _ wanted: WantedPolicies, for account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) {
        try await turns.run { () async throws(CKError) in
            let ring = ZoneRingID(zone: zone)
            _ = try await look(
                ZoneRingDriver.Look(goal: .make(wanted), ring: ring, asksServer: true), account, options)
        }
    }

    /// Goes on with what the server shows for a ring of the account's own, where this device knows another one.
    ///
    /// - Returns: Whether it was another one.
    /// - Throws: The same as ``keysForWriting(zone:isStale:for:_:)``.
    func accept(_ ring: ZoneRingID, for account: AccountBinding, _ options: CallOptions) async throws(CKError) -> Bool {
        let zone =
            ring.isOwnTree ? try await keysForReading(ring.zones, upTo: 0, for: account, options) : nil
        return try await turns.run { () async throws(CKError) in
            let before = try await driver.kept(ring, for: account)
            let look = ZoneRingDriver.Look(goal: .accept, ring: ring, asksServer: true, zone: zone)
            guard let found = try await driver.run(look, for: account, options) else { return false }
            _ = remember(found.keys, ring)
            return before.wasDeletedHere || found.ring.endedBranches.count > before.known?.endedBranches.count ?? 0
        }
    }

    /// The keys to open values with, those up to a number, or with 0 those that there are; nil where there are none, or
    /// the account has none.
    ///
    /// - Parameter isOpenVain: Values don't open with those that are known: the zone may have been made anew. The
    ///   server is asked, but not again within ten seconds.
    /// - Throws: The same. What is known then, ``knownKeys(_:)`` has.
    func keysForReading(
        _ ring: ZoneRingID, upTo number: UInt32, isOpenVain: Bool = false, for account: AccountBinding,
        _ options: CallOptions
    ) async throws(CKError) -> RingKeys? {
        guard let identity = try await identity(for: account) else { return nil }
        let clock = account.configuration.clock
        func sufficient() -> RingKeys?? {
            let keys = known(ring, identity.keys.publicKeys)
            if !isOpenVain, let keys, keys.newest >= number, keys.isMember { return keys }
            let now = clock.nowMilliseconds
            guard let answer = state.withLock({ $0.answers.value(of: ring, at: now) }),
                answer.newest == keys?.newest ?? 0, number <= answer.wanted
            else { return nil }
            return .some(keys)
        }
        if let keys = sufficient() { return keys }
        return try await turns.run { () async throws(CKError) in
            if let keys = sufficient() { return keys }
            var keys: RingKeys?
            for asksServer in isOpenVain ? [true] : [false, true] {
                // What is on the disk stays of use where the server's answer is of none.
                let zone = ring.isOwnTree ? knownKeys(ring.zones) : nil
                let look = ZoneRingDriver.Look(goal: .read, ring: ring, asksServer: asksServer, zone: zone)
                keys = try await self.look(look, account, options)
                if !isOpenVain, let keys, keys.newest >= number, keys.isMember { return keys }
            }
            // A guest waits for an entry that can come at any moment, and with it the root that tells of it.
            if let keys, !keys.isMember { return keys }
            let answer = Answer(newest: keys?.newest ?? 0, wanted: number)
            let now = clock.nowMilliseconds
            state.withLock { $0.answers.note(answer, of: ring, at: now) }
            return keys
        }
    }

    /// Looks at a ring, and remembers its keys. In a turn.
    func look(
        _ look: ZoneRingDriver.Look, _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> RingKeys? {
        if look.asksServer {
            // Also where that comes to nothing: what is shown then is no less to fetch.
            let now = account.configuration.clock.nowMilliseconds
            state.withLock { $0.looks.note((), of: look.ring, at: now) }
        }
        guard let found = try await driver.run(look, for: account, options) else { return nil }
        if let zone = found.zone { _ = remember(zone, look.ring.zones) }
        return remember(found.keys, look.ring)
    }

    /// Whether the server was asked for a ring within ten seconds.
    func hasLookedLately(_ ring: ZoneRingID, for account: AccountBinding) -> Bool {
        let now = account.configuration.clock.nowMilliseconds
        return state.withLock { $0.looks.value(of: ring, at: now) != nil }
    }

    /// The account's identity to open values with; nil where it has none.
    func identity(for account: AccountBinding) async throws(CKError) -> Identity? {
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
                let until = now &+ ShortMemory<Void>.lifetimeMilliseconds
                let absence = Absence(error: error, operations: operations, untilMilliseconds: until)
                state.withLock { $0.absence = absence }
            }
            throw error
        }
    }

    /// The keys of a ring that are known without asking anybody.
    func knownKeys(_ ring: ZoneRingID) -> RingKeys? { state.withLock { $0.keys[ring] } }

    /// Those of all rings of a zone.
    func allKnownKeys(_ zone: ZoneRingID) -> [RingKeys] {
        state.withLock { state in state.keys.filter { $0.key.zones == zone.zones }.map(\.value) }
    }

    /// The roots of the trees whose keys are known.
    func knownRoots(_ zone: ZoneRingID) -> [String] {
        state.withLock { state in state.keys.keys.filter { $0.zones == zone.zones && !$0.root.isEmpty }.map(\.root) }
    }

    /// Those of a zone of the account's own.
    func knownKeys(zone: String) -> RingKeys? { knownKeys(ZoneRingID(zone: zone)) }

    private func known(_ ring: ZoneRingID, _ identity: PublicKeys) -> RingKeys? {
        knownKeys(ring).flatMap { $0.identity == identity ? $0 : nil }
    }

    private func remember(_ keys: RingKeys, _ ring: ZoneRingID) -> RingKeys {
        state.withLock { state in
            if state.isEnded { return }
            // The records of a zone that was made anew are others: what was known of their parents is void.
            if let before = state.keys[ring], before.place != keys.place { state.trees[ring.zones] = nil }
            state.answers.forget(ring)
            state.keys[ring] = keys
        }
        return keys
    }

    /// Whether a zone's assets are encrypted, as far as this device has kept its ring, or that of an earlier life; nil
    /// where it has kept none.
    ///
    /// - Throws: `internalError` where what is kept can't be read.
    func keptAssetPolicy(_ zone: String, for account: AccountBinding) async throws(CKError) -> Bool? {
        if let keys = knownKeys(zone: zone) { return keys.encryptsAssets }
        return try await driver.kept(ZoneRingID(zone: zone), for: account).known.map { !$0.chain.head.hasPlainAssets }
    }

    /// Whether all of a zone is one tree, as far as this device has kept its ring. Asks nobody.
    func isPerZone(_ zone: String, for account: AccountBinding) async -> Bool {
        if let keys = knownKeys(zone: zone) { return keys.isPerZone }
        guard let kept = try? await driver.kept(ZoneRingID(zone: zone), for: account), !kept.isOver else {
            return false
        }
        return kept.known?.chain.head.isPerZone ?? false
    }

    /// Has the rings of a zone looked at again: somebody is known by other keys since.
    func forgetKeys(_ zone: ZoneRingID) {
        state.withLock { state in
            state.answers.forgetAll()
            state.keys = state.keys.filter { $0.key.zones != zone.zones }
            state.others.forget(zone.zones)
        }
    }

    /// Has a ring read again before it is used.
    func forgetKeys(of ring: ZoneRingID) { state.withLock { $0.keys[ring] = nil } }

    // MARK: Trees

    /// Whether any zone's keys are known: else nobody asks for trees.
    var isInUse: Bool { state.withLock { !$0.keys.isEmpty } }

    /// Whether anything is known of the trees of a zone, or of its keys.
    func isInUse(_ zone: ZoneRingID) -> Bool {
        state.withLock { $0.trees[zone.zones] != nil || $0.keys[zone.zones] != nil }
    }

    /// What is known of the trees of a zone.
    func trees(_ zone: ZoneRingID) -> ZoneTrees { state.withLock { $0.trees[zone.zones] } ?? ZoneTrees() }

    /// Whether a share is no older than what the server last showed of it: answers can overtake one another.
    func isNewest(_ changedMilliseconds: Int64, ofShareOf ring: ZoneRingID) -> Bool {
        state.withLock { state in
            if let shown = state.shownMilliseconds[ring] {
                if changedMilliseconds < shown { return false }
            } else if state.shownMilliseconds.count >= Self.shownSharesMax {
                state.shownMilliseconds = [:]
            }
            state.shownMilliseconds[ring] = changedMilliseconds
            return true
        }
    }

    /// Whether this device has used a zone's keys, also before the app was started. It looks at the disk
    /// every ten seconds at most.
    ///
    /// - Throws: What keeps from asking whose keys these are.
    func hasUsed(
        _ zone: ZoneRingID, for account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> Bool {
        if isInUse(zone) { return true }
        let now = account.configuration.clock.nowMilliseconds
        if account.configuration.token == nil || state.withLock({ $0.unkept.value(of: zone, at: now) }) != nil {
            return false
        }
        do throws(CKError) {
            _ = try await account.keyFolders.folder(of: account, options)
            if try await driver.kept(zone, for: account).known != nil { return true }
        } catch {
            if error.keepsFromAsking { throw error }
        }
        state.withLock { $0.unkept.note((), of: zone, at: now) }
        return false
    }

    /// What was read of a zone that somebody else shares, with what came into memory since; nil where it is to be read
    /// again.
    func rememberedOthersZone(_ zone: ZoneRingID, at milliseconds: UInt64) -> OthersZone? {
        state.withLock { state in
            state.others.value(of: zone.zones, at: milliseconds).map { state.withKnownRings($0, of: zone) }
        }
    }

    /// Believes for a while that no other process has noted more.
    ///
    /// - Returns: The same, with what has come into memory.
    func rememberOthersZone(_ kept: OthersZone, _ zone: ZoneRingID, at milliseconds: UInt64) -> OthersZone {
        state.withLock { state in
            state.others.note(kept, of: zone.zones, at: milliseconds)
            return state.withKnownRings(kept, of: zone)
        }
    }

    /// Changes what is known of the trees of a zone. Records of others are in trees of others.
    func updateTrees(_ zone: ZoneRingID, _ body: (inout ZoneTrees) -> Void) {
        state.withLock { state in
            if !state.isEnded { body(&state.trees[zone.zones, default: ZoneTrees()]) }
        }
    }

    /// The trees of a zone for which the server has just had no root.
    func knownRootless(_ zone: ZoneRingID, at milliseconds: UInt64) -> Set<[UInt8]> {
        state.withLock { $0.rootless.value(of: zone, at: milliseconds) ?? [] }
    }

    /// Believes for ten seconds that the server has no root for trees.
    func noteRootless(_ ids: Set<[UInt8]>, _ zone: ZoneRingID, at milliseconds: UInt64) {
        state.withLock { $0.rootless.update(zone, at: milliseconds, default: []) { $0.formUnion(ids) } }
    }

    /// Looks at or changes what is known of zones in which records are to be encrypted anew.
    func withMovedZones<Value>(_ body: (inout MovedZones) -> Value) -> Value { state.withLock { body(&$0.moved) } }

    // MARK: Ends

    /// A zone was deleted: what comes of its name is another one.
    ///
    /// - Parameter isOwnDoing: Whether this device has done it.
    func zoneWasDeleted(
        _ zone: String, isOwnDoing: Bool = false, for account: AccountBinding
    ) async throws(CKError) {
        let ring = ZoneRingID(zone: zone)
        state.withLock { state in
            state.keys = state.keys.filter { $0.key.zones != ring }
            state.trees[ring] = nil
            state.answers.forget(zone: ring)
        }
        try await turns.run { () async throws(CKError) in
            try await driver.zoneWasDeleted(ring, isOwnDoing: isOwnDoing, for: account)
        }
    }

    /// The server is about to be asked to delete a zone.
    func willDelete(_ zone: String, for account: AccountBinding) async throws(CKError) {
        try await turns.run { () async throws(CKError) in
            try await driver.noteDeletion(of: ZoneRingID(zone: zone), for: account)
        }
    }

    /// The container has another account now. Nothing is remembered any more.
    func end() {
        state.withLock { state in
            state.keys = [:]
            state.trees = [:]
            state.answers.forgetAll()
            state.rootless.forgetAll()
            state.others.forgetAll()
            state.shownMilliseconds = [:]
            state.isEnded = true
        }
    }
}
