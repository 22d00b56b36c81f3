internal import BrumeModel
internal import BrumeWire

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
            case .rings(var rings):
                rings.reader.restart()
                scan!.sources[position] = .rings(rings)
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
        case .rings(var rings):
            isFinished = readRings(&rings, view, parts, &left)
            source = .rings(rings)
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
        let trees = streams.map { $0.index.tree }
        var isAtEnd = false
        if !collector.isInOrderOfCreation {
            while left > 0, !isAtEnd {
                lookAhead(view, parts, &left) {
                    guard let ordinal = nextCommon(&streams, trees, next) else {
                        isAtEnd = true
                        return nil
                    }
                    next = ordinal + 1
                    return Candidate(slot: view.ordinals!.slot(of: ordinal))
                }
            }
            return isAtEnd
        }
        while left > 0 {
            guard let ordinal = nextCommon(&streams, trees, next) else { return true }
            next = ordinal + 1
            left -= 1
            guard let slot = view.ordinals!.slot(of: ordinal), view.isUnchanged(slot) else { continue }
            // Numbers rise with creation: what follows stands behind this one.
            if collector.isFull, let last = collector.last,
                view.slots.created(slot).rawValue > last.created.rawValue
            {
                return true
            }
            left -= look(at: slot, view, parts: parts)
        }
        return false
    }

    /// Each stream in turn goes on to where the one before stands, until all stand at one number.
    private func nextCommon(
        _ streams: inout [OrdinalStream], _ trees: [PostingTree], _ first: UInt32
    ) -> UInt32? {
        var ordinal = first
        var agreeing = 0
        var position = 0
        while agreeing < streams.count {
            guard let found = streams[position].next(from: ordinal, trees[position]) else { return nil }
            agreeing = found == ordinal ? agreeing + 1 : 1
            ordinal = found
            position = position + 1 == streams.count ? 0 : position + 1
            entriesRead += 1
        }
        return ordinal
    }

    private func readRanges(_ reader: inout RangeReader, _ view: View, _ parts: [Int], _ left: inout Int) -> Bool {
        let doubtfulKeys = scan!.doubtfulKeys
        let tree = reader.index.tree
        var isAtEnd = false
        while left > 0, !isAtEnd {
            lookAhead(view, parts, &left) {
                guard let entry = reader.next(tree) else {
                    isAtEnd = true
                    return nil
                }
                entriesRead += 1
                return Candidate(
                    slot: view.ordinals!.slot(of: entry.ordinal),
                    isDoubtful: !doubtfulKeys.isEmpty && doubtfulKeys.contains(entry.key))
            }
        }
        return isAtEnd
    }

    private func readRings(_ rings: inout RingReader, _ view: View, _ parts: [Int], _ left: inout Int) -> Bool {
        guard readRanges(&rings.reader, view, parts, &left) else { return false }
        if collector.isFull, case .double(let metres) = collector.last?.first, metres <= rings.metres { return true }
        if rings.widen() { return false }
        // The rest is far away, or nowhere.
        scan!.sources.append(.streams([OrdinalStream(rings.all, [0])], next: 0))
        return true
    }

    private struct Candidate {
        /// Nil: gone.
        var slot: Int32?
        var isDoubtful = false
    }

    /// Looks at the next few records. They are spread over the memory: asked for all at once, they come together.
    ///
    /// - Parameter next: Nil at the end.
    private func lookAhead(_ view: View, _ parts: [Int], _ left: inout Int, _ next: () -> Candidate?) {
        withUnsafeTemporaryAllocation(of: Candidate.self, capacity: 32) { candidates in
            var count = 0
            var passed = 0
            while count < min(left, candidates.count), passed < 8 * candidates.count, let candidate = next() {
                guard let slot = candidate.slot, view.isUnchanged(slot) else {
                    passed += 1
                    continue
                }
                candidates.initializeElement(at: count, to: candidate)
                count += 1
            }
            left -= passed / 8
            if count > 1, !parts.isEmpty || !collector.isInOrderOfCreation {
                for index in 0..<count { touched &+= view.slots.touch(candidates[index].slot!) }
            }
            for index in 0..<count {
                left -= look(at: candidates[index].slot!, view, parts: candidates[index].isDoubtful ? nil : parts)
            }
        }
    }

    private func readSorted(_ reader: inout RangeReader, _ view: View, _ parts: [Int], _ left: inout Int) -> Bool {
        let isFalling = !query.sortDescriptors[0].isAscending
        let isOnlyKey = query.sortDescriptors.count == 1
        let doubtfulKeys = scan!.doubtfulKeys
        let tree = reader.index.tree
        while left > 0 {
            guard let entry = reader.next(tree) else { return true }
            entriesRead += 1
            let slot = view.ordinals!.slot(of: entry.ordinal)
            if collector.isFull, let last = collector.last {
                let lastKey = IndexKeys.order(last.first)
                if entry.key != lastKey {
                    let isBehind: Bool =
                        if entry.key == IndexKeys.missing { true } else if lastKey == IndexKeys.missing { false } else {
                            isFalling ? entry.key < lastKey : entry.key > lastKey
                        }
                    if isBehind { return true }
                } else if isOnlyKey, IndexKeys.isExact(entry.key), let slot,
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
            if isOnlyKey, parts.isEmpty, !isDoubtful, let value = IndexKeys.exactScalar(entry.key) {
                left -= take(slot, view, value.scalar)
            } else {
                left -= look(at: slot, view, parts: isDoubtful ? nil : parts)
            }
        }
        return false
    }

    /// Takes a record that matches into the page if it belongs there, without a look at it. Returns the work in units.
    private func take(_ slot: Int32, _ view: View, _ sortValue: StoredScalar?) -> Int {
        let created = view.slots.created(slot)
        guard isOfType(slot, view), collector.admits(sortValue, created: created) else { return 1 }
        recordsRead += 1
        collector.keep(created: created, zone: Int32(targetIndex), slot: slot, mayRepeat: false)
        return 1
    }

    private func isOfType(_ slot: Int32, _ view: View) -> Bool {
        !view.slots.isDeleted(slot) && (query.recordType.isEmpty || view.slots.isOfType(query.recordType, slot))
    }

    /// Takes a record of the moment that is shown into the page if it belongs there. Returns the work in units.
    ///
    /// - Parameter parts: Of the predicate, those that are not known to hold; nil: all of them, and the record may be there already.
    private func look(at slot: Int32, _ view: View, parts: [Int]?) -> Int {
        let created = view.slots.created(slot)
        guard collector.admits(created: created), isOfType(slot, view) else { return 1 }
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
