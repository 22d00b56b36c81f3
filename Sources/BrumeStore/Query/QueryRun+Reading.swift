internal import BrumeModel

/// How a run reads the records of one zone after the other.
extension QueryRun {
    /// What a step reads of a zone: of the moment that the query shows.
    private struct View {
        let slots: RecordSlots
        let changed: Set<Int32>
        let count: Int32
        let ordinals: OrdinalTable?

        init(_ target: Target) {
            slots = target.slots
            changed = target.changed
            count = Int32(target.slots.count)
            ordinals = target.indexes?.ordinals
        }

        /// Whether a place of the zone is as the indexes have it.
        func isUnchanged(_ slot: Int32) -> Bool {
            slot < count && (changed.isEmpty || !changed.contains(slot))
        }
    }

    /// Commits may have changed indexes since the step before.
    func restartSources() {
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
    func read(_ budget: Int) -> Int {
        if scan == nil { scan = plan(targets[targetIndex]) }
        let view = View(targets[targetIndex])
        guard var source = scan!.sources.popLast() else {
            for slot in view.changed where slot < view.count { _ = look(at: slot, view, parts: nil) }
            let work = 1 + view.changed.count
            targetIndex += 1
            scan = nil
            return work
        }
        let parts = scan!.parts
        var left = budget
        let isFinished: Bool
        switch source {
        case .slots(var next):
            isFinished = readSlots(&next, view, parts, &left)
            source = .slots(next: next)
        case .list(let list, var next):
            while next < list.count, left > 0 {
                left -= view.isUnchanged(list[next]) ? look(at: list[next], view, parts: parts) : 1
                next += 1
            }
            isFinished = next == list.count
            source = .list(list, next: next)
        case .streams(var streams, var next):
            isFinished = readStreams(&streams, &next, view, parts, &left)
            source = .streams(streams, next: next)
        case .ranges(var reader):
            isFinished = readRanges(&reader, view, parts, &left)
            source = .ranges(reader)
        case .sorted(var reader):
            isFinished = readSorted(&reader, view, parts, &left)
            source = .sorted(reader)
        }
        if !isFinished { scan!.sources.append(source) }
        return max(1, budget - left)
    }

    private func plan(_ target: Target) -> ZoneScan {
        let scan =
            target.indexes.flatMap { indexes in
                planner.scan(indexes) { target.slotOfName[$0] }
            } ?? ZoneScan.through(target.slots, parts: planner.openParts)
        if scanSteps.count < 16 { scanSteps += scan.steps.prefix(16) }
        if partsAsked == nil { partsAsked = scan.parts.count }
        return scan
    }

    private func readSlots(_ next: inout Int32, _ view: View, _ parts: [Int], _ left: inout Int) -> Bool {
        while next < view.count, left > 0 {
            left -= view.isUnchanged(next) ? look(at: next, view, parts: parts) : 1
            next += 1
        }
        return next == view.count
    }

    private func readStreams(
        _ streams: inout [OrdinalStream], _ next: inout UInt32, _ view: View, _ parts: [Int], _ left: inout Int
    ) -> Bool {
        var entries = 0
        defer { entriesRead += entries }
        while left > 0 {
            // Each stream in turn goes on to where the one before stands, until all stand at one number.
            var ordinal = next
            var agreeing = 0
            var position = 0
            while agreeing < streams.count {
                guard let found = streams[position].next(from: ordinal) else { return true }
                agreeing = found == ordinal ? agreeing + 1 : 1
                ordinal = found
                position = position + 1 == streams.count ? 0 : position + 1
                entries += 1
            }
            next = ordinal + 1
            left -= 1
            guard let slot = view.ordinals!.slot(of: ordinal), view.isUnchanged(slot) else { continue }
            // Numbers rise with creation: what follows stands behind this one.
            if collector.isInOrderOfCreation, collector.isFull, let last = collector.last,
                view.slots.created(slot).rawValue > last.created.rawValue
            {
                return true
            }
            left -= look(at: slot, view, parts: parts)
        }
        return false
    }

    private func readRanges(_ reader: inout RangeReader, _ view: View, _ parts: [Int], _ left: inout Int) -> Bool {
        var entries = 0
        defer { entriesRead += entries }
        let doubtfulKeys = scan!.doubtfulKeys
        while left > 0 {
            guard let entry = reader.next() else { return true }
            entries += 1
            if entries % 8 == 0 { left -= 1 }
            guard let slot = view.ordinals!.slot(of: entry.ordinal), view.isUnchanged(slot) else { continue }
            let isDoubtful = !doubtfulKeys.isEmpty && doubtfulKeys.contains(entry.key)
            left -= look(at: slot, view, parts: isDoubtful ? nil : parts)
        }
        return false
    }

    private func readSorted(_ reader: inout RangeReader, _ view: View, _ parts: [Int], _ left: inout Int) -> Bool {
        let isFalling = !query.sortDescriptors[0].isAscending
        let doubtfulKeys = scan!.doubtfulKeys
        while left > 0 {
            guard let entry = reader.next() else { return true }
            entriesRead += 1
            let slot = view.ordinals!.slot(of: entry.ordinal)
            if collector.isFull, let last = collector.last {
                let lastKey = IndexKeys.order(last.values[0])
                if entry.key != lastKey {
                    let isBehind: Bool =
                        if entry.key == IndexKeys.missing { true } else if lastKey == IndexKeys.missing { false } else {
                            isFalling ? entry.key < lastKey : entry.key > lastKey
                        }
                    if isBehind { return true }
                } else if query.sortDescriptors.count == 1, IndexKeys.isExact(entry.key), let slot,
                    view.isUnchanged(slot), view.slots.created(slot).rawValue > last.created.rawValue
                {
                    return true
                }
            }
            guard let slot, view.isUnchanged(slot) else {
                left -= 1
                continue
            }
            let isDoubtful = !doubtfulKeys.isEmpty && doubtfulKeys.contains(entry.key)
            left -= look(at: slot, view, parts: isDoubtful ? nil : parts)
        }
        return false
    }

    /// Takes a record of the moment that is shown into the page if it belongs there. Returns the work in units.
    ///
    /// - Parameter parts: Of the predicate, those that are not known to hold; nil: all of them, and the record may be there already.
    private func look(at slot: Int32, _ view: View, parts: [Int]?) -> Int {
        let created = view.slots.created(slot)
        guard collector.admits(created: created), !view.slots.isDeleted(slot),
            query.recordType.isEmpty || view.slots.isOfType(query.recordType, slot)
        else {
            return 1
        }
        recordsRead += 1
        let mayRepeat = parts == nil || scan!.mayRepeat
        if let parts, parts.isEmpty, collector.isInOrderOfCreation {
            collector.keep(created: created, zone: Int32(targetIndex), slot: slot, mayRepeat: mayRepeat)
            return 1
        }
        let record = view.slots.bytes(of: slot)
        record.withUnsafeBytes { bytes in
            evaluator.load(bytes)
            guard collector.admits(evaluator.fields, created: created),
                parts.map({ evaluator.matchesLoaded(bytes, parts: $0) }) ?? evaluator.matchesLoaded(bytes)
            else {
                return
            }
            collector.keep(created: created, zone: Int32(targetIndex), slot: slot, mayRepeat: mayRepeat)
        }
        return 1 + record.count / 512
    }
}
