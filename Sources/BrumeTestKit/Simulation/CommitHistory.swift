internal import BrumeModel
internal import BrumeStore
internal import BrumeWire

/// Every commit of every database as it went to the journal, and what each of them made of the data, told plainly: the truth
/// that all that clients see is held against.
final class CommitHistory {
    struct Version: Equatable {
        var tag: String
        var fields: [String: FieldValue]
        var parent: String?
        var type: String
    }

    struct Zone {
        var incarnation: UInt64
        var records: [String: Version] = [:]
    }

    /// What a database holds after a commit.
    struct State {
        var zones: [String: Zone] = [Names.defaultZone: Zone(incarnation: 0)]
        var subscriptions: [String: Subscription] = [:]
    }

    /// A change in a feed: of a record in its zone's, of a zone in its database's.
    struct Touch {
        var position: UInt64
        var name: String
        var isDeleted: Bool
        var tag: String
        var sequence: UInt64 { position >> 20 }
    }

    struct Timeline {
        /// By sequence; the first one is the empty database.
        var states: [State] = [State()]
        /// By sequence; which operation's commit it is, and what it touched.
        var commits: [Commit] = [Commit()]
        var zoneTouches: [UInt64: [Touch]] = [:]
        var databaseTouches: [Touch] = []
        var sequenceOfOperation: [[UInt8]: UInt64] = [:]
        /// The last commit that some client has seen something of.
        var seen: UInt64 = 0

        var last: UInt64 { UInt64(states.count - 1) }
    }

    struct Commit {
        var operation: [UInt8] = []
        var answer: [UInt8] = []
        /// Subscriptions that it fires.
        var fires: [String] = []
        /// The device that asked for it.
        var origin: [UInt8] = []
    }

    private var timelines: [DatabaseID: Timeline] = [:]
    /// What clients asked for, by the id that the server keeps it under.
    private var requests: [[UInt8]: OperationRequest] = [:]
    private(set) var violation: String?
    private(set) var commitCount = 0
    private(set) var acknowledgedChecked = 0

    var databases: [DatabaseID] {
        timelines.keys.sorted { ($0.container, $0.owner) < ($1.container, $1.owner) }
    }

    func add(_ id: DatabaseID) {
        if timelines[id] == nil { timelines[id] = Timeline() }
    }

    subscript(id: DatabaseID) -> Timeline { timelines[id]! }

    // MARK: What clients ask for and see

    func asked(_ request: OperationRequest) { requests[request.key] = request }

    func saw(_ sequence: UInt64, of id: DatabaseID) {
        timelines[id]!.seen = max(timelines[id]!.seen, sequence)
    }

    // MARK: Commits

    /// A commit goes to the journal.
    func submitted(_ bytes: [UInt8]) {
        let decoded = bytes.withUnsafeBytes { buffer in
            Result { () throws(StoreCodingError) in try StoreCoder.decodeJournalEntry(buffer) }
        }
        guard case .success(let entry) = decoded else { return fail("an entry of the journal can't be decoded") }
        commitCount += 1
        apply(entry)
    }

    private func fail(_ text: String) {
        if violation == nil { violation = text }
    }

    private func apply(_ entry: JournalEntry) {
        let id = entry.database
        add(id)
        let timeline = timelines[id]!
        guard entry.sequence == timeline.last + 1 else {
            return fail("I3: commit \(entry.sequence) follows on \(timeline.last)")
        }
        let before = timeline.states[timeline.states.count - 1]
        var state = before
        var commit = Commit(operation: entry.operationID, answer: entry.operationAnswer)
        var touchedZones: [String: (position: UInt64, isDeleted: Bool, types: Set<String>)] = [:]
        var index: UInt64 = 0
        var puts: [(zone: String, name: String)] = []
        var gone: [(zone: String, name: String)] = []
        for change in entry.changes {
            let position = entry.sequence << 20 | index
            switch change {
            case .recordPut(let incarnation, let bytes):
                guard let zone = state.name(of: incarnation), let record = Self.decode(bytes) else {
                    return fail("a commit puts a record into a zone that does not exist")
                }
                let version = Version(
                    tag: record.system.changeTag, fields: record.fields, parent: record.system.parent,
                    type: record.system.type)
                state.zones[zone]!.records[record.system.name] = version
                timelines[id]!.zoneTouches[incarnation, default: []].append(
                    Touch(position: position, name: record.system.name, isDeleted: false, tag: version.tag))
                touchedZones[zone, default: (0, false, [])].position = position
                touchedZones[zone]!.types.insert(version.type)
                puts.append((zone, record.system.name))
                index += 1
            case .recordDeletion(let incarnation, let name, let type):
                guard let zone = state.name(of: incarnation) else {
                    return fail("a commit deletes a record of a zone that does not exist")
                }
                if state.zones[zone]!.records.removeValue(forKey: name) == nil {
                    return fail("a commit deletes a record that does not exist")
                }
                timelines[id]!.zoneTouches[incarnation, default: []].append(
                    Touch(position: position, name: name, isDeleted: true, tag: ""))
                touchedZones[zone, default: (0, false, [])].position = position
                touchedZones[zone]!.types.insert(type)
                gone.append((zone, name))
                index += 1
            case .zoneCreation(let incarnation, let name):
                state.zones[name] = Zone(incarnation: incarnation)
                touchedZones[name, default: (0, false, [])].position = position
                touchedZones[name]!.isDeleted = false
                index += 1
            case .zoneDeletion(_, let name, _):
                state.zones[name] = nil
                touchedZones[name, default: (0, false, [])].position = position
                touchedZones[name]!.isDeleted = true
                index += 1
            case .subscriptionPut(let subscription): state.subscriptions[subscription.id] = subscription
            case .subscriptionDeletion(let name): state.subscriptions[name] = nil
            }
        }
        for (name, touched) in touchedZones.sorted(by: { $0.value.position < $1.value.position })
        where name != Names.defaultZone {
            timelines[id]!.databaseTouches.append(
                Touch(position: touched.position, name: name, isDeleted: touched.isDeleted, tag: ""))
        }
        for subscription in state.subscriptions.values {
            let isFired: Bool
            switch subscription.kind {
            case .zone(let zone, let type):
                isFired =
                    touchedZones[zone.name].map { $0.isDeleted || type.isEmpty || $0.types.contains(type) } ?? false
            case .database(let type):
                isFired = touchedZones.contains {
                    $0.key != Names.defaultZone && ($0.value.isDeleted || type.isEmpty || $0.value.types.contains(type))
                }
            }
            if isFired { commit.fires.append(subscription.id) }
        }
        if !entry.operationID.isEmpty {
            guard let request = requests[entry.operationID] else {
                return fail("I11: commit \(entry.sequence) is the effect of an operation that nobody asked for")
            }
            if let earlier = timeline.sequenceOfOperation[entry.operationID] {
                return fail("I11: commits \(earlier) and \(entry.sequence) are effects of one operation")
            }
            commit.origin = request.device
            timelines[id]!.sequenceOfOperation[entry.operationID] = entry.sequence
            checkSaves(of: request, puts: puts, before: before, after: state)
        }
        checkReferences(puts: puts, gone: gone, before: before, after: state)
        timelines[id]!.states.append(state)
        timelines[id]!.commits.append(commit)
    }

    /// I6: a save that names a tag wins only against the version with that tag; and what is saved is what was asked for, on top
    /// of what was there.
    private func checkSaves(
        of request: OperationRequest, puts: [(zone: String, name: String)], before: State, after: State
    ) {
        for (zone, name) in puts {
            guard let save = request.saves[zone]?[name] else { continue }
            let old = before.zones[zone]?.records[name]
            let new = after.zones[zone]?.records[name]
            if request.policy == .ifServerRecordUnchanged, old?.tag ?? "" != save.changeTag {
                fail("I6: \(name) was saved with tag '\(save.changeTag)' over '\(old?.tag ?? "")'")
            }
            var expected = old?.fields ?? [:]
            for (key, value) in save.fields { expected[key] = value }
            // A cascade of the same batch may have taken it.
            if let new, new.fields != expected { fail("I6: \(name) does not hold what was saved") }
        }
    }

    /// I12: nobody's parent is missing who had one, and nothing that goes with a record stays when that goes.
    private func checkReferences(
        puts: [(zone: String, name: String)], gone: [(zone: String, name: String)], before: State, after: State
    ) {
        for (zone, name) in gone {
            guard let records = after.zones[zone]?.records, records[name] == nil else { continue }
            for (other, version) in records {
                if version.parent == name { fail("I12: \(other) lost its parent \(name)") }
                for case .reference(let reference) in version.fields.values
                where reference.deletesSelf && reference.recordName == name {
                    fail("I12: \(other) stayed though \(name) went")
                }
            }
        }
        for (zone, name) in puts {
            guard let records = after.zones[zone]?.records, let parent = records[name]?.parent else { continue }
            if records[parent] == nil { fail("I12: \(name) was saved with a parent \(parent) that is missing") }
        }
    }

    // MARK: Restarts

    /// Holds what a restart found against the commits; returns what is wrong.
    func recovered(_ id: DatabaseID, _ database: Database?) -> String? {
        let sequence = database?.sequence ?? 0
        guard var timeline = timelines[id] else { return nil }
        acknowledgedChecked += Int(min(timeline.seen, sequence))
        if sequence < timeline.seen {
            return "I1: commit \(timeline.seen) was seen by a client, a restart found \(sequence) commits"
        }
        if sequence > timeline.last { return "I1: a restart found commit \(sequence), \(timeline.last) were made" }
        timeline.states.removeSubrange(Int(sequence + 1)...)
        timeline.commits.removeSubrange(Int(sequence + 1)...)
        timeline.databaseTouches.removeAll { $0.sequence > sequence }
        timeline.zoneTouches = timeline.zoneTouches.mapValues { touches in touches.filter { $0.sequence <= sequence } }
        timeline.sequenceOfOperation = timeline.sequenceOfOperation.filter { $0.value <= sequence }
        timelines[id] = timeline
        guard let database else { return nil }
        let state = timeline.states[Int(sequence)]
        if Set(database.zones.map(\.id.name)) != Set(state.zones.keys) { return "I2: a restart found other zones" }
        for (name, zone) in state.zones.sorted(by: { $0.key < $1.key }) {
            let names = zone.records.keys.sorted()
            let found = database.fetchRecords(
                FetchRecordsRequest(database: id.scope, zones: [.init(zone: ZoneID(name: name), names: names)]))[0]
            for (record, outcome) in zip(names, found) {
                guard case .record(let bytes) = outcome, let decoded = Self.decode(bytes),
                    decoded.system.changeTag == zone.records[record]!.tag,
                    decoded.fields == zone.records[record]!.fields
                else { return "I1: a restart found \(record) of \(name) other than commit \(sequence) left it" }
            }
        }
        let count = state.zones.values.reduce(0) { $0 + $1.records.count }
        if database.recordCount != count { return "I2: a restart found \(database.recordCount) records, not \(count)" }
        if Set(database.subscriptions.map(\.id)) != Set(state.subscriptions.keys) {
            return "I1: a restart found other subscriptions"
        }
        return nil
    }

    static func decode(_ bytes: [UInt8]) -> Record? {
        let result = bytes.withUnsafeBytes { buffer in
            Result { () throws(ServiceError) in try StoredRecord.decode(buffer) }
        }
        return try? result.get()
    }
}

extension CommitHistory.State {
    func name(of incarnation: UInt64) -> String? {
        zones.first { $0.value.incarnation == incarnation }?.key
    }
}

/// What a client asked for, as it meant it.
struct OperationRequest {
    /// What the server keeps the operation under.
    var key: [UInt8]
    var device: [UInt8]
    var database: DatabaseID
    var policy = SavePolicy.ifServerRecordUnchanged
    var isAtomic = false
    /// By zone and name.
    var saves: [String: [String: RecordSave<DecodedFields>]] = [:]
    /// What the database's clients had seen when it was sent first.
    var seen: UInt64 = 0
}
