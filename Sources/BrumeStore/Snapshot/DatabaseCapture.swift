package import BrumeModel
internal import BrumeRecord

/// A whole database at one commit, as values: a snapshot is written from it, on any thread, while the database goes on.
///
/// Taking one copies references only. Later commits copy the chunks of records that they touch (``RecordSlots``).
package struct DatabaseCapture: Sendable {
    package let id: DatabaseID
    package let sequence: UInt64
    let zones: [ZoneCapture]
    let zoneFeedFloor: ChangePosition
    let runs: [DatabaseRun]
    let subscriptions: [KeptSubscription]
    let operations: RememberedOperations.Capture
    let participantOperations: RememberedOperations.Capture
    let formerSubscribers: FormerSubscribers
    let sharedZones: SharedZones
    let statements: AccountStatements
    let rings: ZoneRings
    /// See ``Database/quotaBytes``.
    var quotaBytes: Int
    /// Set when ``quotaBytes`` still counts assets that no record names: then ``header`` counts them anew.
    var recount: QuotaRecount? = nil

    /// What a quota counts besides assets.
    struct QuotaRecount: Sendable {
        let storedBytes: Int
        let overheadBytes: Int
    }
}

/// What a snapshot keeps of a zone. Look-ups and the feed are made anew when it is loaded: were they shared, the next
/// commit would copy them whole.
struct ZoneCapture: Sendable {
    let name: String
    let incarnation: UInt64
    let lastChange: ChangePosition
    let floor: ChangePosition
    let deletion: ZoneDeletionReason?
    let earlierDeletion: EarlierDeletion?
    let liveCount: Int
    let tombstoneCount: Int
    let slots: RecordSlots
    let clientTokens: ClientTokens
    let trees: SharedTrees

    init(_ zone: ZoneState) {
        name = zone.name
        incarnation = zone.incarnation
        lastChange = zone.lastChange
        floor = zone.floor
        deletion = zone.deletion
        earlierDeletion = zone.earlierDeletion
        liveCount = zone.liveCount
        tombstoneCount = zone.tombstoneCount
        slots = zone.slots
        clientTokens = zone.clientTokens
        trees = zone.trees
    }

    var isDefault: Bool { incarnation == 0 }
}

extension Database {
    /// The database as it is now. Only what is durable may become a snapshot: write it when the commit ``sequence`` is.
    package func capture() -> DatabaseCapture {
        DatabaseCapture(
            id: id, sequence: sequence, zones: zoneStates.filter { !$0.isForgotten }.map(ZoneCapture.init),
            zoneFeedFloor: zoneFeedFloor, runs: runHistory.runs, subscriptions: subscriptionTable.all,
            operations: operations.capture, participantOperations: participantOperations.capture,
            formerSubscribers: formerSubscribers, sharedZones: sharedZones, statements: statements,
            rings: rings, quotaBytes: quotaBytes,
            recount: hasAssetReleases ? .init(storedBytes: storedBytes, overheadBytes: overheadBytes) : nil)
    }
}

extension DatabaseCapture {
    struct Counts: Equatable {
        var zones: UInt64 = 0
        var records: UInt64 = 0
        var tombstones: UInt64 = 0
        var deletedZones: UInt64 = 0
    }

    var counts: Counts {
        var counts = Counts()
        for zone in zones {
            if zone.deletion != nil {
                counts.deletedZones += 1
            } else {
                counts.zones += 1
                counts.records += UInt64(zone.liveCount)
                counts.tombstones += UInt64(zone.tombstoneCount)
            }
        }
        return counts
    }

    /// What a database counts towards a quota that is loaded from this.
    private var countedQuotaBytes: Int {
        guard let recount else { return quotaBytes }
        var seen = Set<BlobName>()
        var bytes: UInt64 = 0
        for zone in zones where zone.deletion == nil {
            for slot in zone.slots.chunks.joined() where !slot.isDeleted && slot.marks.contains(.assets) {
                Database.forEachAsset(of: slot.bytes) { asset in
                    if seen.insert(BlobName(asset)).inserted { bytes += BlobIndex.counted(asset.byteCount) }
                }
            }
        }
        return Database.quotaBytes(
            recount.storedBytes, overhead: recount.overheadBytes, assets: bytes, count: seen.count)
    }

    /// - Complexity: O(records) when it was captured while assets waited to be released.
    var header: SnapshotHeader {
        let counts = counts
        return SnapshotHeader(
            database: id, sequence: sequence, recordCount: counts.records, tombstoneCount: counts.tombstones,
            zoneCount: counts.zones, zoneFeedFloor: zoneFeedFloor, runs: runs,
            formerSubscriberFloor: formerSubscribers.floor, quotaBytes: UInt64(countedQuotaBytes),
            sharedZoneFloor: sharedZones.floor)
    }

    /// Calls `body` with the content of blocks of about ``SnapshotFormat/blockBytes``: zones first, then what is in
    /// them.
    func forEachBlock(_ body: ([UInt8]) throws(DiskError) -> Void) throws(DiskError) {
        /// Records are encoded at once; the rest gathers here, and is encoded at the block's end.
        var rest = SnapshotBlock()
        var content: [UInt8] = []
        content.reserveCapacity(SnapshotFormat.blockBytes + SnapshotFormat.blockBytes / 4)
        var bytes = 0
        func end() throws(DiskError) {
            if rest != SnapshotBlock() { StoreCoder.encodeSnapshotBlock(rest, into: &content) }
            try body(content)
            rest = SnapshotBlock()
            content.removeAll(keepingCapacity: true)
            bytes = 0
        }
        func add(_ count: Int) throws(DiskError) {
            bytes += count + 32
            if bytes >= SnapshotFormat.blockBytes { try end() }
        }
        for zone in zones {
            if let reason = zone.deletion {
                rest.deletedZones.append(.init(position: zone.lastChange, name: zone.name, reason: reason))
            } else {
                rest.zones.append(
                    .init(
                        zone: zone.incarnation, name: zone.name, lastChange: zone.lastChange, floor: zone.floor,
                        clientTokens: zone.clientTokens.all, earlierDeletion: zone.earlierDeletion))
            }
            try add(zone.name.utf8.count + zone.clientTokens.approximateBytes)
        }
        for zone in zones where zone.deletion == nil {
            var nextPlace: Int32 = 0
            for chunk in zone.slots.chunks {
                for slot in chunk {
                    let place = nextPlace
                    nextPlace += 1
                    if slot.isFree { continue }
                    if slot.isDeleted {
                        rest.tombstones.append(
                            .init(zone: zone.incarnation, position: slot.position, name: slot.name, type: slot.type))
                    } else {
                        let membership = zone.trees.membership(of: place)
                        slot.withBytes { bytes in
                            StoreCoder.appendSnapshotRecord(
                                zone: zone.incarnation, position: slot.position, created: slot.created, record: bytes,
                                tree: membership.tree, entered: membership.entered, to: &content)
                        }
                    }
                    try add(slot.byteCount)
                }
            }
        }
        for zone in zones where !zone.trees.isEmpty {
            for (number, tree) in zone.trees.trees.sorted(by: { $0.key < $1.key }) {
                rest.trees.append(tree.snapshot(number, inZone: zone.incarnation))
                try add(tree.share.utf8.count)
                for departure in tree.departures {
                    rest.departures.append(departure.snapshot(tree: number, inZone: zone.incarnation))
                    try add(departure.name.utf8.count + departure.type.utf8.count)
                }
            }
            for (user, member) in zone.trees.members.sorted(by: { $0.key < $1.key }) {
                rest.treeMembers.append(member.snapshot(user, inZone: zone.incarnation))
                try add(user.utf8.count + member.ended.count * 24)
            }
        }
        for subscription in subscriptions {
            rest.subscriptions.append(subscription.subscription)
            try add(subscription.approximateBytes)
        }
        for operations in [operations, participantOperations] {
            try operations.forEach { (operation) throws(DiskError) in
                rest.operations.append(
                    .init(id: operation.id, outcome: operation.outcome, digest: operation.digest, user: operation.user))
                try add(
                    operation.id.count + operation.outcome.count + OperationDigest.byteCount
                        + operation.user.utf8.count)
            }
        }
        for (user, sequence) in formerSubscribers.sequences.sorted(by: { ($0.value, $0.key) < ($1.value, $1.key) }) {
            rest.formerSubscribers.append(.init(user: user, sequence: sequence))
            try add(user.utf8.count)
        }
        for entry in sharedZones.inOrder {
            rest.sharedZones.append(
                .init(zone: entry.zone, position: entry.position, isEnded: entry.isEnded, earlierEnd: entry.earlierEnd))
            try add(entry.zone.id.owner.utf8.count + entry.zone.id.name.utf8.count)
        }
        for zone in sharedZones.asked.sorted() {
            rest.askedZones.append(zone)
            try add(zone.owner.utf8.count)
        }
        for statement in statements.all {
            rest.statements.append(statement)
            try add(statement.count)
        }
        for replaced in statements.replaced {
            rest.replacedStatements.append(replaced)
            try add(2 * ReplacedStatements.hashBytes)
        }
        try rings.forEachEntry { (zone, root, entry) throws(DiskError) in
            rest.ringEntries.append(.init(zone: zone, root: root, entry: entry))
            try add(root.utf8.count + entry.count)
        }
        try rings.forEachStatement { (statement) throws(DiskError) in
            rest.ringStatements.append(statement)
            try add(statement.user.utf8.count + statement.statement.count)
        }
        for chain in rings.selectedChains {
            rest.ringChains.append(chain)
            try add(chain.user.utf8.count)
        }
        for unnamed in rings.allUnnamed {
            rest.ringUsersUnnamed.append(unnamed)
            try add(unnamed.users.reduce(0) { $0 + $1.utf8.count })
        }
        for guest in rings.allGuests {
            rest.ringGuests.append(guest)
            try add(
                guest.root.utf8.count + guest.guest.user.utf8.count + guest.guest.statementHash.count
                    + guest.guest.proof.count)
        }
        if bytes > 0 { try end() }
    }
}
