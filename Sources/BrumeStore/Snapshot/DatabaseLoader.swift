package import BrumeModel
internal import BrumeWire

/// Builds a database of a snapshot's blocks. What does not fit is told as a sentence, never trapped on: a checksum says that
/// bytes are those that were written, not that a sound program wrote them.
package final class DatabaseLoader {
    package struct Problem: Error {
        package let text: String
    }

    private let database: Database
    private let sequence: UInt64
    private(set) var counts = DatabaseCapture.Counts()
    private var hasDefaultZone = false
    /// Of the last record: neighbours often have the same, and share its text.
    private var type = ""
    /// The zone of the last record, and its place.
    private var zone: (incarnation: UInt64, index: Int)?

    package init(id: DatabaseID, epoch: UInt32, sequence: UInt64) {
        database = Database(id: id, epoch: epoch)
        self.sequence = sequence
    }

    /// Takes what the header says of the database's history; returns what is wrong with it.
    func add(_ header: SnapshotHeader) -> String? {
        guard header.zoneFeedFloor.sequence <= sequence else { return "the feed's floor is behind the last commit" }
        database.zoneFeedFloor = header.zoneFeedFloor
        guard header.formerSubscriberFloor <= sequence else { return "a user left behind the last commit" }
        database.formerSubscribers = FormerSubscribers(floor: header.formerSubscriberFloor)
        if header.runs.isEmpty { return nil }
        guard let history = RunHistory(header.runs, upTo: sequence) else {
            return "the runs of the server are out of order"
        }
        database.runHistory = history
        return nil
    }

    /// Adds a block's content; returns what is wrong with it.
    package func add(_ block: SnapshotBlock) -> String? {
        do throws(Problem) {
            for zone in block.zones { try add(zone) }
            // A zone that is added may be another one of a place.
            if !block.zones.isEmpty { zone = nil }
            for zone in block.deletedZones { try add(zone) }
            for record in block.records { try add(record) }
            for tombstone in block.tombstones { try add(tombstone) }
            for subscription in block.subscriptions {
                guard database.mayKeep(subscription) else {
                    throw Problem(text: "a subscription stands there that the server would not have kept")
                }
                if database.subscriptionTable.subscription(subscription.id, of: subscription.owner) != nil {
                    throw Problem(text: "a subscription stands there twice")
                }
                database.putSubscription(subscription)
            }
            for former in block.formerSubscribers {
                guard database.id.scope == .public, !former.user.isEmpty, former.sequence <= sequence else {
                    throw Problem(text: "a user is said to have had subscriptions who can't have had any")
                }
                database.formerSubscribers.left(former.user, at: former.sequence)
            }
            for operation in block.operations { database.remember(operation: operation.id, answer: operation.answer) }
            return nil
        } catch {
            return error.text
        }
    }

    /// Orders the feeds. The database is whole then.
    package func finish() -> Result<Database, Problem> {
        guard hasDefaultZone else { return .failure(Problem(text: "the default zone is missing")) }
        for index in database.zoneStates.indices where !database.zoneStates[index].finishLoading() {
            return .failure(Problem(text: "changes of a zone stand at one position, or behind its last one"))
        }
        database.zoneFeed = Feed(
            unordered: database.zoneStates.indices.dropFirst().flatMap { index in
                let state = database.zoneStates[index]
                return [state.lastChange, state.earlierDeletion?.position].compactMap(\.self).map {
                    Feed.Entry(position: $0, slot: Int32(index))
                }
            })
        database.zoneFeedHead = database.zoneFeed.last?.position ?? .start
        database.sequence = sequence
        return .success(database)
    }

    private func add(_ zone: SnapshotZone) throws(Problem) {
        try check(zone.lastChange)
        guard zone.floor <= zone.lastChange else { throw Problem(text: "a zone's floor is behind its last change") }
        var state = ZoneState(
            name: zone.name, incarnation: zone.zone, lastChange: zone.lastChange, floor: zone.floor)
        guard zone.clientTokens.count <= (zone.zone == 0 ? 0 : Limits.clientTokensPerZone),
            zone.clientTokens.allSatisfy(\.isUsable)
        else { throw Problem(text: "a zone keeps client tokens that the server would not have kept") }
        for token in zone.clientTokens { state.put(token) }
        counts.zones += 1
        if zone.zone == 0 {
            guard zone.name == Names.defaultZone, !hasDefaultZone else {
                throw Problem(text: "the default zone stands there twice, or under another name")
            }
            hasDefaultZone = true
            database.withZone(at: 0) { $0 = state }
            return
        }
        state.deletion = nil
        if let earlier = zone.earlierDeletion {
            guard earlier.position < ChangePosition(rawValue: zone.zone) else {
                throw Problem(text: "a zone was made before the earlier one of its name was deleted")
            }
            state.earlierDeletion = earlier
        }
        guard database.zoneIndexOfIncarnation[zone.zone] == nil else {
            throw Problem(text: "a zone stands there twice")
        }
        database.zoneIndexOfIncarnation[zone.zone] = try append(state)
    }

    private func add(_ zone: SnapshotDeletedZone) throws(Problem) {
        try check(zone.position)
        counts.deletedZones += 1
        // A deleted zone's incarnation is asked for by nobody; it must not be 0.
        var state = ZoneState(name: zone.name, incarnation: zone.position.rawValue, lastChange: zone.position)
        state.deletion = zone.reason
        _ = try append(state)
    }

    private func append(_ state: ZoneState) throws(Problem) -> Int {
        if state.name.isEmpty { throw Problem(text: "a zone has no name") }
        guard database.zoneIndexOfName[state.name] == nil else {
            throw Problem(text: "a zone's name stands there twice")
        }
        let index = database.zoneStates.count
        database.zoneStates.append(state)
        database.zoneIndexOfName[state.name] = index
        return index
    }

    private func add(_ record: SnapshotRecord) throws(Problem) {
        try check(record.position)
        counts.records += 1
        var slot: RecordSlot
        do throws(ServiceError) {
            slot = try RecordSlot(decoding: record.record, type: type)
            type = slot.type
        } catch {
            throw Problem(text: error.message)
        }
        guard record.created <= record.position else {
            throw Problem(text: "a record was changed before it was created")
        }
        slot.position = record.position
        slot.created = record.created
        try load(slot, intoZone: record.zone)
    }

    private func add(_ tombstone: SnapshotTombstone) throws(Problem) {
        if tombstone.name.isEmpty { throw Problem(text: "a deleted record has no name") }
        try check(tombstone.position)
        counts.tombstones += 1
        try load(
            .tombstone(name: tombstone.name, type: tombstone.type, position: tombstone.position),
            intoZone: tombstone.zone)
    }

    private func load(_ slot: RecordSlot, intoZone incarnation: UInt64) throws(Problem) {
        let index: Int
        if let zone, zone.incarnation == incarnation {
            index = zone.index
        } else {
            guard let found = database.zoneIndexOfIncarnation[incarnation] else {
                throw Problem(text: "a record stands there before its zone")
            }
            index = found
            zone = (incarnation, found)
        }
        let isNew = database.withZone(at: index) { $0.load(slot) }
        if !isNew { throw Problem(text: "a record stands there twice") }
    }

    private func check(_ position: ChangePosition) throws(Problem) {
        guard position.sequence <= sequence else {
            throw Problem(text: "a change is behind the snapshot's last commit")
        }
    }
}
