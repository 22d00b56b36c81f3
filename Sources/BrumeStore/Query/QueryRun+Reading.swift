internal import BrumeModel
internal import BrumeWire

/// How a run reads the records of one zone after the other.
extension QueryRun {
    /// What a step reads of a zone: of the moment that the query shows.
    struct View {
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

        func candidate(_ ordinal: UInt32) -> Candidate {
            Candidate(slot: ordinals!.slot(of: ordinal), created: ordinals!.created(of: ordinal))
        }
    }

    /// Commits may have changed indexes since the step before.
    func restartSources() {
        guard scan != nil else { return }
        for position in scan!.sources.indices { scan!.sources[position].restart() }
    }

    /// Goes on in the current zone. Returns the work in units.
    func read(_ budget: Int) -> Int {
        if scan == nil { scan = plan(targets[targetIndex]) }
        let view = View(targets[targetIndex])
        guard var source = scan!.sources.popLast() else {
            if scan!.isAtChanged || view.changed.isEmpty {
                targetIndex += 1
                scan = nil
            } else {
                // What changes from now on was looked at before.
                scan!.isAtChanged = true
                scan!.sources.append(.changed(Array(view.changed), next: 0))
            }
            return 1
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
        case .changed(let slots, var next):
            while next < slots.count, left > 0 {
                left -= slots[next] < view.count ? look(at: slots[next], view, parts: nil) : 1
                next += 1
            }
            isFinished = next == slots.count
            source = .changed(slots, next: next)
        case .streams(var streams, var next):
            isFinished = readStreams(&streams, &next, view, parts, &left)
            source = .streams(streams, next: next)
        case .ranges(var reader):
            isFinished = readRanges(&reader, view, parts, &left)
            source = .ranges(reader)
        case .sorted(var reader, var filter):
            while filter?.isGathered == false, left > 0 { gather(&filter!, &left) }
            isFinished =
                filter?.isGathered != false && readSorted(&reader, filter?.set, view, parts, &left)
            source = .sorted(reader, filter)
        case .rings(var rings):
            isFinished = readRings(&rings, view, parts, &left)
            source = .rings(rings)
        case .far(var far):
            isFinished = readFar(&far, view, parts, &left)
            source = .far(far)
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
        if partsAsked == nil { partsAsked = scan.parts }
        recordsEstimated += scan.recordsEstimated
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
                    return view.candidate(ordinal)
                }
            }
            return isAtEnd
        }
        while left > 0 {
            guard let ordinal = nextCommon(&streams, trees, next) else { return true }
            next = ordinal + 1
            left -= 1
            let candidate = view.candidate(ordinal)
            guard let slot = candidate.slot, view.isUnchanged(slot) else { continue }
            // Numbers rise with creation: what follows stands behind this one.
            if collector.isFull, let last = collector.last, candidate.created.rawValue > last.created.rawValue {
                return true
            }
            left -= look(at: slot, view, parts: parts, createdAt: candidate.created)
        }
        return false
    }

    /// Each stream in turn goes on to where the one before stands, until all stand at one number.
    func nextCommon(
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
                var candidate = view.candidate(entry.ordinal)
                candidate.isDoubtful = !doubtfulKeys.isEmpty && doubtfulKeys.contains(entry.key)
                return candidate
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

    private func readFar(_ far: inout FarReader, _ view: View, _ parts: [Int], _ left: inout Int) -> Bool {
        if far.reader != nil {
            guard readRanges(&far.reader!, view, parts, &left) else { return false }
            far.reader = nil
        }
        while left > 0, far.reader == nil {
            guard let metres = far.metres else {
                // The rest is nowhere.
                scan!.sources.append(.streams([OrdinalStream(far.all, [0])], next: 0))
                return true
            }
            // One that is as far away and older would stand in front.
            if collector.isFull, case .double(let last) = collector.last?.first, last > metres { return true }
            far.goOn()
            // Distances of four squares, and what stands in them.
            left -= 8
        }
        return false
    }

    /// A record that an index leads to: of the type that is asked for.
    struct Candidate {
        /// Nil: gone.
        let slot: Int32?
        let created: ChangePosition
        var isDoubtful = false
    }

    /// Looks at the next few records. They are spread over the memory: asked for all at once, they come together.
    ///
    /// - Parameter next: Nil at the end.
    private func lookAhead(_ view: View, _ parts: [Int], _ left: inout Int, _ next: () -> Candidate?) {
        withUnsafeTemporaryAllocation(of: Candidate.self, capacity: 32) { candidates in
            var count = 0
            var passed = 0
            while count < min(left / lookUnits + 1, candidates.count), passed < 8 * candidates.count,
                let candidate = next()
            {
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
                left -= look(
                    at: candidates[index].slot!, view, parts: candidates[index].isDoubtful ? nil : parts,
                    createdAt: candidates[index].created)
            }
        }
    }

    private func isOfType(_ slot: Int32, _ view: View) -> Bool {
        !view.slots.isDeleted(slot) && (query.recordType.isEmpty || view.slots.isOfType(query.recordType, slot))
    }

    /// Takes a record of the moment that is shown into the page if it belongs there. Returns the work in units.
    ///
    /// - Parameters:
    ///   - parts: Of the predicate, those that are not known to hold; nil: all of them, and the record may be there already.
    ///   - known: When it was created, where an index of its type led to it: then its slot is not looked at.
    func look(at slot: Int32, _ view: View, parts: [Int]?, createdAt known: ChangePosition? = nil) -> Int {
        let created = known ?? view.slots.created(slot)
        guard collector.admits(created: created), known != nil || isOfType(slot, view) else { return 1 }
        recordsRead += 1
        let mayRepeat = parts == nil || scan!.mayRepeat
        if let parts, parts.isEmpty, collector.isInOrderOfCreation {
            collector.keep(created: created, zone: Int32(targetIndex), slot: slot, mayRepeat: mayRepeat)
            return 1
        }
        view.slots.withBytes(of: slot) { bytes in
            evaluator.load(bytes)
            guard collector.admits(evaluator.fields, created: created),
                parts.map({ evaluator.matchesLoaded(bytes, parts: $0) }) ?? evaluator.matchesLoaded(bytes)
            else {
                return
            }
            collector.keep(created: created, zone: Int32(targetIndex), slot: slot, mayRepeat: mayRepeat)
        }
        return lookUnits + view.slots.byteCount(of: slot) / 512
    }

    /// What a record costs that is held against the predicate, beside its size: a predicate may have thousands of terms.
    private var lookUnits: Int { 1 + evaluator.nodes.count / 64 }
}
