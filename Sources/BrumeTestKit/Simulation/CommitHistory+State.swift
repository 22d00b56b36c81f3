internal import BrumeModel
internal import BrumeStore

extension CommitHistory {
    struct Version: Equatable {
        var record: Record
        /// The position of the change that made the record.
        var created: UInt64
        /// The size of the record as it is stored.
        var byteCount: Int
        /// The share that the record is; nil for any other record.
        var share: Share?
        /// The tag with which those are shown it who take part and don't manage it.
        var shownTag: String

        init(_ record: Record, share: Share?, at position: UInt64, byteCount: Int) {
            (self.record, self.share, self.byteCount) = (record, share, byteCount)
            created = position
            shownTag = record.system.changeTag
        }

        var tag: String { record.system.changeTag }
        var fields: [String: FieldValue] { record.fields }
        var parent: String? { record.system.parent }
        var type: String { record.system.type }
    }

    /// In the public database each user has ids of their own; in a private one the owner is empty.
    struct SubscriptionKey: Hashable {
        var owner: String
        var id: String
    }

    /// A deleted item that a feed still reports.
    struct Tombstone {
        var name: String
        var position: UInt64
    }

    struct Zone {
        var incarnation: UInt64
        var records: [String: Version] = [:]
        /// Oldest first.
        var tombstones: [Tombstone] = []
        /// Tokens below it have expired.
        var floor: UInt64 = 0
        /// Where the parts of those began with whom single records are shared.
        var treeStarts: [String: UInt64] = [:]

        mutating func put(_ version: Version, _ name: String) {
            var version = version
            version.created = records[name]?.created ?? version.created
            records[name] = version
            tombstones.removeAll { $0.name == name }
        }

        /// Deletes a record; returns false when there is no such record.
        ///
        /// - Parameter isCrowded: Whether the zones of the database keep as many deletions together as they may.
        fileprivate mutating func delete(
            _ name: String, at position: UInt64, limit: Int, isCrowded: Bool
        ) -> Bool {
            guard records.removeValue(forKey: name) != nil else { return false }
            if incarnation == 0 { return true }
            let kept = isCrowded ? max(2, records.count, tombstones.count - 1) : max(limit, records.count)
            tombstones.append(Tombstone(name: name, position: position))
            let excess = tombstones.count - kept
            if excess > 0 {
                floor = tombstones[excess - 1].position
                tombstones.removeFirst(excess)
            }
            return true
        }
    }

    /// What a database holds after a commit, its history written plainly: lists, and loops over them.
    struct State {
        var zones: [String: Zone] = [Names.defaultZone: Zone(incarnation: 0)]
        var subscriptions: [SubscriptionKey: Subscription] = [:]
        /// Oldest first.
        var deletedZones: [Tombstone] = []
        /// Tokens of the database's feed below it have expired.
        var zoneFloor: UInt64 = 0
        /// What the owner's devices say of their keys, the first in front.
        var statements: [SharedBytes] = []
        /// What zones have of rings, by their incarnations.
        var rings: [UInt64: KeptRings] = [:]
        /// Those whose place a first one took.
        var replaced: [ReplacedStatements] = []
        /// In the midst of a commit, the last of those whose place the next one takes.
        var vacated: SharedBytes?
        /// Runs of the server, oldest first.
        var runs: [DatabaseRun] = []

        func name(of incarnation: UInt64) -> String? {
            zones.first { $0.value.incarnation == incarnation }?.key
        }

        mutating func makeZone(_ name: String, incarnation: UInt64) {
            zones[name] = Zone(incarnation: incarnation)
            deletedZones.removeAll { $0.name == name }
        }

        /// Deletes a record; returns false when there is no such record.
        mutating func deleteRecord(
            _ name: String, of zone: String, at position: UInt64, limits: HistoryLimits
        ) -> Bool {
            let tombstoneCount = zones.values.reduce(0) { $0 + $1.tombstones.count }
            return zones[zone]!.delete(
                name, at: position, limit: limits.tombstonesPerZone, isCrowded: tombstoneCount >= limits.tombstones)
        }

        mutating func deleteZone(_ name: String, at position: UInt64) {
            if let zone = zones.removeValue(forKey: name) { rings[zone.incarnation] = nil }
            deletedZones.append(Tombstone(name: name, position: position))
        }

        mutating func forgetDeletedZones(limit: Int) {
            guard deletedZones.count >= max(limit, zones.count - 1) else { return }
            zoneFloor = deletedZones[deletedZones.count / 2 - 1].position
            deletedZones.removeFirst(deletedZones.count / 2)
        }

        mutating func note(run: UInt32, sequence: UInt64, limit: Int) {
            guard run != runs.last?.id else { return }
            runs.append(DatabaseRun(firstSequence: sequence, id: run))
            if runs.count > limit { runs.removeFirst() }
        }

        /// The run that a token of that place names.
        func run(of sequence: UInt64) -> UInt32? { (runs.last { $0.firstSequence <= sequence } ?? runs.first)?.id }

        /// Whether a token is of a run that is not known, or not known any more.
        func isForeign(_ token: PeekedToken) -> Bool { run(of: token.horizon) != token.epoch }
    }
}
