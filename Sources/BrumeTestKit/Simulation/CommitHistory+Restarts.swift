internal import BrumeModel
internal import BrumeStore

/// Checks of what starts and restores find.
extension CommitHistory {
    /// Checks what a restart found against the commits; returns what is wrong.
    func recovered(_ id: DatabaseID, _ database: Database?, epoch: UInt32) -> String? {
        let sequence = database?.sequence ?? 0
        guard var timeline = timelines[id] else { return nil }
        acknowledgedChecked += Int(min(timeline.seen, sequence))
        if sequence < timeline.seen {
            return "I1: commit \(timeline.seen) was seen by a client, a restart found \(sequence) commits"
        }
        if sequence > timeline.last { return "I1: a restart found commit \(sequence), \(timeline.last) were made" }
        timeline.cut(to: sequence)
        // The folder may have been made anew, if nothing of the first one had become durable.
        if sequence == 0 { timeline.states[0].runs = [DatabaseRun(firstSequence: 0, id: epoch)] }
        timelines[id] = timeline
        return database.flatMap { difference(of: $0, in: timeline, at: sequence) }
    }

    /// How a database differs from what commit `sequence` left; nil if it doesn't.
    func difference(of database: Database, in timeline: Timeline, at sequence: UInt64) -> String? {
        let state = timeline.states[Int(sequence)]
        if Set(database.zones.map(\.id.name)) != Set(state.zones.keys) {
            return "I2: the zones are not those of commit \(sequence)"
        }
        for (name, zone) in state.zones.sorted(by: { $0.key < $1.key }) {
            let names = zone.records.keys.sorted()
            let found = database.fetchRecords(
                FetchRecordsRequest(database: database.id.scope, zones: [.init(zone: ZoneID(name: name), names: names)])
            )[0]
            for (record, outcome) in zip(names, found) {
                guard case .record(let bytes) = outcome, let decoded = Self.decode(bytes),
                    decoded.system.changeTag == zone.records[record]!.tag,
                    decoded.fields == zone.records[record]!.fields
                else { return "I1: \(record) of \(name) is not as commit \(sequence) left it" }
            }
        }
        let count = state.zones.values.reduce(0) { $0 + $1.records.count }
        if database.recordCount != count {
            return "I2: there are \(database.recordCount) records after commit \(sequence), not \(count)"
        }
        let bytes = state.zones.values.reduce(0) { $0 + $1.records.values.reduce(0) { $0 + $1.byteCount } }
        if database.storedBytes != bytes { return "I9: \(database.storedBytes) bytes are counted, not \(bytes)" }
        let known = Set(
            database.subscriptions.map { CommitHistory.SubscriptionKey(owner: $0.owner, id: $0.id) })
        if known != Set(state.subscriptions.keys) {
            return "I1: the subscriptions are not those of commit \(sequence)"
        }
        if database.statements.all != state.statements || database.statements.replaced != state.replaced {
            return "I1: the statements are not those of commit \(sequence)"
        }
        if !areRings(of: database, as: state) { return "I1: the rings are not those of commit \(sequence)" }
        for zone in state.zones.values where !isBesideRings(of: zone.incarnation, database, as: state) {
            return "I1: what is beside the rings of a zone is not what commit \(sequence) left there"
        }
        return nil
    }

    private func areRings(of database: Database, as state: State) -> Bool {
        var found: [UInt64: [String: [SharedBytes]]] = [:]
        database.rings.forEachEntry { zone, root, entry in
            found[zone, default: [:]][root, default: []].append(entry)
        }
        return found == state.rings.mapValues(\.entries)
    }

    /// Whether a database has beside the rings of a zone what a commit left there: of each user of the simulation
    /// their statements, and of each ring its guests.
    private func isBesideRings(of zone: UInt64, _ database: Database, as state: State) -> Bool {
        let kept = state.rings[zone] ?? KeptRings()
        let areStatements = Set(databases.map(\.owner)).union(kept.statements.keys).allSatisfy { user in
            let found = database.rings.statements(of: user, inZone: zone)
            return found.all.map { KeptRings.KeptStatement(chain: $0.chain, bytes: $0.bytes) }
                == kept.statements[user] ?? [] && found.current == kept.chains[user] ?? 0
        }
        return areStatements
            && kept.entries.keys.allSatisfy { root in
                database.rings.guests(ofZone: zone, root: root)
                    == (kept.guests[root] ?? [:]).values.sorted { $0.user < $1.user }
            }
    }

    // MARK: Backups

    /// Checks a backup. Returns its databases, each up to a commit; nil, after noting a violation, if it is not what it
    /// should be.
    ///
    /// - Parameter seen: What clients had seen of each database when the backup began.
    func checkBackup(_ databases: [DatabaseID: Database], seen: [DatabaseID: UInt64]) -> [DatabaseID: Timeline]? {
        var copies: [DatabaseID: Timeline] = [:]
        for id in self.databases {
            let sequence = databases[id]?.sequence ?? 0
            var timeline = timelines[id]!
            if sequence < seen[id] ?? 0 || sequence > timeline.last {
                fail("F21: a backup has commit \(sequence); \(seen[id] ?? 0) had been seen, \(timeline.last) were made")
                return nil
            }
            timeline.cut(to: sequence)
            copies[id] = timeline
            if let problem = databases[id].flatMap({ difference(of: $0, in: timeline, at: sequence) }) {
                fail("F21: in a backup: " + problem)
                return nil
            }
        }
        return copies
    }

    /// Puts a backup in the folder's place: everything after its commits never happened.
    func restored(_ backup: [DatabaseID: Timeline]) {
        for (id, copy) in backup {
            var timeline = copy
            timeline.era = timelines[id]!.era + 1
            timeline.restoredAt = copy.last
            timeline.seen = copy.last
            timelines[id] = timeline
        }
    }
}

extension CommitHistory.Timeline {
    /// Forgets what came after a commit.
    mutating func cut(to sequence: UInt64) {
        states.removeSubrange(Int(sequence + 1)...)
        commits.removeSubrange(Int(sequence + 1)...)
        databaseTouches.removeAll { $0.sequence > sequence }
        zoneTouches = zoneTouches.mapValues { touches in touches.filter { $0.sequence <= sequence } }
        sequenceOfOperation = sequenceOfOperation.filter { $0.value <= sequence }
        sequenceOfTag = sequenceOfTag.filter { $0.value <= sequence }
    }
}
