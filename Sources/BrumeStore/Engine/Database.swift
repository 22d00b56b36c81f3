package import BrumeModel

/// A database in memory: zones, records, feeds, subscriptions, and the answers to recent operations.
///
/// It decides a request and applies it at once; the commit in the ``Decision`` has to become durable before the answer
/// is given, and before any read is answered that could show it. Not thread-safe: all of a database belongs to one
/// event loop. It knows no clock (time is an argument), no disk and no network.
///
/// `@exclusivity(unchecked)`: these properties are read several times with every request. The code that changes one
/// only computes, and calls nothing that could read it meanwhile, which is what the check would find.
///
/// Every commit has the next sequence number. All changes of a request, in whatever zones, are one commit.
package final class Database {
    package let id: DatabaseID
    /// Which run of the server wrote which commits: part of all tokens.
    @exclusivity(unchecked) var runHistory: RunHistory
    /// The run of the server that the next commit belongs to: part of new change tags.
    @exclusivity(unchecked) package private(set) var run: UInt32
    @exclusivity(unchecked) package var history: HistoryLimits
    /// The sequence number of the last applied commit.
    @exclusivity(unchecked) package internal(set) var sequence: UInt64 = 0

    /// See ``takeMovedRecords()``.
    @exclusivity(unchecked) var movedRecords = 0

    /// The default zone first; a deleted zone keeps its place, for its name.
    @exclusivity(unchecked) var zoneStates: [ZoneState]
    /// Indexes in ``zoneStates`` by name, deleted zones included.
    @exclusivity(unchecked) var zoneIndexOfName: [String: Int]
    /// The index of the zone that was asked for last, which usually is asked for again.
    @exclusivity(unchecked) private var recentZoneIndex = 0
    /// Indexes in ``zoneStates`` of the zones that exist, by incarnation.
    @exclusivity(unchecked) var zoneIndexOfIncarnation: [UInt64: Int]
    /// The trees that are made ready for shares to come.
    @exclusivity(unchecked) var preparedTrees: Set<LargeTree> = []
    /// The incarnations of the zones that hold records, in rising order: what a query of all zones reads.
    @exclusivity(unchecked) var populatedZones: [UInt64] = []
    /// Queries that read the database as it was at an earlier commit.
    @exclusivity(unchecked) var queryRuns: [WeakQueryRun] = []
    /// Custom zones, deleted ones included, by their last change, and by the deletion of the one that had the name
    /// before.
    @exclusivity(unchecked) var zoneFeed = Feed()
    /// Position of the last change in any custom zone.
    @exclusivity(unchecked) var zoneFeedHead = ChangePosition.start
    /// Tokens of the database's feed below it have expired, because deleted zones that they need are forgotten.
    var zoneFeedFloor = ChangePosition.start
    /// Places in ``zoneStates`` that forgotten zones have left.
    @exclusivity(unchecked) var freeZoneIndexes: [Int] = []
    /// The indexes of the zones that queries have asked, by incarnation.
    @exclusivity(unchecked) var zoneIndexes: [UInt64: ZoneIndexes] = [:]
    /// The work that the indexes still have to do for commits.
    @exclusivity(unchecked) var indexBacklog = IndexBacklog()
    let indexRemains = IndexRemains()
    let indexScratch = IndexScratch()
    var indexLimits = IndexLimits()
    private(set) lazy var wordBreaker = WordBreaker()
    /// Zones with fewer records than this are scanned, whatever the query.
    package var indexedZoneMinimum = 256
    @exclusivity(unchecked) var subscriptionTable = SubscriptionTable()
    let subscriptionMatcher = SubscriptionMatcher()
    /// What query subscriptions may be about, and what they may tell of.
    package var subscriptionGate = SubscriptionGate.open {
        didSet { subscriptionMatcher.forgetAll() }
    }
    /// The number of the change tags of a commit, from the run of the server that makes it and the commit's sequence. A
    /// server gives a function that tells nobody else how many commits there were.
    package var tagNumber: (_ run: UInt32, _ sequence: UInt64) -> UInt64 = Database.plainTagNumber
    /// How the secrets and URLs of its shares are made.
    package var shareAddresses = ShareAddresses.plain()
    /// Takes what a deleted zone held, to free it on another thread; when nil, it is freed at once.
    package var giveBack: ((Remains) -> Void)?
    /// The zones of others that a private database's owner takes part in.
    @exclusivity(unchecked) package internal(set) var sharedZones = SharedZones()
    /// What a private database's owner says of their keys and devices.
    @exclusivity(unchecked) package internal(set) var statements = AccountStatements()
    /// Who has keys of its zones.
    @exclusivity(unchecked) package internal(set) var rings = ZoneRings()
    /// What is known of the assets that are stored for it.
    @exclusivity(unchecked) package var blobs = BlobIndex(grace: StoreLimits.assetGraceSeconds)
    @exclusivity(unchecked) var assetReleases = AssetReleases()
    /// Only a public database has any.
    var formerSubscribers = FormerSubscribers()
    @exclusivity(unchecked) var operations: RememberedOperations
    /// Those of users who take part in zones of a private database: apart, so that nobody takes the owner's room.
    @exclusivity(unchecked) var participantOperations = RememberedOperations(
        countLimit: Limits.rememberedParticipantOperations, bytesLimit: Limits.rememberedOperationBytes)

    /// An empty database.
    ///
    /// - Parameter epoch: The data folder's epoch, which stands for the run of commits that name none.
    package init(id: DatabaseID, epoch: UInt32, history: HistoryLimits = .standard) {
        self.id = id
        runHistory = RunHistory(epoch: epoch)
        run = epoch
        self.history = history
        operations =
            switch id.scope {
            case .private:
                RememberedOperations(
                    countLimit: Limits.rememberedOperations, bytesLimit: Limits.rememberedOperationBytes)
            case .public:
                RememberedOperations(
                    countLimit: Limits.rememberedPublicOperations, bytesLimit: Limits.rememberedPublicOperationBytes)
            case .shared: preconditionFailure("no database is a shared one")
            }
        zoneStates = [
            ZoneState(name: Names.defaultZone, incarnation: 0, lastChange: .start, isPublic: id.scope == .public)
        ]
        zoneIndexOfName = [Names.defaultZone: 0]
        zoneIndexOfIncarnation = [0: 0]
    }

    /// Users' records among them. Looks at every record of the default zone.
    package var userRecordCount: Int {
        zoneStates[0].liveSlots.reduce(0) { $0 + ($1.record.type == Names.userRecordType ? 1 : 0) }
    }

    /// Whether a record of that name exists in the zone.
    package func holdsRecord(_ name: String, in zone: ZoneID) -> Bool {
        guard case .success(let index) = zoneIndex(of: zone) else { return false }
        return liveSlot(of: name, inZoneAt: index) != nil
    }

    /// The slot of a record that exists. Reads only the two parts of the zone that it needs: holding the whole zone
    /// would cost a handful of retains more for each record that is asked for.
    func liveSlot(of name: String, inZoneAt index: Int) -> Int32? {
        let slots = zoneStates[index].slots
        guard let slot = zoneStates[index].names.slot(of: name, in: slots), !slots.isDeleted(slot) else { return nil }
        return slot
    }

    /// Encoded bytes of the records that exist, and client tokens, in all zones: exact, after every commit. A
    /// quota counts more: ``quotaBytes``.
    @exclusivity(unchecked) package internal(set) var storedBytes = 0
    /// Records that exist, in all zones.
    @exclusivity(unchecked) package private(set) var recordCount = 0
    /// Deleted records that the feeds of all zones still report.
    @exclusivity(unchecked) private(set) var tombstoneCount = 0

    /// Changes a zone, and keeps the database's counts up to date. `change` must not use the database otherwise.
    func withZone<Value>(at index: Int, _ change: (inout ZoneState) -> Value) -> Value {
        if !queryRuns.isEmpty { keepForQueries(zoneAt: index) }
        let (value, grownBytes, newRecords, newTombstones, changesPopulation) =
            zoneStates.withUnsafeMutableBufferPointer { zones in
                let (bytes, tombstones) = (zones[index].storedBytes, zones[index].tombstoneCount)
                let records = zones[index].liveCount
                let value = change(&zones[index])
                return (
                    value, zones[index].storedBytes - bytes, zones[index].liveCount - records,
                    zones[index].tombstoneCount - tombstones, (zones[index].liveCount == 0) != (records == 0)
                )
            }
        storedBytes += grownBytes
        recordCount += newRecords
        tombstoneCount += newTombstones
        if changesPopulation { populationChanged(ofZoneAt: index) }
        return value
    }

    /// How many tombstones a zone keeps after the next deletion in it: see ``Limits/tombstonesPerZone`` and
    /// ``Limits/tombstonesPerDatabase``. The deletion adds one, so that where there are too many two go: work of a
    /// bounded size.
    func tombstoneLimit(ofZoneAt index: Int) -> Int {
        let liveCount = zoneStates[index].liveCount - 1
        if tombstoneCount < history.tombstones { return max(history.tombstonesPerZone, liveCount) }
        return max(2, liveCount, zoneStates[index].tombstoneCount - 1)
    }

    /// The number of zones, deleted ones included.
    package var zoneCount: Int { zoneStates.count }

    /// About what the database takes in memory.
    ///
    /// - Complexity: O(zones).
    package var approximateBytes: Int {
        zoneStates.reduce(Database.emptyBytes) { $0 + $1.approximateBytes } + operations.bytes
            + participantOperations.bytes
            + subscriptionTable.approximateBytes + formerSubscribers.approximateBytes + sharedZones.approximateBytes
            + zoneIndexes.values.reduce(0) { $0 + $1.approximateBytes } + blobs.approximateBytes
            + assetReleases.approximateBytes + statements.approximateBytes + rings.approximateBytes
    }

    static let emptyBytes = 4 * 1024

    /// Begins another run of the server, to which the commits from now on belong. Call it before the first of them.
    ///
    /// - Parameter run: Random, and not 0.
    package func begin(run: UInt32) {
        precondition(run != 0, "a run is named by a number other than 0")
        self.run = run
    }

    /// The change tag of the commit with the sequence number.
    func changeTag(_ sequence: UInt64) -> ChangeTag { ChangeTag(number: tagNumber(run, sequence)) }

    /// A number that shows the commit: where nobody is to be kept from counting.
    package static func plainTagNumber(run: UInt32, sequence: UInt64) -> UInt64 { UInt64(run) << 32 ^ sequence }

    /// The id of the run that wrote the database's beginning.
    package var epoch: UInt32 { runHistory.runs[0].id }

    /// The run that wrote the commit of a position: what a token of that position names.
    package func run(of position: ChangePosition) -> UInt32 { runHistory.run(of: position.sequence) }

    // MARK: Zones

    /// The default zone, then the others in the order of their creation.
    package var zones: [Zone] {
        zoneStates.filter { $0.deletion == nil }.sorted { $0.incarnation < $1.incarnation }.map(Database.answer(for:))
    }

    package func zone(_ zone: ZoneID) -> Result<Zone, ServiceError> {
        zoneIndex(of: zone).map { Database.answer(for: zoneStates[$0]) }
    }

    /// The number that tells a zone from an earlier one of the same name: 0 for the default zone, nil for a zone that
    /// does not exist.
    package func incarnation(of zone: ZoneID) -> UInt64? {
        guard case .success(let index) = zoneIndex(of: zone) else { return nil }
        return zoneStates[index].incarnation
    }

    static func answer(for state: ZoneState) -> Zone {
        Zone(
            id: state.id, capabilities: state.isDefault ? [] : .custom,
            isShared: !state.sharing.isEmpty && state.sharing.shares[Names.zoneShare] != nil)
    }

    /// The index of a zone that exists. Another owner's zone is as unknown here as one that never existed.
    func zoneIndex(of zone: ZoneID) -> Result<Int, ServiceError> {
        guard zone.owner.isEmpty || zone.owner == Names.currentUser || zone.owner == id.owner,
            let index = zoneStates[recentZoneIndex].name == zone.name ? recentZoneIndex : zoneIndexOfName[zone.name],
            zoneStates[index].deletion == nil
        else { return .failure(absence(of: zone)) }
        recentZoneIndex = index
        return .success(index)
    }

    /// The error for a zone that does not exist. As long as the database remembers its deletion, the error tells why it
    /// was deleted.
    private func absence(of zone: ZoneID) -> ServiceError {
        let isOwn = zone.owner.isEmpty || zone.owner == Names.currentUser || zone.owner == id.owner
        return switch isOwn ? zoneIndexOfName[zone.name].flatMap({ zoneStates[$0].deletion }) : nil {
        case .purged:
            ServiceError(
                .userDeletedZone, "the user deleted the app's data, this zone among them; ask before saving it again")
        case .encryptedDataReset:
            ServiceError(
                .zoneNotFound,
                "the user's encrypted data were reset, this zone among them; save the zone again, and what you have of it",
                detail: .encryptedDataReset)
        case .deleted, nil:
            Database.noSuchZone
        }
    }

    /// Moves a custom zone that has changed to the end of the database's feed.
    func noteChange(inZoneAt index: Int, isNewEntry: Bool) {
        // The default zone has no entry. Only the zone's number is read, for the same reason as below.
        if zoneStates[index].incarnation == 0 { return }
        zoneFeedHead = zoneStates[index].lastChange
        zoneFeed.append(zoneFeedHead, slot: Int32(index), replacesEntry: !isNewEntry)
        if zoneFeed.needsCompaction {
            zoneStates.withUnsafeBufferPointer { zones in
                zoneFeed.compact {
                    // The same as `ZoneState.isTold(at:)`, but it reads two properties alone: a method call would
                    // retain the whole zone.
                    zones[Int($0.slot)].lastChange == $0.position
                        || zones[Int($0.slot)].earlierDeletion?.position == $0.position
                }
            }
        }
    }

    // MARK: Operations

    /// Keeps what an operation did, so that ``rememberedOperation(_:digest:)`` has it. Bounded, and in a public
    /// database each user has a share: see ``RememberedOperations``.
    ///
    /// The caller also puts all of it into the commit's entry before it is appended: replay remembers it again.
    ///
    /// - Parameters:
    ///   - digest: The digest of the request.
    ///   - user: The user who sent it, where it is not a private database's owner.
    /// - Returns: The outcome as the entry holds it.
    package func remember(
        operation id: [UInt8], _ outcome: OperationOutcome, digest: OperationDigest?, user: String
    ) -> [UInt8] {
        let encoded = StoreCoder.encodeOutcome(outcome)
        remember(operation: id, encoded: encoded, digest: digest, user: user)
        return encoded
    }

    /// The same for an outcome as the store encodes it. An empty one, of an entry from before outcomes were kept, is
    /// not remembered.
    func remember(operation id: [UInt8], encoded: [UInt8], digest: OperationDigest? = nil, user: String = "") {
        if encoded.isEmpty { return }
        if id.starts(with: Database.forgettingPrefix) {
            participantOperations = RememberedOperations(
                countLimit: participantOperations.countLimit, bytesLimit: participantOperations.bytesLimit)
        }
        if isParticipant(user) {
            participantOperations.add(id: id, outcome: encoded, digest: digest, user: user)
        } else {
            operations.add(id: id, outcome: encoded, digest: digest, user: user)
        }
    }

    /// Whether an operation's user is one who takes part in zones of this database.
    private func isParticipant(_ user: String) -> Bool { !user.isEmpty && id.scope == .private }

    /// What is known of an operation that is sent again.
    package enum RememberedOperation: Equatable, Sendable {
        /// With the bytes that it is remembered in, as ``remember(operation:_:digest:user:)`` gave them.
        case outcome(OperationOutcome, encoded: [UInt8])
        /// Its id named another request.
        case otherRequest
        /// It was done; what it did was kept by a version of the server that this one can't read.
        case unreadable
    }

    /// What is known of an operation; nil when it was never done, or is forgotten.
    ///
    /// - Parameters:
    ///   - digest: The digest of the request that came now. Nothing is compared where one of the two is unknown.
    ///   - user: As it was given when the operation was remembered.
    package func rememberedOperation(
        _ id: [UInt8], digest: OperationDigest?, user: String = ""
    ) -> RememberedOperation? {
        guard let known = isParticipant(user) ? participantOperations[id] : operations[id] else { return nil }
        if let digest, let former = known.digest, digest != former { return .otherRequest }
        do throws(StoreCodingError) {
            return .outcome(try StoreCoder.decodeOutcome(known.outcome), encoded: known.outcome)
        } catch {
            return .unreadable
        }
    }

    // MARK: Subscriptions

    /// The subscriptions of all users.
    package var subscriptions: [Subscription] { subscriptionTable.all.map(\.subscription) }

    /// A user's own subscriptions, in the order of their first save. In a private database all are its owner's.
    package func subscriptions(of caller: Caller, in scope: DatabaseScope? = nil) -> [Subscription] {
        subscriptionTable.subscriptions(of: subscriptionOwner(caller, in: scope ?? id.scope)).map(\.subscription)
    }

    /// Whether a user has any, by the name under which they are kept.
    package func hasSubscriptions(of owner: String) -> Bool { subscriptionTable.hasSubscriptions(of: owner) }

    /// Whether a user has subscriptions, or had some after a commit. In the public database most never have any.
    package func hadSubscriptions(of owner: String, behind sequence: UInt64) -> Bool {
        hasSubscriptions(of: owner) || formerSubscribers.hadSubscriptions(owner, behind: sequence)
    }

    package func subscription(_ id: String, of caller: Caller, in scope: DatabaseScope? = nil) -> Subscription? {
        let owner = subscriptionOwner(caller, in: scope ?? self.id.scope)
        return subscriptionTable.subscription(id, of: owner)?.subscription
    }

    /// The subscriptions to the shared database of a private database's owner.
    package var sharedSubscriptions: [Subscription] {
        subscriptionTable.subscriptions(of: Database.sharedSubscriber).map(\.subscription)
    }

    package func sharedSubscription(_ id: String) -> Subscription? {
        subscriptionTable.subscription(id, of: Database.sharedSubscriber)?.subscription
    }

    package var hasSharedSubscriptions: Bool { subscriptionTable.hasSubscriptions(of: Database.sharedSubscriber) }

    /// The name under which a caller's subscriptions are kept.
    func subscriptionOwner(_ caller: Caller, in scope: DatabaseScope) -> String {
        switch scope {
        case .public: caller.user
        case .private: ""
        case .shared: Database.sharedSubscriber
        }
    }

    /// Stands for the owner of a private database where they subscribe to their shared one. No user has this name.
    static let sharedSubscriber = "__sharedDatabase__"
}
