package import BrumeModel

/// One page of a query in the making, in steps between which the loop does other work.
///
/// First the indexes that are worth it are built, where they are missing. Then the records are read. The answer is that
/// of one moment: the database as ``sequence`` left it, however many commits follow before the last step. The records
/// of that moment stay as they are, because commits leave what others hold (``RecordSlots``); indexes move on, so
/// records that change meanwhile are skipped in them and read one by one. So an atomic batch is seen whole or not at
/// all. The answer may be given when the commit ``sequence`` is durable.
package final class QueryRun {
    /// The most units of one step. What cost nothing a moment ago may cost a hundred times as much now: first numbers
    /// are counted, then texts are cut into words. So many units of the latter take about a millisecond.
    package static let stepUnits = 64

    private enum Phase {
        /// Makes the indexes of one zone after the other.
        case building(zone: Int)
        case scanning
    }

    let database: Database
    let query: Query
    /// The user who is shown the records.
    private let user: String
    /// The user, where they do not own the zone.
    let guest: String?
    /// The owner of the zones in the answer; empty where they are the caller's own.
    private let zoneOwner: String
    private let pageLimit: Int
    private let desiredKeys: DesiredKeys?
    let evaluator: PredicateEvaluator
    private(set) var planner: ZonePlanner
    /// Unchecked, like the other properties of the loop over records: the check takes longer than the access, and
    /// nothing that is called with one of them calls back into the run.
    @exclusivity(unchecked) var collector: MatchCollector

    /// The sequence number of the last commit that the answer shows. It may grow until ``isReading``.
    package private(set) var sequence: UInt64
    /// The zone that was asked for, as it was when the run began; nil for all zones, and once the moment is fixed.
    private var beginning: QueryTarget?
    /// Which zones are read: until ``isReading`` those that get indexes, as they are by then.
    @exclusivity(unchecked) private var moment: QueryMoment
    /// Zones that are read, or were, in the order of ``moment``.
    @exclusivity(unchecked) private(set) var targets: [QueryTarget] = []
    private var phase = Phase.building(zone: 0)
    /// Which of the zones is being read.
    var targetIndex = 0
    @exclusivity(unchecked) var scan: ZoneScan?

    /// The record whose evaluation took more than a step had left.
    @exclusivity(unchecked) var heldLook: HeldLook?
    /// Records that were found and wait for that one.
    @exclusivity(unchecked) var waitingLooks: [Look] = []

    private var builtIndexes: [IndexID] = []
    private var indexEffort = IndexEffort()
    /// The index that was still wanted when the effort was no longer worth it.
    private var abandonedIndex: IndexID?
    var scanSteps: [String] = []
    /// Parts of the predicate that the records of the first zone are asked for.
    var partsAsked: [Int]?
    /// The sum of what the plans of the zones expect.
    var recordsEstimated = 0
    @exclusivity(unchecked) var entriesRead = 0
    @exclusivity(unchecked) var recordsRead = 0
    /// The key of the entry that was read last, if it does not tell values apart, and how many stood under it so far.
    @exclusivity(unchecked) var tie: (key: PostingTree.Key, count: Int) = (0, 0)
    @exclusivity(unchecked) var mostTied = 0
    /// More than these are worth a sentence in a plan.
    private static let fewTied = 100
    private var slices = 0
    /// The database's sequence when sources were last placed: commits change indexes, and so does what they leave for
    /// later.
    private var placedSequence: UInt64 = 0
    private var placedBacklogSteps: UInt64 = 0
    /// Keeps the compiler from removing reads that only bring records into the caches.
    @exclusivity(unchecked) var touched: UInt8 = 0
    /// Set when the run is finished.
    package private(set) var results: QueryResults?

    init(
        _ database: Database, query: Query, zone: ZoneID?, after: QueryCursor?, resultsLimit: Int,
        desiredKeys: DesiredKeys?, searchableFields: SearchableFields, caller: Caller
    ) {
        user = caller.user
        guest = database.isOwn(caller) ? nil : caller.user
        zoneOwner = database.isOwn(caller) ? "" : database.id.owner
        self.database = database
        self.query = query
        self.desiredKeys = desiredKeys
        pageLimit = min(resultsLimit > 0 ? resultsLimit : Limits.matchesPerPage, Limits.matchesPerPageMax)
        evaluator = PredicateEvaluator(
            query.predicate, alsoReading: query.sortDescriptors.map(\.key), searchableFields: searchableFields,
            breaker: database.wordBreaker)
        collector = MatchCollector(
            order: SortOrder(query.sortDescriptors, evaluator), after: after, pageLimit: pageLimit)
        planner = ZonePlanner(
            query: query,
            paths: AccessBuilder(
                recordType: query.recordType, searchableFields: searchableFields, breaker: database.wordBreaker
            ).paths(for: query.predicate), rowLimit: pageLimit + 1, after: after)
        sequence = database.sequence
        if let zone {
            beginning = (try? database.zoneIndex(of: zone).get()).map {
                [guest] in QueryTarget(database, zoneAt: $0, guest: guest)
            }
            moment = QueryMoment(zones: beginning.map { [$0.incarnation] } ?? [], guest: guest)
        } else {
            moment = QueryMoment(zones: database.populatedZones, guest: nil)
        }
        // Time would tell of what is not shared, and of what the owner asks.
        if beginning?.guestTrees != nil { phase = .building(zone: moment.zones.count) }
        evaluator.fields.isGuests = guest != nil
        if let guest, let zone, case .success(let index) = database.zoneIndex(of: zone) {
            evaluator.fields.managedShares = database.zoneStates[index].shares(managedBy: guest)
        }
    }

    deinit { database.remove(self) }

    /// Set it before the first step.
    var testOnly_choice: Int? {
        get { planner.testOnly_choice }
        set { planner.testOnly_choice = newValue }
    }

    /// Whether ``sequence`` is final.
    package var isReading: Bool {
        if case .scanning = phase { true } else { false }
    }

    // MARK: Steps

    /// Continues the work for about so many units; a unit is a record of a few hundred bytes, or some entries of an
    /// index.
    ///
    /// - Returns: Whether the run is finished, and ``results`` is set.
    package func step(_ units: Int = QueryRun.stepUnits) -> Bool {
        if results != nil { return true }
        slices += 1
        var budget = max(units, 1)
        while budget > 0, !isReading { budget -= build(budget) }
        if placedSequence != database.sequence || placedBacklogSteps != database.indexBacklog.steps {
            placedSequence = database.sequence
            placedBacklogSteps = database.indexBacklog.steps
            restartSources()
        }
        while budget > 0, targetIndex < moment.zones.count {
            if targetIndex == targets.count { targets.append(moment.takeNext(from: database)) }
            budget -= read(budget)
        }
        if isReading, targetIndex == moment.zones.count {
            results = finish()
            database.remove(self)
        }
        return results != nil
    }

    private func build(_ budget: Int) -> Int {
        guard case .building(let position) = phase else { return 0 }
        guard position < moment.zones.count else {
            begin()
            return 1
        }
        guard let index = database.zoneIndexOfIncarnation[moment.zones[position]],
            let indexes = database.indexes(ofZoneAt: index)
        else {
            phase = .building(zone: position + 1)
            return 1
        }
        let missing = planner.missingIndex(indexes)
        if !indexEffort.isWorthIt { abandonedIndex = abandonedIndex ?? missing }
        guard indexEffort.isWorthIt, let id = missing else {
            phase = .building(zone: position + 1)
            return planner.planUnits
        }
        if !builtIndexes.contains(id) { builtIndexes.append(id) }
        let state = database.zoneStates[index]
        indexEffort.begin(id, ofZone: state.incarnation, progress: indexes.progress(of: id))
        indexes.build(id, state.slots, zoneBytes: state.storedBytes, budget)
        indexEffort.spend(budget, on: id, progress: indexes.progress(of: id))
        return budget
    }

    /// Fixes the moment that is shown: now, or, when the zone was deleted while its indexes were built, the moment when
    /// the run began.
    private func begin() {
        phase = .scanning
        defer { beginning = nil }
        if let beginning, database.zoneIndexOfIncarnation[beginning.incarnation] == nil {
            moment.keep(beginning.withoutIndexes)
            return
        }
        if beginning == nil { moment = QueryMoment(zones: database.populatedZones, guest: nil) }
        sequence = database.sequence
        database.add(self)
    }

    /// Called when a commit is about to change something in a zone.
    func zoneWillChange(at index: Int) {
        if moment.isWanted(database.zoneStates[index].incarnation) {
            moment.keep(QueryTarget(database, zoneAt: index, guest: guest))
        }
    }

    /// Called when a commit has changed a record.
    func noteChange(_ slot: Int32, inZone zone: UInt64) {
        if targetIndex < targets.count, targets[targetIndex].incarnation == zone {
            targets[targetIndex].changed.insert(slot)
        } else {
            moment.noteChange(slot, inZone: zone)
        }
    }

    // MARK: The end

    private func finish() -> QueryResults {
        let rows = collector.sortedRows
        // Records are spread over the memory: touched all at once, they are fetched together.
        var zone: Int32 = 0
        var slots = targets.first?.slots ?? RecordSlots()
        for row in rows {
            if row.zone != zone {
                zone = row.zone
                slots = targets[Int(zone)].slots
            }
            touched &+= slots.touch(row.slot)
        }
        var results = QueryResults()
        results.matches.reserveCapacity(min(rows.count, pageLimit))
        var bytes = 0
        var fieldsRead = 0
        for index in rows.indices {
            let (zone, slot) = (Int(rows[index].zone), rows[index].slot)
            let shown = database.shown(
                slot, of: targets[zone].slots, desiredKeys, zone: targets[zone].incarnation, to: user)
            if desiredKeys != nil {
                fieldsRead += Database.fieldsReadAtMost(inBytes: shown.readBytes)
            }
            let isFull = bytes + shown.cost > Limits.pageBytes || fieldsRead > Limits.pageFieldsRead
            if index == pageLimit || index > 0 && isFull {
                results.next = rows[index - 1].place.cursor(collector.order)
                break
            }
            bytes += shown.cost
            results.matches.append(
                QueryMatch(zone: ZoneID(name: targets[zone].id.name, owner: zoneOwner), record: shown.record))
        }
        return results
    }

    /// The plan's sentence on the parts of the predicate that records are checked against.
    private var filter: String? {
        guard let partsAsked else { return nil }
        if partsAsked.isEmpty { return "filter: none, the index decides" }
        let parts = PredicateCompiler.parts(of: query.predicate)
        let asked = PredicateText.text(of: .and(partsAsked.map { parts[$0] }))
        let count = partsAsked.count == parts.count ? "" : " (\(partsAsked.count) of \(parts.count) parts)"
        return "filter: each record against \(asked)\(count)"
    }

    /// How the query is run, with the figures so far.
    package var plan: QueryPlan {
        var steps = scanSteps
        if moment.zones.count != 1 {
            steps.insert("\(moment.zones.count) zones that hold records, one after the other", at: 0)
        }
        for id in builtIndexes where id != abandonedIndex { steps.append("made the index \(id.name) first") }
        if let abandonedIndex {
            steps.append("gave up making the index \(abandonedIndex.name), which changes or other queries undo")
        }
        if let filter { steps.append(filter) }
        if mostTied > QueryRun.fewTied, let sort = query.sortDescriptors.first {
            steps.append(
                "\(mostTied) entries begin alike in \(sort.key.name), with \(IndexKeys.textBytes) bytes, which is what the index has of a "
                    + "text: their records are all read")
        }
        if query.sortDescriptors.isEmpty {
            steps.append("sort: by creation")
        } else {
            let keys = query.sortDescriptors.map { "\($0.key.name) \($0.isAscending ? "ascending" : "descending")" }
            steps.append("sort: by \(keys.joined(separator: ", ")), the first \(pageLimit) kept")
        }
        return QueryPlan(
            query: PredicateText.text(of: query), steps: steps, recordsEstimated: recordsEstimated,
            entriesRead: entriesRead, recordsRead: recordsRead, matches: results?.matches.count ?? 0,
            slices: slices)
    }
}
