internal import BrumeEncryption
internal import BrumeModel
internal import BrumeRecord
internal import BrumeStore

/// Every commit of every database as it went to the journal, and what each of them made of the data, written plainly:
/// the truth that everything clients see is checked against.
final class CommitHistory {
    let limits: HistoryLimits
    var timelines: [DatabaseID: Timeline] = [:]
    /// The number of the commit that each change token named when it was given.
    private var commitOfToken: [[UInt8]: Int] = [:]
    /// What clients asked for, by the id that the server keeps it under.
    private var requests: [[UInt8]: OperationRequest] = [:]
    private(set) var violation: String?
    private(set) var commitCount = 0
    var acknowledgedChecked = 0

    init(limits: HistoryLimits) {
        self.limits = limits
    }

    var databases: [DatabaseID] {
        timelines.keys.sorted { ($0.container, $0.owner) < ($1.container, $1.owner) }
    }

    func add(_ id: DatabaseID) {
        if timelines[id] == nil { timelines[id] = Timeline() }
    }

    subscript(id: DatabaseID) -> Timeline { timelines[id]! }

    // MARK: What clients ask for and see

    /// Devices of accounts without a valid token, which the server has said to be through with, and the last commits of
    /// that moment: none of their operations may become a later one.
    private var silencedDevices: [[UInt8]: [DatabaseID: UInt64]] = [:]

    /// Notes that a device's operations become no commits any more, beyond those in the memory of the server.
    func silence(_ device: [UInt8], inMemory: [DatabaseID: UInt64]) {
        silencedDevices[device] = timelines.mapValues { $0.last }.merging(inMemory, uniquingKeysWith: max)
    }

    func allow(_ device: [UInt8]) { silencedDevices[device] = nil }

    func mayCommit(_ device: [UInt8], sequence: UInt64, in id: DatabaseID) -> Bool {
        silencedDevices[device].map { sequence <= $0[id] ?? 0 } ?? true
    }

    var ringFacts = RingFacts()
    /// Takes all rings for ones that leave no assets plain: their devices break that promise.
    var takesRingsForEncrypting = false
    /// Values and stamps of which the keys were checked.
    var encryptedChecked = 0
    /// Those of them that are of a shared tree's key.
    var encryptedInTreesChecked = 0
    /// Fields with encrypted assets in records that commits put.
    var encryptedAssetHolders = 0
    /// Fields with plain assets of records that commits put into zones whose assets are encrypted.
    var plainAssetsKept = 0

    /// What devices sent of their keys.
    var sentStatements: [[UInt8]: [SentStatement]] = [:]

    func asked(_ request: OperationRequest) { requests[request.key] = request }

    func saw(_ sequence: UInt64, of id: DatabaseID) {
        timelines[id]!.seen = max(timelines[id]!.seen, sequence)
    }

    /// Notes that a device was given a change token.
    func gave(_ token: [UInt8], of id: DatabaseID) {
        guard let place = PeekedToken(token), let timeline = timelines[id], place.horizon <= timeline.last else {
            return fail("I1: a token names a commit that was never made or is lost")
        }
        commitOfToken[token] = timeline.commits[Int(place.horizon)].number
    }

    /// Whether a token names a commit that is lost since a backup was restored.
    func isLost(_ token: [UInt8], of id: DatabaseID) -> Bool {
        guard let place = PeekedToken(token), let number = commitOfToken[token] else { return false }
        let timeline = timelines[id]!
        return place.horizon > timeline.last || timeline.commits[Int(place.horizon)].number != number
    }

    // MARK: Commits

    /// Takes a commit that goes to the journal.
    func submitted(_ bytes: [UInt8]) {
        guard let entry = Self.decodeEntry(bytes) else { return fail("an entry of the journal can't be decoded") }
        commitCount += 1
        apply(entry)
    }

    func fail(_ text: String) {
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
        state.note(run: entry.run, sequence: entry.sequence, limit: limits.runs)
        var commit = Commit(operation: entry.operationID, outcome: entry.operationOutcome)
        commit.number = commitCount
        var touchedZones: [String: (position: UInt64, isDeleted: Bool, types: Set<String>)] = [:]
        var index: UInt64 = 0
        var matcher = QueryPushes(state.subscriptions)
        var puts: [(zone: String, name: String)] = []
        var gone: [(zone: String, name: String)] = []
        for change in entry.changes {
            let position = entry.sequence << 20 | index
            switch change {
            case .recordPut(let incarnation, let bytes):
                guard let zone = state.name(of: incarnation), let record = Self.decode(bytes) else {
                    return fail("a commit puts a record into a zone that does not exist")
                }
                var version = Version(record, share: Self.share(bytes), at: position, byteCount: bytes.count)
                let former = state.zones[zone]!.records[record.system.name]
                let isNew = former == nil
                // What a ring is of stays as it is, and is fetched again.
                let isTouch = former?.record == record && entry.changesRings
                // A share whose last changes were not shown to all stays where these found it, but where somebody was
                // taken in.
                let isQuiet =
                    isTouch
                    ? !entry.isOfRingEntry && version.share?.shown != nil
                    : former.map { version.isQuietChange(of: $0) } ?? false
                if isQuiet || isTouch, let former { version.shownTag = former.shownTag }
                if !isTouch { matcher.changed(record, in: zone, isNew ? .created : .updated) }
                checkKeys(of: version, over: former, in: zone, before: before, by: entry.participant)
                checkPlainAssets(of: version, over: former, in: zone, before: before)
                state.zones[zone]!.put(version, record.system.name)
                timelines[id]!.zoneTouches[incarnation, default: []].append(
                    Touch(
                        position: position, name: record.system.name, isDeleted: false, tag: version.tag,
                        shownTag: version.shownTag, isQuiet: isQuiet))
                let known = timelines[id]!.sequenceOfTag[version.tag]
                timelines[id]!.sequenceOfTag[version.tag] = known ?? entry.sequence
                // Requests for access leave a share's tag as it is.
                let isAskedFor = version.share != nil && former?.record == record
                if let known, known != entry.sequence, !isAskedFor, !isTouch {
                    return fail("I1: commits \(known) and \(entry.sequence) have one change tag, \(version.tag)")
                }
                touchedZones[zone, default: (0, false, [])].position = position
                touchedZones[zone]!.types.insert(version.type)
                puts.append((zone, record.system.name))
                index += 1
            case .recordDeletion(let incarnation, let name, let type):
                guard let zone = state.name(of: incarnation) else {
                    return fail("a commit deletes a record of a zone that does not exist")
                }
                if let last = state.zones[zone]!.records[name] { matcher.changed(last.record, in: zone, .deleted) }
                guard state.deleteRecord(name, of: zone, at: position, limits: limits) else {
                    return fail("a commit deletes a record that does not exist")
                }
                timelines[id]!.zoneTouches[incarnation, default: []].append(
                    Touch(position: position, name: name, isDeleted: true, tag: ""))
                touchedZones[zone, default: (0, false, [])].position = position
                touchedZones[zone]!.types.insert(type)
                gone.append((zone, name))
                index += 1
            case .zoneCreation(let incarnation, let name):
                state.makeZone(name, incarnation: incarnation)
                touchedZones[name, default: (0, false, [])].position = position
                touchedZones[name]!.isDeleted = false
                index += 1
            case .zoneDeletion(_, let name, _):
                for record in state.zones[name]?.records.values.map(\.record) ?? [] {
                    matcher.changed(record, in: name, .deleted, isOfZone: true)
                }
                state.deleteZone(name, at: position)
                touchedZones[name, default: (0, false, [])].position = position
                touchedZones[name]!.isDeleted = true
                index += 1
            case .subscriptionPut(let subscription):
                state.subscriptions[.init(owner: subscription.owner, id: subscription.id)] = subscription
            case .subscriptionDeletion(let name, let owner):
                state.subscriptions[.init(owner: owner, id: name)] = nil
            case .sharedZoneAsked, .sharedZoneAnswered, .sharedZonePut, .sharedZoneEnd: break
            case .statement, .statementsReplaced, .statementsEnd:
                if let problem = take(change, of: entry, into: &state) { return fail(problem) }
            case .ringEntry, .ringsEnd:
                if let problem = take(ring: change, of: entry, into: &state) { return fail(problem) }
            case .ringStatement, .ringChain, .ringGuest, .ringGuestEnd, .ringUsersUnnamed, .ringUsersNamed,
                .ringUsersEnd:
                if let problem = take(besideRings: change, of: entry, into: &state) { return fail(problem) }
            }
        }
        if let problem = problemWithRings(of: entry, before: before, after: state) { fail(problem) }
        commit.origin = originOfRingEntry(in: entry)
        state.forgetDeletedZones(limit: limits.deletedZones)
        commit.zones = Set((puts + gone).map(\.zone))
        for zone in commit.zones { state.zones[zone]?.noteTreeMembers() }
        for (name, touched) in touchedZones.sorted(by: { $0.value.position < $1.value.position })
        where name != Names.defaultZone {
            timelines[id]!.databaseTouches.append(
                Touch(position: touched.position, name: name, isDeleted: touched.isDeleted, tag: ""))
        }
        commit.pushes = matcher.pushes
        if let problem = matcher.problem(after: state.subscriptions, in: entry) { return fail(problem) }
        // A zone's own subscriptions report its end, and go with it.
        let hinted = before.subscriptions.merging(state.subscriptions) { $1 }
        for (key, subscription) in hinted where id.scope == .public || key.owner.isEmpty {
            let isFired: Bool
            switch subscription.kind {
            case .zone(let zone, let type):
                guard state.subscriptions[key] != nil || touchedZones[zone.name]?.isDeleted == true else { continue }
                isFired =
                    touchedZones[zone.name].map { $0.isDeleted || type.isEmpty || $0.types.contains(type) } ?? false
            case .database(let type):
                guard state.subscriptions[key] != nil else { continue }
                isFired = touchedZones.contains {
                    $0.key != Names.defaultZone && ($0.value.isDeleted || type.isEmpty || $0.value.types.contains(type))
                }
            case .query: isFired = false
            }
            if isFired { commit.pushes[key.owner, default: []].insert(.hint(subscription: subscription.id)) }
        }
        if !entry.operationID.isEmpty {
            guard let request = requests[entry.operationID] else {
                return fail("I11: commit \(entry.sequence) is the effect of an operation that nobody asked for")
            }
            if !mayCommit(request.device, sequence: entry.sequence, in: id) {
                return fail("I7: commit \(entry.sequence) was made for an account after its revocation was reported")
            }
            if let earlier = timeline.sequenceOfOperation[entry.operationID] {
                return fail("I11: commits \(earlier) and \(entry.sequence) are effects of one operation")
            }
            commit.origin = request.device
            timelines[id]!.sequenceOfOperation[entry.operationID] = entry.sequence
            checkSaves(of: request, puts: puts, before: before, after: state)
        }
        checkAssets(of: puts, receipts: requests[entry.operationID]?.receipts ?? [:], before: before, after: state)
        checkReferences(
            by: entry.participant, puts: puts, gone: gone, before: before, after: state)
        checkShares(in: commit.zones, after: state)
        timelines[id]!.states.append(state)
        timelines[id]!.commits.append(commit)
    }

    /// The last commit of each database, for people.
    var lastCommits: String {
        databases.map { "\($0.scope) \($0.owner) \(timelines[$0]!.last)" }.joined(separator: ", ")
    }
}
