package import BrumeModel

/// One page of a query in the making, in steps between which the loop does other work.
///
/// First the indexes that it is worth are made, where they are missing. Then the records are read. The answer is that of one
/// moment: the database as ``sequence`` left it, however many commits follow before the last step. The records of that moment stay
/// as they are, because commits copy what they change (``RecordSlots``); indexes move on, so what is changed meanwhile is passed
/// over in them and looked at by itself. So of an atomic batch all or nothing is seen. The answer may be given when the commit
/// ``sequence`` is durable.
package final class QueryRun {
    /// What a step may be given at once: some hundred microseconds for records of a few hundred bytes.
    package static let stepUnits = 1_000

    private struct Target {
        let incarnation: UInt64
        let id: ZoneID
        let slots: RecordSlots
        /// Nil: the zone is looked through.
        let indexes: ZoneIndexes?
        /// Changed since the moment that is shown.
        var changed: Set<Int32> = []
        /// Records by name, of the moment that is shown.
        var slotOfName: [String: Int32] = [:]
    }

    private enum Phase {
        /// Makes the indexes of one zone after the other.
        case building(target: Int)
        case scanning
    }

    private let database: Database
    private let query: Query
    private let zone: ZoneID?
    private let pageLimit: Int
    private let desiredKeys: DesiredKeys?
    private let evaluator: PredicateEvaluator
    private var planner: ZonePlanner
    private var collector: MatchCollector

    /// Of the last commit that the answer shows. It may grow until ``isReading``.
    package private(set) var sequence: UInt64
    private var targets: [Target]
    private var phase = Phase.building(target: 0)
    private var targetIndex = 0
    private var scan: ZoneScan?

    private var builtIndexes: [IndexID] = []
    private var scanSteps: [String] = []
    private var entriesRead = 0
    private var recordsRead = 0
    private var slices = 0
    /// Set when the run is finished.
    package private(set) var results: QueryResults?

    init(
        _ database: Database, query: Query, zone: ZoneID?, after: QueryCursor?, resultsLimit: Int,
        desiredKeys: DesiredKeys?, searchableFields: SearchableFields
    ) {
        self.database = database
        self.query = query
        self.zone = zone
        self.desiredKeys = desiredKeys
        pageLimit = min(resultsLimit > 0 ? resultsLimit : Limits.matchesPerPage, Limits.matchesPerPageMax)
        evaluator = PredicateEvaluator(
            query.predicate, alsoReading: query.sortDescriptors.map(\.key), searchableFields: searchableFields,
            breaker: database.wordBreaker)
        collector = MatchCollector(
            order: SortOrder(query.sortDescriptors, evaluator), after: after, pageLimit: pageLimit)
        planner = ZonePlanner(
            query: query,
            accesses: AccessBuilder(
                recordType: query.recordType, searchableFields: searchableFields, breaker: database.wordBreaker
            ).accesses(for: query.predicate), rowLimit: pageLimit + 1, after: after)
        sequence = database.sequence
        targets = []
        targets = capture() ?? []
    }

    deinit {
        for target in targets { target.indexes?.remove(self) }
    }

    /// Before the first step.
    var testOnly_choice: Int? {
        get { planner.testOnly_choice }
        set { planner.testOnly_choice = newValue }
    }

    /// Whether ``sequence`` is final.
    package var isReading: Bool {
        if case .scanning = phase { true } else { false }
    }

    /// The zones as they are now, or nil when the one that is asked for is gone.
    private func capture() -> [Target]? {
        let positions: [Int]
        if let zone {
            guard case .success(let position) = database.zoneIndex(of: zone) else { return nil }
            positions = [position]
        } else {
            positions = database.zoneIndexOfIncarnation.sorted { $0.key < $1.key }.map(\.value)
        }
        let names = planner.accesses.flatMap(\.names)
        return positions.map { position in
            let state = database.zoneStates[position]
            var target = Target(
                incarnation: state.incarnation, id: state.id, slots: state.slots,
                indexes: database.indexes(ofZoneAt: position))
            for name in names { target.slotOfName[name] = state.liveSlot(of: name) }
            return target
        }
    }

    // MARK: Steps

    /// Goes on with the work for about so many units; a unit is a record of a few hundred bytes, or some entries of an index.
    ///
    /// - Returns: Whether the run is finished, and ``results`` there.
    package func step(_ units: Int = QueryRun.stepUnits) -> Bool {
        if results != nil { return true }
        slices += 1
        var budget = max(units, 1)
        while budget > 0, !isReading { budget -= build(budget) }
        restartSources()
        while budget > 0, targetIndex < targets.count { budget -= read(budget) }
        if isReading, targetIndex == targets.count {
            results = finish()
            for target in targets { target.indexes?.remove(self) }
        }
        return results != nil
    }

    private func build(_ budget: Int) -> Int {
        guard case .building(let position) = phase else { return 0 }
        guard position < targets.count else {
            begin()
            return 1
        }
        guard let indexes = targets[position].indexes,
            let state = database.zoneIndexOfIncarnation[targets[position].incarnation],
            let id = planner.missingIndex(indexes)
        else {
            phase = .building(target: position + 1)
            return 1
        }
        if builtIndexes.last != id { builtIndexes.append(id) }
        _ = indexes.build(id, database.zoneStates[state].slots, budget)
        return budget
    }

    /// The moment that is shown is now; or, when the zone went while its indexes were made, the moment when the run began.
    private func begin() {
        phase = .scanning
        guard let current = capture() else {
            targets = targets.map {
                Target(incarnation: $0.incarnation, id: $0.id, slots: $0.slots, indexes: nil, slotOfName: $0.slotOfName)
            }
            return
        }
        targets = current
        sequence = database.sequence
        for target in targets { target.indexes?.add(self) }
    }

    /// A commit is about to change a record, or has done so.
    func noteChange(_ slot: Int32, in indexes: ZoneIndexes) {
        guard let position = targets.firstIndex(where: { $0.indexes === indexes }), position >= targetIndex else {
            return
        }
        targets[position].changed.insert(slot)
    }

    // MARK: Reading

    private func restartSources() {
        guard scan != nil else { return }
        for position in scan!.sources.indices {
            switch scan!.sources[position] {
            case .streams(var streams, let next):
                for index in streams.indices { streams[index].restart() }
                scan!.sources[position] = .streams(streams, next: next)
            case .ranges(var reader):
                reader.restart()
                scan!.sources[position] = .ranges(reader)
            case .sorted(var reader):
                reader.restart()
                scan!.sources[position] = .sorted(reader)
            case .slots, .list: break
            }
        }
    }

    /// Goes on in the current zone. Returns the work in units.
    private func read(_ budget: Int) -> Int {
        if scan == nil { scan = plan(targets[targetIndex]) }
        guard var source = scan!.sources.popLast() else {
            for slot in targets[targetIndex].changed { _ = look(at: slot, isChanged: true) }
            let work = 1 + targets[targetIndex].changed.count
            targets[targetIndex].changed = []
            targetIndex += 1
            scan = nil
            return work
        }
        var left = budget
        let isFinished: Bool
        switch source {
        case .slots(var next):
            isFinished = readSlots(&next, &left)
            source = .slots(next: next)
        case .list(let list, var next):
            while next < list.count, left > 0 {
                left -= look(at: list[next])
                next += 1
            }
            isFinished = next == list.count
            source = .list(list, next: next)
        case .streams(var streams, var next):
            isFinished = readStreams(&streams, &next, &left)
            source = .streams(streams, next: next)
        case .ranges(var reader):
            isFinished = readRanges(&reader, &left)
            source = .ranges(reader)
        case .sorted(var reader):
            isFinished = readSorted(&reader, &left)
            source = .sorted(reader)
        }
        if !isFinished { scan!.sources.append(source) }
        return max(1, budget - left)
    }

    private func plan(_ target: Target) -> ZoneScan {
        let scan =
            target.indexes.flatMap { indexes in
                planner.scan(indexes) { target.slotOfName[$0] }
            } ?? ZoneScan.through(target.slots)
        if scanSteps.count < 16 { scanSteps += scan.steps.prefix(16) }
        return scan
    }

    private func readSlots(_ next: inout Int32, _ left: inout Int) -> Bool {
        let count = Int32(targets[targetIndex].slots.count)
        while next < count, left > 0 {
            left -= look(at: next)
            next += 1
        }
        return next == count
    }

    private func readStreams(_ streams: inout [OrdinalStream], _ next: inout UInt32, _ left: inout Int) -> Bool {
        while left > 0 {
            // Each stream in turn goes on to where the one before stands, until all stand at one number.
            var ordinal = next
            var agreeing = 0
            var position = 0
            while agreeing < streams.count {
                guard let found = streams[position].next(from: ordinal) else { return true }
                agreeing = found == ordinal ? agreeing + 1 : 1
                ordinal = found
                position = (position + 1) % streams.count
                entriesRead += 1
            }
            next = ordinal + 1
            left -= 1
            guard let slot = targets[targetIndex].indexes!.ordinals.slot(of: ordinal) else { continue }
            // Numbers rise with creation: what follows stands behind this one.
            if !admits(slot), collector.isInOrderOfCreation { if isBehindPage(slot) { return true } }
            left -= look(at: slot)
        }
        return false
    }

    private func readRanges(_ reader: inout RangeReader, _ left: inout Int) -> Bool {
        var entries = 0
        while left > 0 {
            guard let entry = reader.next() else { return true }
            entriesRead += 1
            entries += 1
            if entries % 8 == 0 { left -= 1 }
            guard let slot = targets[targetIndex].indexes!.ordinals.slot(of: entry.ordinal), admits(slot) else {
                continue
            }
            left -= look(at: slot)
        }
        return false
    }

    private func readSorted(_ reader: inout RangeReader, _ left: inout Int) -> Bool {
        let isFalling = !query.sortDescriptors[0].isAscending
        while left > 0 {
            guard let entry = reader.next() else { return true }
            entriesRead += 1
            if collector.isFull, let last = collector.last {
                let lastKey = IndexKeys.order(last.values[0])
                if entry.key != lastKey {
                    let isBehind: Bool =
                        if entry.key == IndexKeys.missing { true } else if lastKey == IndexKeys.missing { false } else {
                            isFalling ? entry.key < lastKey : entry.key > lastKey
                        }
                    if isBehind { return true }
                } else if query.sortDescriptors.count == 1, IndexKeys.isExact(entry.key),
                    let slot = targets[targetIndex].indexes!.ordinals.slot(of: entry.ordinal),
                    slot < targets[targetIndex].slots.count,
                    !targets[targetIndex].changed.contains(slot),
                    targets[targetIndex].slots[slot].created > last.created
                {
                    return true
                }
            }
            guard let slot = targets[targetIndex].indexes!.ordinals.slot(of: entry.ordinal) else { continue }
            left -= look(at: slot)
        }
        return false
    }

    private func admits(_ slot: Int32) -> Bool {
        guard slot < targets[targetIndex].slots.count else { return false }
        return collector.admits(created: targets[targetIndex].slots[slot].created)
    }

    private func isBehindPage(_ slot: Int32) -> Bool {
        guard slot < targets[targetIndex].slots.count, collector.isFull, let last = collector.last,
            !targets[targetIndex].changed.contains(slot)
        else { return false }
        return targets[targetIndex].slots[slot].created > last.created
    }

    /// Takes a record into the page if it belongs there. Returns the work in units.
    private func look(at slot: Int32, isChanged: Bool = false) -> Int {
        guard slot < targets[targetIndex].slots.count, isChanged || !targets[targetIndex].changed.contains(slot) else {
            return 1
        }
        let record = targets[targetIndex].slots[slot]
        guard !record.isDeleted, collector.admits(created: record.created),
            query.recordType.isEmpty || record.type == query.recordType
        else {
            return 1
        }
        recordsRead += 1
        record.bytes.withUnsafeBytes { bytes in
            evaluator.load(bytes)
            guard collector.admits(evaluator.fields, created: record.created), evaluator.matchesLoaded(bytes) else {
                return
            }
            collector.keep(created: record.created, zone: Int32(targetIndex), slot: slot)
        }
        return 1 + record.bytes.count / 512
    }

    // MARK: The end

    private func finish() -> QueryResults {
        let rows = collector.sortedRows
        var results = QueryResults()
        var bytes = 0
        for (index, row) in rows.enumerated() {
            let target = targets[Int(row.zone)]
            let record = Database.project(target.slots[row.slot].bytes, desiredKeys)
            if index == pageLimit || index > 0 && bytes + record.count > Limits.pageBytes {
                results.next = rows[index - 1].place
                break
            }
            bytes += record.count
            results.matches.append(QueryMatch(zone: target.id, record: record))
        }
        return results
    }

    /// How the query is run, with the figures so far.
    package var plan: QueryPlan {
        var steps = scanSteps
        if targets.count != 1 { steps.insert("\(targets.count) zones, one after the other", at: 0) }
        for id in builtIndexes { steps.append("made the index \(id.name) first") }
        steps.append("filter: each record against the whole predicate")
        if query.sortDescriptors.isEmpty {
            steps.append("sort: by creation")
        } else {
            let keys = query.sortDescriptors.map { "\($0.key.name) \($0.isAscending ? "ascending" : "descending")" }
            steps.append("sort: by \(keys.joined(separator: ", ")), the first \(pageLimit) kept")
        }
        return QueryPlan(
            steps: steps, entriesRead: entriesRead, recordsRead: recordsRead, matches: results?.matches.count ?? 0,
            slices: slices)
    }
}
