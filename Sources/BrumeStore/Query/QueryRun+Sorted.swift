internal import BrumeModel
internal import BrumeRecord

/// How a run walks the index of a query's first sort key.
extension QueryRun {
    /// The number of entries that are put into a filter, or checked against one, for a unit.
    private static let filteredEntriesPerUnit = 32

    func gather(_ filter: inout OrdinalFilter, _ left: inout Int) {
        guard var source = filter.sources.popLast() else { return }
        var isAtEnd = false
        var entries = left * QueryRun.filteredEntriesPerUnit
        let limit = entries
        switch source {
        case .streams(var streams, var next):
            let trees = streams.map { $0.index.tree }
            while entries > 0, !isAtEnd {
                if let ordinal = nextCommon(&streams, trees, next) {
                    filter.set.insert(ordinal)
                    next = ordinal + 1
                } else {
                    isAtEnd = true
                }
                entries -= streams.count
            }
            source = .streams(streams, next: next)
        case .ranges(var reader):
            let tree = reader.index.tree
            while entries > 0, !isAtEnd {
                if let entry = reader.next(tree) {
                    filter.set.insert(entry.ordinal)
                    entriesRead += 1
                } else {
                    isAtEnd = true
                }
                entries -= 1
            }
            source = .ranges(reader)
        default: preconditionFailure("a filter is gathered from entries of indexes")
        }
        left -= 1 + (limit - max(entries, 0)) / QueryRun.filteredEntriesPerUnit
        if !isAtEnd { filter.sources.append(source) }
    }

    func readSorted(
        _ reader: inout RangeReader, _ filter: OrdinalSet?, _ view: View, _ parts: [Int], _ left: inout Int
    ) -> Bool {
        let isFalling = !query.sortDescriptors[0].isAscending
        let isOnlyKey = query.sortDescriptors.count == 1
        let doubtfulKeys = scan!.doubtfulKeys
        let tree = reader.index.tree
        var excluded = 0
        while left > 0 {
            guard let entry = reader.next(tree) else { return true }
            entriesRead += 1
            noteTie(entry.key)
            let isExcluded = filter.map { !$0.contains(entry.ordinal) } ?? false
            if isExcluded {
                excluded += 1
                if excluded % QueryRun.filteredEntriesPerUnit == 0 { left -= 1 }
                // Once the page is full, each entry is checked for the end.
                if !collector.isFull { continue }
            }
            let candidate = view.candidate(entry.ordinal)
            let slot = candidate.slot
            if collector.isFull, let last = collector.last {
                let lastKey = IndexKeys.order(last.first)
                if entry.key != lastKey {
                    let isBehind: Bool =
                        if entry.key == IndexKeys.missing { true } else if lastKey == IndexKeys.missing { false } else {
                            isFalling ? entry.key < lastKey : entry.key > lastKey
                        }
                    if isBehind { return true }
                } else if isOnlyKey, IndexKeys.isExact(entry.key), let slot,
                    view.isUnchanged(slot), candidate.created.rawValue > last.created.rawValue
                {
                    return true
                }
            }
            if isExcluded { continue }
            guard let slot, view.isUnchanged(slot) else {
                left -= 1
                continue
            }
            let isDoubtful = !doubtfulKeys.isEmpty && doubtfulKeys.contains(entry.key)
            if isOnlyKey, parts.isEmpty, !isDoubtful, let value = IndexKeys.exactScalar(entry.key) {
                left -= take(slot, candidate.created, value.scalar)
            } else {
                left -= look(
                    at: slot, view, parts: isDoubtful ? nil : parts, createdAt: candidate.created, left)
            }
        }
        return false
    }

    /// Entries whose key does not tell their values apart are read as one group, however many they are: the plan says
    /// so.
    private func noteTie(_ key: PostingTree.Key) {
        if key == tie.key {
            tie.count += 1
            mostTied = max(mostTied, tie.count)
        } else if !IndexKeys.isExact(key) {
            tie = (key, 1)
        }
    }

    /// Takes a record that matches into the page if it belongs there, without reading it. Returns the work in units.
    private func take(_ slot: Int32, _ created: ChangePosition, _ sortValue: StoredScalar?) -> Int {
        guard collector.admits(sortValue, created: created) else { return 1 }
        recordsRead += 1
        collector.keep(created: created, zone: Int32(targetIndex), slot: slot, mayRepeat: false)
        return 1
    }
}
