internal import BrumeEncryption
internal import BrumeModel
package import BrumeStore

/// A database in the memory of the shard that owns it.
package final class LoadedDatabase {
    package let database: Database
    package let hub: NotificationHub
    /// What it holds, for the quota of its account; nil for a public one, and for one that is not kept.
    package let storage: DatabaseStorage?
    /// The users who take part in its zones, as their own databases were told.
    @exclusivity(unchecked) var members: ZoneMembers
    /// The position of the database's last commit in the shard's log. Whatever shows that commit waits until
    /// the position is durable.
    @exclusivity(unchecked) package var lastPosition: UInt64 = 0
    /// The last of its commits that the log has saved: see ``CommitLogHost/saved(_:upTo:)``.
    @exclusivity(unchecked) var savedSequence: UInt64
    /// Whether the shard's list of databases with commits that are not saved has it.
    @exclusivity(unchecked) var isListedAsUnsaved = false
    /// Whether the shard's list of databases whose indexes are behind has it.
    var isListedAsBehind = false
    /// Whose changes its indexes have yet to take over.
    @exclusivity(unchecked) var indexDebts = IndexDebts()
    /// Whether what is in memory is not what the log has. Nothing of it may be told any more.
    private(set) var isLost = false
    /// Clients of its owner: while there are any it stays in memory.
    var clientCount = 0
    /// Whether calls that came while it was being loaded still wait.
    var isAwaited = false
    /// Marked assets whose files could not be removed.
    var unremovedBlobs: [BlobName] = []
    /// Removals of files of its assets that the store has not answered, and what waits for their end.
    private var removalCount = 0
    private var afterRemovals: [() -> Void] = []
    /// What uploads take that no record names.
    var uploads = UploadRoom()
    /// The commits up to here are durable, and what they have replaced is to be released.
    var releasableSequence: UInt64 = 0
    /// Whether a later turn goes on with that.
    var isReleasing = false
    /// The assets that nothing needs with which it may leave the memory.
    var unneededBlobLimit = Int.max
    /// Whether the folder of its assets is looked through, by one visit at a time.
    var isLookedThrough = false
    /// The assets that were removed while its folders are looked through: a list may name them still.
    var removedMeanwhile: Set<BlobName>?
    /// Work on it that takes several turns: queries, transfers of assets, visits to these, and its emptying.
    var slicedWorkCount = 0

    /// What its owner's next statement is checked against, and the last statement that it is of; nil until one comes.
    var statementHead: (head: StatementHead, last: SharedBytes)?

    /// What saves of encrypted values, and entries of rings, are checked against.
    @exclusivity(unchecked) var ringHeads = RingHeads()

    /// About what it takes in memory. A head has the last statement in parts, and some keys of each one before.
    var approximateBytes: Int {
        database.approximateBytes + ringHeads.approximateBytes
            + (statementHead.map { 3 * $0.last.count + database.statements.all.count * Self.usedKeyBytes } ?? 0)
    }

    private static let usedKeyBytes = 256

    /// Record types whose records were scanned for a schema that did not know them.
    private var taughtTypes: Set<String> = []
    /// Record types whose records are being scanned, and the callbacks that wait for the result.
    private var lessons: [String: [(SchemaLesson) -> Void]] = [:]

    /// Whether ``startLesson(ofType:_:)`` would begin no scan, because the type was asked for before.
    func isTeaching(_ type: String) -> Bool { lessons[type] != nil || taughtTypes.contains(type) }

    /// Learns from the records about a type. If the type was scanned before, `done` gets an empty lesson at once.
    ///
    /// - Returns: A scan that the caller has to continue and to end; nil when there is nothing to scan, or a scan of
    ///   the type is already running.
    func startLesson(ofType type: String, _ done: @escaping (SchemaLesson) -> Void) -> LessonScan? {
        if lessons[type] != nil {
            lessons[type]!.append(done)
            return nil
        }
        if taughtTypes.contains(type) {
            done(SchemaLesson())
            return nil
        }
        lessons[type] = [done]
        return LessonScan(type: type)
    }

    /// - Parameter isKnown: Whether the schema knows what the scan has found: another one would find no more. Else the
    ///   schema may not learn it, as while the disk is full, and the next query asks again.
    func endLesson(_ scan: LessonScan, isKnown: Bool) {
        if isKnown { remember(taught: scan.type) }
        for done in lessons.removeValue(forKey: scan.type) ?? [] { done(scan.lesson) }
    }

    private func remember(taught type: String) {
        if taughtTypes.count >= ServiceLimits.taughtTypes { taughtTypes.removeAll() }
        taughtTypes.insert(type)
    }

    func removalBegan() {
        slicedWorkCount += 1
        removalCount += 1
    }

    func removalEnded() {
        slicedWorkCount -= 1
        removalCount -= 1
        if removalCount > 0 { return }
        for body in exchange(&afterRemovals, with: []) { body() }
    }

    /// Calls `body` when no files of its assets are being removed.
    func afterRemovals(_ body: @escaping () -> Void) {
        if removalCount == 0 || isLost { body() } else { afterRemovals.append(body) }
    }

    /// Releases the calls that wait for what it teaches: their clients remember the database they use. Called when no
    /// loop runs any more.
    func abandon() { (lessons, afterRemovals) = ([:], []) }

    /// Its place among the others in memory.
    var entry = LoadedDatabases.Entry()

    init(
        database: Database, hub: NotificationHub, storage: DatabaseStorage?, members: ZoneMembers = ZoneMembers(),
        savedSequence: UInt64
    ) {
        self.members = members
        self.database = database
        self.hub = hub
        self.storage = storage
        self.savedSequence = savedSequence
    }

    /// Notes that the log did not take its last commit, or has lost it to another owner.
    func markLost() {
        isLost = true
        for body in exchange(&afterRemovals, with: []) { body() }
    }

    /// Whether several accounts write to it: in a private database that shares nothing its owner has all the room.
    var hasSeveralWriters: Bool { database.id.scope == .public || !members.isEmpty }

    /// Whether it is a private database that was loaded, and none that stands for one.
    var isKept: Bool { storage != nil }

    /// Whether all of its commits are saved.
    var isSaved: Bool { database.sequence <= savedSequence }

    /// What uploads take that are under way.
    package var reservedUploadBytes: Int { Int(clamping: uploads.reservedByteCount) }

    /// What uploads take that no record names.
    var uploadBytes: Int { Int(clamping: uploads.reservedByteCount + database.blobs.pendingByteCount) }

    /// What it holds, as quotas count it.
    package var usedBytes: Int { database.quotaBytes + uploadBytes }

    /// Tells the quota of its account what it holds now. Called after whatever changes that.
    func noteUse() {
        // What was lost has been read again by now, maybe.
        if !isLost { storage?.changed(to: usedBytes) }
    }

    /// Whether dropping it would cost somebody more than the time to load it again.
    ///
    /// Uploads that no record names are known in memory alone: were they forgotten, a user could fill the disk with
    /// them. What nothing needs is remembered, unless it is too much.
    var isInUse: Bool {
        clientCount > 0 || isAwaited || !unremovedBlobs.isEmpty || slicedWorkCount > 0 || !lessons.isEmpty
            || hub.isPublishing || hub.hasStreams || database.blobs.pendingByteCount > 0
            || database.blobs.unneededCount > unneededBlobLimit
    }
}
