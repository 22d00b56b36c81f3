package import BrumeModel
internal import BrumeRecord

/// Builds a database from a snapshot's blocks. What does not fit is reported as a sentence, and never traps: a checksum
/// says that bytes are those that were written, not that a sound program wrote them.
package final class DatabaseLoader {
    package struct Problem: Error {
        package let text: String
    }

    private let database: Database
    private let sequence: UInt64
    private(set) var counts = DatabaseCapture.Counts()
    private var hasDefaultZone = false

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
        guard header.sharedZoneFloor.sequence <= sequence else { return "a floor is behind the last commit" }
        database.sharedZones = SharedZones(floor: header.sharedZoneFloor)
        if header.runs.isEmpty { return nil }
        guard let history = RunHistory(header.runs, upTo: sequence) else {
            return "the runs of the server are out of order"
        }
        database.runHistory = history
        return nil
    }

    var testOnly_database: Database { database }

    /// Adds a block's content; returns what is wrong with it.
    package func add(content: UnsafeRawBufferPointer) -> String? {
        do throws(Problem) {
            return add(try LoadedBlock(content, upTo: sequence))
        } catch {
            return error.text
        }
    }

    /// Adds a block's content; returns what is wrong with it.
    func add(_ loaded: LoadedBlock) -> String? {
        let block = loaded.rest
        do throws(Problem) {
            for zone in block.zones { try add(zone) }
            for zone in block.deletedZones { try add(zone) }
            for (zone, records) in loaded.records {
                guard let index = database.zoneIndexOfIncarnation[zone] else {
                    throw Problem(text: "a record stands there before its zone")
                }
                counts.records += UInt64(records.liveCount)
                counts.tombstones += UInt64(records.tombstoneCount)
                database.withZone(at: index) { $0.load(records) }
            }
            try addTrees(of: block)
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
            for zone in block.sharedZones {
                try check(zone.position)
                guard database.id.scope == .private,
                    database.sharedZones.load(
                        .init(
                            zone: zone.zone, position: zone.position, isEnded: zone.isEnded, earlierEnd: zone.earlierEnd
                        ))
                else { throw Problem(text: "a zone of another user stands there that the server would not have kept") }
            }
            for zone in block.askedZones {
                guard database.id.scope == .private, database.sharedZones.asked.count < Limits.askedZonesPerUser else {
                    throw Problem(text: "more zones of other users were asked for than the server would have let")
                }
                database.sharedZones.ask(zone)
            }
            for statement in block.statements {
                guard database.id.scope == .private, database.statements.append(statement) else {
                    throw Problem(text: "a statement stands there that the server would not have kept")
                }
            }
            for replaced in block.replacedStatements {
                guard database.id.scope == .private, database.statements.note(replaced) else {
                    throw Problem(text: "more statements are replaced than the server would have replaced")
                }
            }
            for entry in block.ringEntries {
                guard database.id.scope == .private, database.zoneIndexOfIncarnation[entry.zone] != nil,
                    database.rings.append(entry.entry, zone: entry.zone, root: entry.root)
                else { throw Problem(text: "an entry of a ring stands there that the server would not have kept") }
            }
            try addOthers(of: block)
            for operation in block.operations {
                database.remember(
                    operation: operation.id, encoded: operation.outcome, digest: operation.digest, user: operation.user)
            }
            return nil
        } catch {
            return error.text
        }
    }

    /// Builds the look-ups and feeds, which completes the database.
    package func finish(with threads: LoadThreads = .one) -> Result<Database, Problem> {
        guard hasDefaultZone else { return .failure(Problem(text: "the default zone is missing")) }
        for index in database.zoneStates.indices {
            if let problem = database.zoneStates[index].finishLoading(with: threads) {
                return .failure(Problem(text: problem))
            }
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
        database.referenceLoadedAssets()
        return .success(database)
    }

    private func add(_ zone: SnapshotZone) throws(Problem) {
        try check(zone.lastChange)
        guard zone.floor <= zone.lastChange else { throw Problem(text: "a zone's floor is behind its last change") }
        var state = ZoneState(
            name: zone.name, incarnation: zone.zone, lastChange: zone.lastChange, floor: zone.floor,
            isPublic: database.id.scope == .public)
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
        // It is the position of the zone's creation, and that of no later zone.
        guard zone.zone <= zone.lastChange.rawValue else {
            throw Problem(text: "a zone was changed before it was made")
        }
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
        guard zone.position > .start else { throw Problem(text: "a zone was deleted before the first commit") }
        counts.deletedZones += 1
        // Nobody asks for a deleted zone's incarnation; it must not be 0.
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
        database.zoneStates.append(.forgotten)
        database.withZone(at: index) { $0 = state }
        database.zoneIndexOfName[state.name] = index
        return index
    }

    private func addTrees(of block: SnapshotBlock) throws(Problem) {
        func change(_ zone: UInt64, _ change: (inout SharedTrees) -> Bool) throws(Problem) {
            guard zone != 0, database.id.scope == .private, let index = database.zoneIndexOfIncarnation[zone] else {
                throw Problem(text: "records are shared where there is no zone")
            }
            guard database.withZone(at: index, { change(&$0.trees) }) else {
                throw Problem(text: "something stands there of shared records that the server would not have written")
            }
        }
        for tree in block.trees {
            try check(tree.since)
            try check(tree.departureFloor)
            try change(tree.zone) { $0.load(SharedTree(tree), number: tree.number) }
        }
        for member in block.treeMembers {
            for part in member.ended { try check(part.end) }
            try check(member.floor)
            try change(member.zone) { $0.load(TreeMember(member), user: member.user) }
        }
        for departure in block.departures {
            try check(departure.position)
            try check(departure.entered)
            try change(departure.zone) { $0.load(SharedTree.Departure(departure), tree: departure.tree) }
        }
    }

    /// Adds what is known beside rings of users who do not own the zone.
    private func addOthers(of block: SnapshotBlock) throws(Problem) {
        let owner = database.id.owner
        for kept in block.ringStatements {
            guard database.id.scope == .private, kept.user != owner,
                database.rings.append(statement: kept.statement, chain: kept.chain, of: kept.user, zone: kept.zone)
            else { throw Problem(text: "a statement stands beside a ring that the server would not have kept") }
        }
        for unnamed in block.ringUsersUnnamed {
            guard database.rings.setNamed(false, unnamed.users, zone: unnamed.zone) else {
                throw Problem(text: "users whom no ring names have no statements beside it")
            }
        }
        for selected in block.ringChains {
            guard database.rings.select(chain: selected.chain, of: selected.user, zone: selected.zone) else {
                throw Problem(text: "a user has other keys beside a ring than the server would have kept")
            }
        }
        for guest in block.ringGuests {
            guard database.rings.put(guest.guest, zone: guest.zone, root: guest.root) else {
                throw Problem(text: "somebody asks for a ring's keys whom the server would not have kept")
            }
        }
    }

    private func check(_ position: ChangePosition) throws(Problem) {
        guard position.sequence <= sequence else {
            throw Problem(text: "a change is behind the snapshot's last commit")
        }
    }
}
