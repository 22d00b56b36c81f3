internal import BrumeLock
internal import BrumeModel
internal import BrumeRecord

/// One zone of a database: its records by name, the feed of its changes, and the indexes that reference rules need.
///
/// The default zone (incarnation 0) keeps no history: it has no feed, and a deleted record leaves nothing behind.
struct ZoneState: Sendable {
    let name: String
    /// The raw position of the change that made the zone: unique in the database. 0 for the default zone.
    let incarnation: UInt64
    /// Position of the last change in the zone, its creation and its deletion included.
    var lastChange: ChangePosition
    /// Tokens below it have expired, because tombstones that they need are gone: the position of the newest of those.
    private(set) var floor: ChangePosition
    /// Set when the zone is deleted: what is left then is its name and `lastChange`.
    var deletion: ZoneDeletionReason?
    /// The deletion of the zone that had the name before. It has an entry in the database's feed for as long as this
    /// zone lives.
    var earlierDeletion: EarlierDeletion?

    private(set) var slots = RecordSlots()
    private(set) var feed = Feed()
    private(set) var liveCount = 0
    /// Encoded bytes of the records that exist, and the client tokens.
    private(set) var storedBytes = 0
    /// About what the zone takes in memory, but for its look-ups of references.
    private var ownBytes = ZoneState.emptyBytes
    private(set) var clientTokens = ClientTokens()
    private(set) var names = NameIndex()
    private var packs = RecordPacks()
    /// The hashes of the names of what was loaded, while loading.
    private var loadedHashes: [NameIndex.Hash] = []
    /// Tombstones in the order of their deletions. An entry is stale when its slot holds a record again, or was deleted
    /// again.
    private var deletions = Feed()
    private var freeSlots: [Int32] = []
    private(set) var references: ReferenceIndex
    /// The zone's shares and their roots.
    private(set) var sharing = ZoneSharing()
    private(set) var quietEnd = QuietEnd()
    /// Records that name assets.
    private(set) var assetHolderCount = 0
    /// What shares of records cover, and who takes part in them.
    var trees = SharedTrees()
    /// What each user's records take; a private database has none.
    private(set) var creatorBytes = CreatorBytes()

    /// - Parameter isPublic: Whether it is a public database's.
    init(
        name: String, incarnation: UInt64, lastChange: ChangePosition, floor: ChangePosition = .start,
        isPublic: Bool = false
    ) {
        references = ReferenceIndex(tellsUsersApart: isPublic)
        self.name = name
        self.incarnation = incarnation
        self.lastChange = lastChange
        self.floor = floor
    }

    var isDefault: Bool { incarnation == 0 }

    /// Whether it is a public database's, where each user's records count for them.
    private var tellsUsersApart: Bool { references.tellsUsersApart }

    /// What stands in the place of a deleted zone whose name is forgotten.
    static let forgotten: ZoneState = {
        var state = ZoneState(name: "", incarnation: .max, lastChange: .start)
        state.deletion = .deleted
        return state
    }()

    var isForgotten: Bool { name.isEmpty }

    /// Whether the database's feed tells something of the zone at a position.
    func isTold(at position: ChangePosition) -> Bool {
        lastChange == position || earlierDeletion?.position == position
    }

    /// What a zone takes that holds nothing: its own fields, its name, its places in the database's look-ups.
    static let emptyBytes = 512

    /// Deleted records that the feed still reports.
    var tombstoneCount: Int { isDefault ? 0 : slots.count - liveCount - freeSlots.count }

    /// The zone's id with an empty owner, which means the database's own.
    var id: ZoneID { ZoneID(name: name) }

    // MARK: Look-ups

    /// The slot of a record that exists.
    func liveSlot(of name: String) -> Int32? {
        guard let slot = names.slot(of: name, in: slots), !slots.isDeleted(slot) else { return nil }
        return slot
    }

    subscript(slot: Int32) -> RecordSlot { slots[slot] }

    /// The records that exist, in the order of their slots.
    var liveSlots: some Sequence<(slot: Int32, record: RecordSlot)> {
        (0..<Int32(slots.count)).lazy.map { (slot: $0, record: slots[$0]) }.filter { !$0.record.isDeleted }
    }

    /// About what the zone takes in memory.
    var approximateBytes: Int {
        ownBytes + references.approximateBytes + creatorBytes.approximateBytes + sharing.approximateBytes
            + trees.approximateBytes
    }

    // MARK: Changes

    /// Puts a record, new or in place of its older version.
    ///
    /// - Parameters:
    ///   - position: Must be greater than every earlier position.
    ///   - existing: The slot of its older version, where that is known.
    ///   - change: How its references differ from those of the older version, where that is known.
    /// - Returns: Its slot.
    mutating func put(
        _ record: SharedBytes, marks: RecordMarks, at position: ChangePosition, replacing existing: Int32? = nil,
        references change: ReferenceChange = .unknown
    ) -> Int32 {
        let slot: Int32
        var replacesEntry = false
        var (hash, found) = (NameIndex.Hash(0), existing)
        if existing == nil {
            (hash, found) = record.withUnsafeBytes { bytes in
                let name = StoredRecord.head(of: bytes).name
                let hash = HashedSlots.hash(name)
                return (hash, names.slot(of: name, hash: hash, in: slots))
            }
        }
        var former: Kinship?
        if let known = found {
            slot = known
            replacesEntry = true
            if !trees.isIdle, !slots.isDeleted(known) { former = kinship(of: known) }
            let packedBytes = slots.packedBytes(of: known)
            ownBytes -= slots.approximateBytes(of: known)
            if slots.isDeleted(known) {
                liveCount += 1
                deletions.noteStale()
                slots[known] = RecordSlot(new: record, marks: marks, position: position)
                compactDeletions()
            } else {
                storedBytes -= slots.byteCount(of: known)
                removeFromCreator(known)
                removeFromSharing(known)
                if slots.marks(of: known).contains(.assets) { assetHolderCount -= 1 }
                if case .unknown = change { removeReferences(of: known) }
                slots.replace(known, with: record, marks: marks, position: position)
            }
            if let packedBytes { leftPack(known, bytes: packedBytes) }
        } else {
            liveCount += 1
            if let free = freeSlots.popLast() {
                slot = free
                ownBytes -= slots[free].approximateBytes
                slots[free] = RecordSlot(new: record, marks: marks, position: position)
            } else {
                slot = slots.append(RecordSlot(new: record, marks: marks, position: position))
            }
            names.insert(slot, hash: hash)
        }
        ownBytes += slots.approximateBytes(of: slot)
        storedBytes += record.count
        addToCreator(slot)
        if marks.contains(.sharing) { sharing.add(slots[slot], at: slot) }
        if marks.contains(.assets) { assetHolderCount += 1 }
        switch change {
        case .unknown: addReferences(of: slot)
        case .none: break
        case .changed(let from, let to):
            references.remove(from, of: slot)
            references.add(to, of: slot, by: references.user(of: slots[slot]))
        }
        if !trees.isIdle || marks.contains(.sharing) { noteInTrees(slot, at: position, former: former) }
        if sharing.quietShare?.changed == position { quietEnd.note(position, after: lastChange) }
        noteChange(at: position, slot: slot, replacesEntry: replacesEntry)
        return slot
    }

    /// Deletes a live record: a tombstone is left of it, in the default zone nothing.
    ///
    /// - Parameters:
    ///   - limit: The most tombstones, this one included. Above it the oldest are dropped.
    ///   - known: The record's references to others, where they are known.
    mutating func delete(
        _ slot: Int32, at position: ChangePosition, tombstoneLimit limit: Int, references known: RecordReferences? = nil
    ) {
        precondition(!slots[slot].isDeleted, "a record is deleted twice")
        if let known { references.remove(known, of: slot) } else { removeReferences(of: slot) }
        liveCount -= 1
        let name = slots[slot].name
        let type = slots[slot].type
        ownBytes -= slots[slot].approximateBytes
        storedBytes -= slots.byteCount(of: slot)
        removeFromCreator(slot)
        removeFromSharing(slot)
        if slots.marks(of: slot).contains(.assets) { assetHolderCount -= 1 }
        noteDeletionInTrees(slot, at: position)
        let packedBytes = slots.packedBytes(of: slot)
        slots[slot] = .tombstone(name: isDefault ? "" : name, type: isDefault ? "" : type, position: position)
        if let packedBytes { leftPack(slot, bytes: packedBytes) }
        ownBytes += slots[slot].approximateBytes
        if isDefault {
            names.remove(slot, hash: NameIndex.hash(name))
            freeSlots.append(slot)
        } else {
            deletions.append(position, slot: slot, replacesEntry: false)
            compactDeletions()
        }
        // Before the feed grows, so that it is compacted where too much of it has become stale.
        if !isDefault { dropTombstones(downTo: limit) }
        noteChange(at: position, slot: slot, replacesEntry: true)
    }

    /// Keeps a device's client token.
    mutating func put(_ token: ClientToken) {
        ownBytes -= clientTokens.approximateBytes
        storedBytes -= clientTokens.storedBytes
        clientTokens.put(token)
        ownBytes += clientTokens.approximateBytes
        storedBytes += clientTokens.storedBytes
    }

    /// Forgets the oldest tombstones; tokens that need them expire. A deletion adds one and may lower the limit by one:
    /// it drops two at the most.
    private mutating func dropTombstones(downTo limit: Int) {
        while tombstoneCount > limit, let entry = deletions.first {
            let isCurrent = slots.isDeleted(entry.slot) && slots.position(of: entry.slot) == entry.position
            deletions.removeFirst(isStale: !isCurrent)
            if !isCurrent { continue }
            let slot = slots[entry.slot]
            names.remove(entry.slot, hash: NameIndex.hash(slot.name))
            ownBytes -= slot.approximateBytes
            slots[entry.slot] = .tombstone(name: "", type: "", position: .start)
            ownBytes += slots[entry.slot].approximateBytes
            freeSlots.append(entry.slot)
            feed.noteStale()
            floor = entry.position
        }
    }

    /// Notes that a packed record was replaced in its slot.
    private mutating func leftPack(_ slot: Int32, bytes: Int) {
        if let moving = packs.leave(slot, bytes: bytes) { slots.repack(moving) }
    }

    private mutating func compactDeletions() {
        guard deletions.needsCompaction else { return }
        let slots = slots
        deletions.compact { slots.isDeleted($0.slot) && slots.position(of: $0.slot) == $0.position }
    }

    private mutating func noteChange(at position: ChangePosition, slot: Int32, replacesEntry: Bool) {
        lastChange = max(lastChange, position)
        if isDefault { return }
        feed.append(position, slot: slot, replacesEntry: replacesEntry)
        if feed.needsCompaction {
            let slots = slots
            feed.compact { slots.position(of: $0.slot) == $0.position }
        }
    }

    private mutating func addToCreator(_ slot: Int32) {
        guard tellsUsersApart else { return }
        let record = slots[slot]
        creatorBytes.add(CreatorBytes.byteCount(of: record), of: CreatorBytes.User(ofRecord: record))
    }

    private mutating func removeFromCreator(_ slot: Int32) {
        guard tellsUsersApart else { return }
        let record = slots[slot]
        creatorBytes.remove(CreatorBytes.byteCount(of: record), of: CreatorBytes.User(ofRecord: record))
    }

    private mutating func removeFromSharing(_ slot: Int32) {
        if slots.marks(of: slot).contains(.sharing) { sharing.remove(slots[slot], at: slot) }
    }

    /// ``sharing``, found anew.
    var searchedSharing: ZoneSharing {
        var sharing = ZoneSharing()
        for (slot, record) in liveSlots where record.marks.contains(.sharing) { sharing.add(record, at: slot) }
        return sharing
    }

    private mutating func addReferences(of slot: Int32) {
        if !slots.marks(of: slot).contains(.refersToOthers) { return }
        let record = slots[slot]
        references.add(record.references, of: slot, by: references.user(of: record))
    }

    private mutating func removeReferences(of slot: Int32) {
        if slots.marks(of: slot).contains(.refersToOthers) { references.remove(slots[slot].references, of: slot) }
    }

    // MARK: Loading

    /// Adds records and tombstones from a snapshot; ``finishLoading(with:)`` puts them in order.
    mutating func load(_ records: LoadedRecords) {
        let first = Int32(slots.count)
        slots.append(contentsOf: records.slots)
        loadedHashes.append(contentsOf: records.hashes)
        for pack in records.packs {
            packs.add(first + Int32(pack.slots.lowerBound)..<first + Int32(pack.slots.upperBound), bytes: pack.bytes)
        }
        liveCount += records.liveCount
        storedBytes += records.storedBytes
        ownBytes += records.approximateBytes
        for index in records.marked {
            let slot = first + Int32(index)
            addReferences(of: slot)
            if slots.marks(of: slot).contains(.sharing) { sharing.add(slots[slot], at: slot) }
            if slots.marks(of: slot).contains(.assets) { assetHolderCount += 1 }
        }
        for record in records.covered {
            trees.load(first + Int32(record.slot), tree: record.tree, entered: record.entered)
        }
    }

    /// Builds the look-ups and the feed from what was loaded. Returns what is wrong with it, or nil.
    mutating func finishLoading(with threads: LoadThreads = .one) -> String? {
        let (slots, hashes, isDefault, tellsUsersApart) = (slots, loadedHashes, isDefault, tellsUsersApart)
        loadedHashes = []
        // Two parts that have nothing to do with each other, and take about the same time. A public database has no
        // zone with a feed.
        let parts = Lock<(names: NameIndex?, feeds: (changes: Feed, deletions: Feed)?, creatorBytes: CreatorBytes?)>(
            (nil, nil, nil))
        threads.forEach(2) { part in
            if part == 0 {
                let names = NameIndex(of: slots, hashes: hashes)
                parts.withLock { $0.names = names }
            } else {
                let feeds = isDefault ? nil : ZoneState.feeds(of: slots)
                let creatorBytes = ZoneState.creatorBytes(of: slots, isPublic: tellsUsersApart)
                parts.withLock { ($0.feeds, $0.creatorBytes) = (feeds, creatorBytes) }
            }
        }
        let (names, feeds, creatorBytes) = parts.withLock { $0 }
        if let creatorBytes { self.creatorBytes = creatorBytes }
        guard let names else { return "a record stands there twice" }
        self.names = names
        if let problem = sharingProblem ?? finishLoadingTrees() { return problem }
        guard let feeds else { return nil }
        (feed, deletions) = feeds
        quietEnd = foundQuietEnd
        var before: ChangePosition?
        for entry in feed.entries() {
            if entry.position == before { return "two changes of a zone stand at one position" }
            before = entry.position
        }
        return (before ?? .start) <= lastChange ? nil : "a change of a zone stands behind its last one"
    }

    /// What is wrong with the roots that were loaded, which no batch would have left so; nil when nothing is.
    private var sharingProblem: String? {
        if sharing.isEmpty { return nil }
        let rootCount = liveSlots.count { $0.record.sharing?.share.isEmpty == false }
        if rootCount > sharing.roots.count { return "a share has two roots" }
        if !sharing.roots.keys.allSatisfy({ sharing.shares[$0] != nil }) {
            return "a record is the root of a share that is not there"
        }
        if sharing.shares[Names.zoneShare] != nil, sharing.shares.count > 1 || !sharing.roots.isEmpty {
            return "the zone is shared as a whole and in part"
        }
        let hasRoots = sharing.shares.keys.allSatisfy { $0 == Names.zoneShare || sharing.roots[$0] != nil }
        return hasRoots ? nil : "a share has no root"
    }

    /// What the records of a public database take, counted anew; nothing in another one.
    private static func creatorBytes(of slots: RecordSlots, isPublic: Bool) -> CreatorBytes {
        var bytes = CreatorBytes()
        if !isPublic { return bytes }
        for slot in slots.chunks.joined() where !slot.isDeleted {
            bytes.add(CreatorBytes.byteCount(of: slot), of: CreatorBytes.User(ofRecord: slot))
        }
        return bytes
    }

    /// ``creatorBytes``, counted anew.
    var recountedCreatorBytes: CreatorBytes { ZoneState.creatorBytes(of: slots, isPublic: tellsUsersApart) }

    private static func feeds(of slots: RecordSlots) -> (changes: Feed, deletions: Feed) {
        var entries: [Feed.Entry] = []
        entries.reserveCapacity(slots.count)
        var deleted: [Feed.Entry] = []
        for slot in 0..<Int32(slots.count) {
            let entry = Feed.Entry(position: slots.position(of: slot), slot: slot)
            entries.append(entry)
            if slots.isDeleted(slot) { deleted.append(entry) }
        }
        return (Feed(unordered: entries), Feed(unordered: deleted))
    }
}
