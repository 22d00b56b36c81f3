package import BrumeModel

/// A database in memory: zones, records, feeds, subscriptions, and the answers to recent operations.
///
/// It decides a request and applies it at once; the commit in the ``Decision`` has to become durable before the answer
/// is given, or a read is answered that could show it. Not thread-safe: all of a database belongs to one event loop. It
/// knows no clock (time is an argument), no disk and no network.
///
/// `@exclusivity(unchecked)`: asked for several times with every request, and whatever changes it only computes. It
/// calls nothing that could look at it meanwhile, which is what the check would find.
///
/// Every commit has the next sequence number. All changes of a request, in whatever zones, are one commit.
package final class Database {
    package let id: DatabaseID
    /// Which run of the server wrote which commits: part of all tokens.
    @exclusivity(unchecked) var runHistory: RunHistory
    /// The run of the server that the next commit belongs to: part of new change tags.
    @exclusivity(unchecked) private(set) var run: UInt32
    @exclusivity(unchecked) package var history: HistoryLimits
    /// Of the last commit that was applied.
    @exclusivity(unchecked) package internal(set) var sequence: UInt64 = 0

    /// The default zone first; a deleted zone keeps its place, for its name.
    @exclusivity(unchecked) var zoneStates: [ZoneState]
    /// Deleted zones included.
    @exclusivity(unchecked) var zoneIndexOfName: [String: Int]
    /// Where the zone is kept that was asked for last: mostly it is asked for again.
    @exclusivity(unchecked) private var recentZoneIndex = 0
    /// Zones that exist.
    @exclusivity(unchecked) var zoneIndexOfIncarnation: [UInt64: Int]
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
    /// Places in ``zoneStates`` that a forgotten zone has left.
    var freeZoneIndexes: [Int] = []
    /// Of the zones that queries have asked, by incarnation.
    var zoneIndexes: [UInt64: ZoneIndexes] = [:]
    /// What their indexes have yet to do for commits.
    @exclusivity(unchecked) var indexBacklog = IndexBacklog()
    let indexRemains = IndexRemains()
    let indexScratch = IndexScratch()
    var indexLimits = IndexLimits()
    private(set) lazy var wordBreaker = WordBreaker()
    /// Zones with fewer records are looked through, whatever is asked.
    package var indexedZoneMinimum = 256
    @exclusivity(unchecked) var subscriptionTable = SubscriptionTable()
    let subscriptionMatcher = SubscriptionMatcher()
    /// What query subscriptions may be about, and what they may tell of.
    package var subscriptionGate = SubscriptionGate.open {
        didSet { subscriptionMatcher.forgetAll() }
    }
    /// Takes what a deleted zone held, to give it back on another thread; nil: it is given back at once.
    package var giveBack: ((Remains) -> Void)?
    /// Only a public database has any.
    var formerSubscribers = FormerSubscribers()
    @exclusivity(unchecked) var operations: RememberedOperations

    /// An empty database.
    ///
    /// - Parameter epoch: The data folder's: stands for the run of commits that name none.
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
            }
        zoneStates = [
            ZoneState(name: Names.defaultZone, incarnation: 0, lastChange: .start, isPublic: id.scope == .public)
        ]
        zoneIndexOfName = [Names.defaultZone: 0]
        zoneIndexOfIncarnation = [0: 0]
    }

    /// Records that exist, in all zones.
    package var recordCount: Int { zoneStates.reduce(0) { $0 + $1.liveCount } }

    /// Users' records among them. Looks at every record of the default zone.
    package var userRecordCount: Int {
        zoneStates[0].liveSlots.reduce(0) { $0 + ($1.record.type == Names.userRecordType ? 1 : 0) }
    }

    /// Whether a record of that name exists in the zone.
    package func holdsRecord(_ name: String, in zone: ZoneID) -> Bool {
        guard case .success(let index) = zoneIndex(of: zone) else { return false }
        return liveSlot(of: name, inZoneAt: index) != nil
    }

    /// The slot of a record that exists. Of the two parts of the zone that it takes: all of it is a handful of
    /// references more to hold, for each record that is asked for.
    func liveSlot(of name: String, inZoneAt index: Int) -> Int32? {
        let slots = zoneStates[index].slots
        guard let slot = zoneStates[index].names.slot(of: name, in: slots), !slots.isDeleted(slot) else { return nil }
        return slot
    }

    /// Encoded bytes of the records that exist, and client tokens, in all zones: exact, after every commit. What a
    /// quota counts.
    @exclusivity(unchecked) package internal(set) var storedBytes = 0
    /// Deleted records that the feeds of all zones tell of.
    @exclusivity(unchecked) private(set) var tombstoneCount = 0

    /// Changes what a zone holds, and counts it. `change` does nothing else with the database.
    func withZone<Value>(at index: Int, _ change: (inout ZoneState) -> Value) -> Value {
        if !queryRuns.isEmpty { keepForQueries(zoneAt: index) }
        let (value, grownBytes, newTombstones, changesPopulation) = zoneStates.withUnsafeMutableBufferPointer { zones in
            let (bytes, tombstones) = (zones[index].storedBytes, zones[index].tombstoneCount)
            let wasEmpty = zones[index].liveCount == 0
            let value = change(&zones[index])
            return (
                value, zones[index].storedBytes - bytes, zones[index].tombstoneCount - tombstones,
                (zones[index].liveCount == 0) != wasEmpty
            )
        }
        storedBytes += grownBytes
        tombstoneCount += newTombstones
        if changesPopulation { populationChanged(ofZoneAt: index) }
        return value
    }

    /// How many deletions a zone keeps behind the next one in it: see ``Limits/tombstonesPerZone`` and
    /// ``Limits/tombstonesPerDatabase``. One comes, so that where there are too many two go: work of a bounded size.
    func tombstoneLimit(ofZoneAt index: Int) -> Int {
        let liveCount = zoneStates[index].liveCount - 1
        if tombstoneCount < history.tombstones { return max(history.tombstonesPerZone, liveCount) }
        return max(2, liveCount, zoneStates[index].tombstoneCount - 1)
    }

    /// Zones, deleted ones included.
    package var zoneCount: Int { zoneStates.count }

    /// About what the database takes in memory.
    ///
    /// - Complexity: O(zones).
    package var approximateBytes: Int {
        zoneStates.reduce(Database.emptyBytes) { $0 + $1.approximateBytes } + operations.bytes
            + subscriptionTable.approximateBytes + formerSubscribers.approximateBytes
            + zoneIndexes.values.reduce(0) { $0 + $1.approximateBytes }
    }

    static let emptyBytes = 4 * 1024

    /// From now on commits are those of another run of the server. Before the first one of them.
    ///
    /// - Parameter run: Random, and not 0.
    package func begin(run: UInt32) {
        precondition(run != 0, "a run is named by a number other than 0")
        self.run = run
    }

    /// What names the run that wrote the database's beginning.
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

    /// Tells a zone from an earlier one of the same name; 0 for the default zone, nil for a zone that does not exist.
    package func incarnation(of zone: ZoneID) -> UInt64? {
        guard case .success(let index) = zoneIndex(of: zone) else { return nil }
        return zoneStates[index].incarnation
    }

    static func answer(for state: ZoneState) -> Zone {
        Zone(id: state.id, capabilities: state.isDefault ? [] : .custom)
    }

    /// Where a zone that exists is kept. Another owner's zone is as unknown here as one that never was.
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
            ServiceError(.zoneNotFound, "there is no such zone; save the zone first, or fetch the list of zones")
        }
    }

    /// Moves a custom zone that has changed to the end of the database's feed.
    func noteChange(inZoneAt index: Int, isNewEntry: Bool) {
        // The default zone. Asked by its number alone, for the same reason as below.
        if zoneStates[index].incarnation == 0 { return }
        zoneFeedHead = zoneStates[index].lastChange
        zoneFeed.append(zoneFeedHead, slot: Int32(index), replacesEntry: !isNewEntry)
        if zoneFeed.needsCompaction {
            zoneStates.withUnsafeBufferPointer { zones in
                zoneFeed.compact {
                    // As `ZoneState.isTold(at:)`, of two properties alone: for a function all of a zone would have to
                    // be held.
                    zones[Int($0.slot)].lastChange == $0.position
                        || zones[Int($0.slot)].earlierDeletion?.position == $0.position
                }
            }
        }
    }

    // MARK: Operations

    /// Keeps the answer to an operation, so that ``rememberedOperation(_:digest:)`` has it. Bounded, and in a public
    /// database each user has a share: see ``RememberedOperations``.
    ///
    /// The caller also puts all of it into the commit's entry before it is appended: replay remembers it again.
    ///
    /// - Parameters:
    ///   - digest: Of the request.
    ///   - user: Who sent it, in a public database.
    package func remember(operation id: [UInt8], answer: [UInt8], digest: OperationDigest? = nil, user: String = "") {
        operations.add(id: id, answer: answer, digest: digest, user: user)
    }

    /// What is known of an operation that is sent again.
    package enum RememberedOperation: Equatable, Sendable {
        case answer([UInt8])
        /// Its id named another request.
        case otherRequest
    }

    /// Nil: the operation has not been done, or is forgotten.
    ///
    /// - Parameter digest: Of the request that came now. Nothing is compared where one of the two is unknown.
    package func rememberedOperation(_ id: [UInt8], digest: OperationDigest?) -> RememberedOperation? {
        guard let known = operations[id] else { return nil }
        if let digest, let former = known.digest, digest != former { return .otherRequest }
        return .answer(known.answer)
    }

    package func rememberedAnswer(to id: [UInt8]) -> [UInt8]? { operations[id]?.answer }

    // MARK: Subscriptions

    /// Those of all users.
    package var subscriptions: [Subscription] { subscriptionTable.all.map(\.subscription) }

    /// A user's own, in the order of their first save. In a private database all are its owner's.
    package func subscriptions(of caller: Caller) -> [Subscription] {
        subscriptionTable.subscriptions(of: subscriptionOwner(caller)).map(\.subscription)
    }

    /// Whether a user has any, by the name under which they are kept.
    package func hasSubscriptions(of owner: String) -> Bool { subscriptionTable.hasSubscriptions(of: owner) }

    /// Whether a user has subscriptions, or had some behind a commit. In the public database most never have any.
    package func hadSubscriptions(of owner: String, behind sequence: UInt64) -> Bool {
        hasSubscriptions(of: owner) || formerSubscribers.hadSubscriptions(owner, behind: sequence)
    }

    package func subscription(_ id: String, of caller: Caller) -> Subscription? {
        subscriptionTable.subscription(id, of: subscriptionOwner(caller))?.subscription
    }

    /// Under which name a caller's subscriptions are kept.
    func subscriptionOwner(_ caller: Caller) -> String { id.scope == .public ? caller.user : "" }
}
