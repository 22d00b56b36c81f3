internal import BrumeModel

/// The counts that a database keeps while it works, next to what counting everything again gives, and how much history
/// it holds.
///
/// For tests and checks: making one looks at every record.
package struct DatabaseAudit: Equatable, Sendable {
    /// Sums over the database.
    package struct Counts: Equatable, Sendable {
        package var records = 0
        /// Deleted records that are remembered, in all zones together.
        package var tombstones = 0
        /// See ``Database/storedBytes``.
        package var storedBytes = 0
        /// What each user's records take, of a public database.
        var creatorBytes = CreatorBytes()
        /// The shares of each zone that has some, and their roots, by the zone's incarnation.
        var sharing: [UInt64: ZoneSharing] = [:]
        /// What is wrong with the trees of shared records, by the zone's incarnation.
        var treeProblems: [UInt64: String] = [:]
        /// How often each stored asset is named: by records, and by those whose removal is not durable yet.
        var assets: [BlobName: Int] = [:]
        /// Bytes of those, each copy once.
        package var assetBytes: UInt64 = 0
        /// Bytes of those that are stored and that no record has named.
        package var pendingAssetBytes: UInt64 = 0
        /// Records that name assets, by the zone's incarnation.
        var assetHolders: [UInt64: Int] = [:]
        /// See ``Database/approximateBytes``.
        package var approximateBytes = 0
        package var operations = 0
        package var operationBytes = 0
        /// Those of users who take part in what the owner shares.
        package var participantOperations = 0
        package var participantOperationBytes = 0

        /// In what it differs from others, in words that are the same each time: dictionaries have no order.
        package func differences(from other: Counts) -> String {
            var found: [String] = []
            func compare<Number: Equatable>(_ name: String, _ number: KeyPath<Counts, Number>) {
                if self[keyPath: number] != other[keyPath: number] {
                    found.append("\(name): \(self[keyPath: number]) and \(other[keyPath: number])")
                }
            }
            func compare<Value: Equatable>(zones name: String, _ values: KeyPath<Counts, [UInt64: Value]>) {
                let (mine, theirs) = (self[keyPath: values], other[keyPath: values])
                let zones = Set(mine.keys).union(theirs.keys).filter { mine[$0] != theirs[$0] }.sorted()
                if !zones.isEmpty { found.append("\(name) of zones \(zones)") }
            }
            compare("records", \.records)
            compare("tombstones", \.tombstones)
            compare("stored bytes", \.storedBytes)
            compare("bytes in memory", \.approximateBytes)
            compare("operations", \.operations)
            compare("bytes of operations", \.operationBytes)
            compare("participants' operations", \.participantOperations)
            compare("bytes of participants' operations", \.participantOperationBytes)
            compare("bytes of assets", \.assetBytes)
            compare("bytes of pending assets", \.pendingAssetBytes)
            compare(zones: "shares", \.sharing)
            compare(zones: "records with assets", \.assetHolders)
            if treeProblems != other.treeProblems {
                found.append("trees: \(treeProblems.values.sorted()) and \(other.treeProblems.values.sorted())")
            }
            if assets != other.assets { found.append("how often assets are named") }
            if creatorBytes != other.creatorBytes { found.append("bytes of users") }
            return found.joined(separator: ", ")
        }
    }

    /// A feed and the items in it.
    package struct History: Equatable, Sendable {
        /// Empty for the database's own feed, whose items are zones.
        package var zone: String
        package var live = 0
        /// Deleted items that the feed still reports.
        package var tombstones = 0
        /// Deleted items whose names were taken again, and that the feed still reports.
        package var earlierDeletions = 0
        /// The entries of the feed, stale ones included.
        package var feedEntries = 0

        package init(
            zone: String, live: Int = 0, tombstones: Int = 0, earlierDeletions: Int = 0, feedEntries: Int = 0
        ) {
            self.zone = zone
            self.live = live
            self.tombstones = tombstones
            self.earlierDeletions = earlierDeletions
            self.feedEntries = feedEntries
        }
    }

    /// The counts that the engine keeps from commit to commit.
    package var kept = Counts()
    package var recounted = Counts()
    package var histories: [History] = []
    package var runs = 0
    package var limits: HistoryLimits

    package init(limits: HistoryLimits) {
        self.limits = limits
    }
}

extension Database {
    /// Counts everything again.
    ///
    /// - Complexity: O(records).
    package func audit() -> DatabaseAudit {
        var audit = DatabaseAudit(limits: history)
        audit.kept = DatabaseAudit.Counts(
            records: recordCount, tombstones: tombstoneCount, storedBytes: storedBytes,
            creatorBytes: zoneStates[0].creatorBytes, approximateBytes: approximateBytes,
            operations: operations.count, operationBytes: operations.bytes,
            participantOperations: participantOperations.count,
            participantOperationBytes: participantOperations.bytes)
        audit.kept.assets = blobs.referenceCounts
        audit.kept.assetBytes = blobs.referencedByteCount
        audit.kept.pendingAssetBytes = blobs.pendingByteCount
        for state in zoneStates where state.assetHolderCount > 0 {
            audit.kept.assetHolders[state.incarnation] = state.assetHolderCount
        }
        for state in zoneStates where !state.sharing.isEmpty { audit.kept.sharing[state.incarnation] = state.sharing }
        audit.runs = runHistory.runs.count
        var sums = DatabaseAudit.Counts(
            approximateBytes: Database.emptyBytes + subscriptionTable.approximateBytes
                + formerSubscribers.approximateBytes + sharedZones.approximateBytes
                + zoneIndexes.values.reduce(0) { $0 + $1.approximateBytes } + blobs.approximateBytes
                + assetReleases.approximateBytes
                + AccountStatements(statements.all, replaced: statements.replaced)!.approximateBytes
                + rings.recounted.approximateBytes)
        func count(assetsOf record: SharedBytes) {
            Database.forEachAsset(of: record) { asset in
                if sums.assets[BlobName(asset)] == nil { sums.assetBytes += BlobIndex.counted(asset.byteCount) }
                sums.assets[BlobName(asset), default: 0] += 1
            }
        }
        assetReleases.forEach { count(assetsOf: $0) }
        sums.pendingAssetBytes = blobs.recountedPendingByteCount
        operations.capture.forEach { operation in
            sums.operations += 1
            sums.operationBytes += operation.outcome.count
        }
        participantOperations.capture.forEach { operation in
            sums.participantOperations += 1
            sums.participantOperationBytes += operation.outcome.count
        }
        sums.approximateBytes += sums.operationBytes + sums.participantOperationBytes
        sums.creatorBytes = zoneStates[0].recountedCreatorBytes
        sums.approximateBytes += sums.creatorBytes.approximateBytes
        var zones = DatabaseAudit.History(zone: "", feedEntries: zoneFeed.count)
        for state in zoneStates {
            sums.approximateBytes += ZoneState.emptyBytes + state.clientTokens.approximateBytes
            sums.storedBytes += state.clientTokens.storedBytes
            if state.isForgotten { continue }
            if !state.isDefault {
                if state.deletion == nil { zones.live += 1 } else { zones.tombstones += 1 }
                if state.earlierDeletion != nil { zones.earlierDeletions += 1 }
            }
            var counted = DatabaseAudit.History(zone: state.name, feedEntries: state.feed.count)
            var references = ReferenceIndex(tellsUsersApart: state.references.tellsUsersApart)
            for (slot, record) in state.liveSlots where record.refersToOthers {
                references.add(record.references, of: slot, by: references.user(of: record))
            }
            for (_, record) in state.liveSlots where record.marks.contains(.assets) {
                sums.assetHolders[state.incarnation, default: 0] += 1
                count(assetsOf: record.bytes)
            }
            sums.approximateBytes += references.approximateBytes
            let sharing = state.searchedSharing
            if !sharing.isEmpty { sums.sharing[state.incarnation] = sharing }
            sums.approximateBytes += sharing.approximateBytes + state.trees.recountedBytes
            sums.treeProblems[state.incarnation] = state.problemWithTrees
            for slot in state.slots.chunks.joined() {
                sums.approximateBytes += slot.approximateBytes
                if !slot.isDeleted {
                    counted.live += 1
                    sums.storedBytes += slot.byteCount
                } else if !slot.isFree {
                    counted.tombstones += 1
                }
            }
            sums.records += counted.live
            sums.tombstones += counted.tombstones
            if !state.isDefault, state.deletion == nil { audit.histories.append(counted) }
        }
        audit.histories.append(zones)
        audit.recounted = sums
        return audit
    }

    /// Makes ``storedBytes`` wrong, so that a test can prove that it is noticed.
    package func testOnly_miscount(by bytes: Int) { storedBytes += bytes }
}
