internal import BrumeModel

/// Chooses how a query reads one zone: by the counts of its indexes, in units of one record that is looked at.
///
/// The ways are: all records of the type in the order of their creation, where a page without a sort ends early; one
/// index of the predicate, or several at once where their numbers rise; and the index of the first sort key, which ends
/// early as well, alone or with a filter (``OrdinalFilter``) from indexes of the predicate. Records are checked against
/// those parts of the predicate that the way has not decided (``AccessPath``).
struct ZonePlanner {
    /// With so few candidates no other index is worth making.
    static let fewRecords = 1_000
    /// What an entry costs that is read and passed over.
    private static let entryCost = 0.1
    /// What another stream costs for each record of the smallest one.
    private static let seekCost = 0.3
    /// What an entry costs that is put into a filter.
    private static let gatherCost = 0.02
    /// What an entry costs that is checked against a filter.
    private static let filterCost = 0.04
    /// What it costs to look for words in a record.
    private static let textCost = 10.0

    let query: Query
    let paths: [AccessPath]
    /// The number of rows that end a scan in the page's order.
    let rowLimit: Int
    let after: QueryCursor?
    /// Takes one of the ways by its number instead of the cheapest, and makes all indexes.
    var testOnly_choice: Int?

    /// Parts of the predicate that any record may fail.
    let openParts: [Int]
    /// How many paths decide a part together.
    private let pathsOfPart: [Int]
    private let isTextPart: [Bool]
    /// What a zone's plan costs in units of a run, whatever comes of it: each key of the predicate is sought in an
    /// index.
    let planUnits: Int
    private var wantedIDs: [IndexID] = []
    private static let seeksPerUnit = 8

    init(query: Query, paths: [AccessPath], rowLimit: Int, after: QueryCursor?) {
        self.query = query
        self.paths = paths
        self.rowLimit = rowLimit
        self.after = after
        let parts = PredicateCompiler.parts(of: query.predicate)
        openParts = parts.indices.filter { parts[$0] != .constant(true) }
        var counts = [Int](repeating: 0, count: parts.count)
        for path in paths {
            for part in path.parts { counts[part] += 1 }
        }
        pathsOfPart = counts
        isTextPart = parts.map(ZonePlanner.readsText)
        planUnits = 1 + paths.reduce(0) { $0 + $1.access.seeks } / ZonePlanner.seeksPerUnit
        wantedIDs = ZonePlanner.wantedIDs(paths, order: [sortID, distanceID])
    }

    private static func readsText(_ predicate: Predicate) -> Bool {
        switch predicate {
        case .text: true
        case .and(let operands), .or(let operands): operands.contains(where: readsText)
        case .not(let operand): readsText(operand)
        default: false
        }
    }

    private var allID: IndexID { IndexID(recordType: query.recordType, kind: .all) }

    private var ofType: String { query.recordType.isEmpty ? "" : " of \(query.recordType)" }

    private var sortID: IndexID? {
        guard let sort = query.sortDescriptors.first, sort.relativeTo == nil else { return nil }
        return IndexID(recordType: query.recordType, kind: .order(sort.key))
    }

    /// The most indexes that one query makes of a zone for its predicate, besides those of all records and of its
    /// order: a zone has room for ``ZoneIndexes/limit``, and those of others should stay.
    private static let indexesOfPredicate = 14

    /// The indexes that the query has made, one after the other, as long as there is no short way without them.
    private static func wantedIDs(_ paths: [AccessPath], order: [IndexID?]) -> [IndexID] {
        var ids: [IndexID] = []
        for id in paths.flatMap(\.access.ids) where ids.count < indexesOfPredicate && !ids.contains(id) {
            ids.append(id)
        }
        return ids + order.compactMap { $0 }
    }

    /// The next index that is worth building for this query, or nil.
    func missingIndex(_ indexes: ZoneIndexes) -> IndexID? {
        if indexes.index(allID) == nil { return allID }
        var fewest = indexes.index(allID)!.tree.count
        for path in paths {
            if let count = path.access.estimate(indexes) { fewest = min(fewest, count) }
        }
        if fewest <= ZonePlanner.fewRecords, testOnly_choice == nil { return nil }
        return wantedIDs.first { indexes.index($0) == nil }
    }

    /// The parts that some paths leave open, which their records have to be checked against.
    private func undecided(_ paths: [AccessPath]) -> [Int] {
        openParts.filter { part in
            let count = paths.count { $0.parts.contains(part) }
            return count == 0 || count < pathsOfPart[part]
        }
    }

    /// What it costs to look at a record.
    private func lookCost(_ parts: [Int]) -> Double {
        parts.contains { isTextPart[$0] } ? 1 + ZonePlanner.textCost : 1
    }

    /// How the records of a zone are read; nil when its indexes are not built.
    func scan(_ indexes: ZoneIndexes) -> ZoneScan? {
        guard let all = indexes.index(allID) else { return nil }
        let total = Double(all.tree.count)
        let known = paths.compactMap { path in
            let path = path.withUnindexed(indexes)
            return path.access.estimate(indexes).map { (path, Double($0)) }
        }
        var matches = total
        for (_, count) in known { matches *= total > 0 ? min(1, count / total) : 0 }
        let isSorted = !query.sortDescriptors.isEmpty
        func costUntilFull(_ count: Double) -> Double {
            matches * Double(1_000_000) < count ? count : min(count, Double(rowLimit) * count / matches)
        }

        var ways: [(cost: Double, scan: ZoneScan)] = []
        /// Adds a way: `records` is the number of records that it looks at, `cost` that of all else.
        func consider(
            records: Double, cost: Double = 0, _ sources: [ZoneScan.Source], _ paths: [AccessPath], _ steps: [String],
            mayRepeat: Bool = false, doubtfulKeys: [PostingTree.Key]? = nil
        ) {
            let parts = undecided(paths)
            ways.append(
                (
                    cost + records * lookCost(parts),
                    ZoneScan(
                        sources: sources, parts: parts, doubtfulKeys: doubtfulKeys ?? paths.flatMap(\.doubtfulKeys),
                        mayRepeat: mayRepeat, recordsEstimated: Int(records.rounded(.up)), steps: steps)
                ))
        }

        consider(
            records: isSorted ? total : costUntilFull(total),
            [.streams([OrdinalStream(all, [0])], next: firstOrdinal(indexes))], [],
            ["all \(all.tree.count) records\(ofType)\(isSorted ? "" : ", oldest first")"])
        for (path, count) in known {
            var records = count
            var cost = 0.0
            switch path.access {
            case .stream: if !isSorted { records = costUntilFull(count) }
            case .ranges where !isSorted:
                cost = ZonePlanner.entryCost * count
                records = min(count, 3 * costUntilFull(count))
            case .ranges, .names, .union: break
            }
            consider(
                records: records, cost: cost, sources(path.access, indexes, from: firstOrdinal(indexes)),
                [path],
                ["\(path.access.sentence): \(Int(count)) records"], mayRepeat: path.access.mayRepeat)
        }
        let streams = known.filter { if case .stream = $0.0.access { true } else { false } }.sorted { $0.1 < $1.1 }
        if streams.count > 1, let smallest = streams.first {
            // Looking a word up in its index is cheaper than looking for it in a text, however common it is.
            let joined = streams.filter { (path, count) in
                count <= 20 * max(smallest.1, 1) || path.parts.contains { isTextPart[$0] }
            }.prefix(8)
            let together = joined.reduce(total) { $0 * (total > 0 ? min(1, $1.1 / total) : 0) }
            if joined.count > 1 {
                consider(
                    records: isSorted ? together : min(together, costUntilFull(together)),
                    cost: ZonePlanner.seekCost * smallest.1,
                    [.streams(joined.compactMap { stream($0.0.access, indexes) }, next: firstOrdinal(indexes))],
                    joined.map(\.0), joined.map { "intersect \($0.0.access.sentence): \(Int($0.1)) records" })
            }
        }
        if let sortID, let index = indexes.index(sortID) {
            let (ranges, path, sentence) = sortRanges(sortID)
            let paths = path.map { [$0] } ?? []
            let count = Double(ranges.reduce(0) { $0 + index.tree.estimate($1) })
            let walk = "index \(sortID.name), \(sentence): \(Int(count)) records, until the page is full"
            consider(
                records: costUntilFull(count), [.sorted(reader(index, ranges, indexes), nil)], paths, [walk])
            for (filters, entries) in filters(known, besides: sortID) {
                let left = filters.reduce(count) { $0 * (total > 0 ? min(1, $1.1 / total) : 0) }
                let filter = OrdinalFilter(
                    set: OrdinalSet(count: indexes.ordinals.count),
                    sources: filterSources(filters.map(\.0), indexes))
                consider(
                    records: min(left, costUntilFull(left)),
                    cost: entries * ZonePlanner.gatherCost + costUntilFull(count) * ZonePlanner.filterCost,
                    [.sorted(reader(index, ranges, indexes), filter)],
                    // A path with doubtful keys decides nothing as a filter: all records are checked.
                    paths + filters.map(\.0).filter(\.doubtfulKeys.isEmpty),
                    filters.map { "gather \($0.0.access.sentence): \(Int($0.1)) records" } + [
                        walk + ", those gathered alone"
                    ], doubtfulKeys: paths.flatMap(\.doubtfulKeys))
            }
        }
        if let rings = rings(indexes, all, testOnly_choice == nil ? costUntilFull(total) : 0) {
            consider(
                records: 4 * costUntilFull(total), [.rings(rings)], [],
                ["index \(rings.index.id.name), in growing circles, until the page is full"], mayRepeat: true)
        }
        if let far = far(indexes, all) {
            consider(
                records: 2 * costUntilFull(total), [.far(far)], [],
                ["index \(far.index.id.name), the farthest squares first, until the page is full"], mayRepeat: true)
        }
        if let testOnly_choice { return ways[testOnly_choice % ways.count].scan }
        return ways.min { $0.cost < $1.cost }!.scan
    }

    private func firstOrdinal(_ indexes: ZoneIndexes) -> UInt32 {
        guard query.sortDescriptors.isEmpty, let after else { return 0 }
        return indexes.ordinals.firstOrdinal(createdAfter: after.created)
    }

    func stream(_ access: Access, _ indexes: ZoneIndexes) -> OrdinalStream? {
        guard case .stream(let id, let keys) = access, let index = indexes.index(id) else { return nil }
        return OrdinalStream(index, keys)
    }

    func sources(
        _ access: Access, _ indexes: ZoneIndexes, from first: UInt32
    ) -> [ZoneScan.Source] {
        switch access {
        case .stream: [.streams([stream(access, indexes)!], next: first)]
        case .ranges(let id, let ranges): [.ranges(RangeReader(indexes.index(id)!, ranges, isFalling: false))]
        case .names(let names): [.names(names, next: 0)]
        case .union(let branches): branches.flatMap { sources($0, indexes, from: first) }
        }
    }

    /// The part of the first sort key's index that can hold matches, in the order of reading.
    private func sortRanges(
        _ id: IndexID
    ) -> (ranges: [ClosedRange<PostingTree.Key>], path: AccessPath?, sentence: String) {
        let isAscending = query.sortDescriptors[0].isAscending
        for path in paths {
            if case .ranges(id, let ranges) = path.access, ranges.count == 1 {
                return (behindCursor(ranges), path, isAscending ? "a range, ascending" : "a range, descending")
            }
        }
        let values: ClosedRange<PostingTree.Key> = 0...IndexKeys.missing - 1
        return (
            behindCursor([values, IndexKeys.missing...IndexKeys.missing]), nil, isAscending ? "ascending" : "descending"
        )
    }

    private func behindCursor(_ ranges: [ClosedRange<PostingTree.Key>]) -> [ClosedRange<PostingTree.Key>] {
        guard let after else { return ranges }
        let key = IndexKeys.order(after.values[0])
        return ranges.compactMap { range in
            if range.contains(key) {
                // What has no value stands last in both directions.
                if query.sortDescriptors[0].isAscending || key == IndexKeys.missing { return key...range.upperBound }
                return range.lowerBound...key
            }
            let isBehind =
                query.sortDescriptors[0].isAscending || range.lowerBound == IndexKeys.missing
                ? key < range.lowerBound : range.upperBound < key
            return isBehind ? range : nil
        }
    }

    private func reader(
        _ index: FieldIndex, _ ranges: [ClosedRange<PostingTree.Key>], _ indexes: ZoneIndexes
    ) -> RangeReader {
        var last: (key: PostingTree.Key, ordinal: UInt32)?
        if let after, query.sortDescriptors.count == 1 {
            // If all values of the cursor's key are equal, the page before had all of them up to its last record.
            let key = IndexKeys.order(after.values[0])
            let ordinal = indexes.ordinals.firstOrdinal(createdAfter: after.created)
            if ordinal > 0, IndexKeys.isExact(key), ranges.first?.contains(key) == true { last = (key, ordinal - 1) }
        }
        return RangeReader(index, ranges, isFalling: !query.sortDescriptors[0].isAscending, after: last)
    }
}

extension IndexKeys {
    static func order(_ value: QueryCursor.SortValue) -> Key {
        value.withScalar { $0.map { order($0) } ?? missing }
    }
}
