internal import BrumeModel
internal import BrumeRecord

/// How a run reads the records of one zone after the other.
extension QueryRun {
    /// What a step reads of a zone, as it was at the moment that the query shows.
    struct View {
        let slots: RecordSlots
        let changed: Set<Int32>
        let count: Int32
        let ordinals: OrdinalTable?
        /// The trees that the user sees; nil for one who sees all of the zone.
        let trees: GuestTrees?

        init(_ target: QueryTarget) {
            trees = target.guestTrees
            slots = target.slots
            changed = target.changed
            count = Int32(target.slots.count)
            ordinals = target.indexes?.ordinals
        }

        /// Whether a place of the zone is as the indexes have it.
        func isUnchanged(_ slot: Int32) -> Bool {
            slot < count && (changed.isEmpty || !changed.contains(slot))
        }

        /// Whether the user sees the record of a place.
        func isVisible(_ slot: Int32) -> Bool { trees?.isVisible(slot) ?? true }

        func candidate(_ ordinal: UInt32) -> Candidate {
            Candidate(slot: ordinals!.slot(of: ordinal), created: ordinals!.created(of: ordinal))
        }
    }

    /// Restarts the sources: commits may have changed indexes since the step before.
    func restartSources() {
        guard scan != nil else { return }
        for position in scan!.sources.indices { scan!.sources[position].restart() }
    }

    /// Continues in the current zone. Returns the work in units.
    func read(_ budget: Int) -> Int {
        guard scan != nil else {
            let target = targets[targetIndex]
            scan = plan(target)
            return target.indexes == nil ? 1 : planner.planUnits
        }
        let view = View(targets[targetIndex])
        if heldLook != nil || !waitingLooks.isEmpty {
            var left = budget
            lookAtWaiting(view, &left)
            return max(1, budget - left)
        }
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
        case .tree(var entries, let number):
            isFinished = readTree(&entries, number, view, parts, &left)
            source = .tree(entries, number: number)
        case .names(let names, var next):
            guard let zone = database.zoneIndexOfIncarnation[targets[targetIndex].incarnation] else {
                // The zone is gone, and with it the look-up of its names. Some of its records may have been kept
                // already.
                scan = .through(view.slots, parts: planner.openParts, mayRepeat: true)
                return 1
            }
            while next < names.count, left > 0 {
                // The zone as it is now: a record that got the name since then is among the places that changed.
                let slot = database.liveSlot(of: names[next], inZoneAt: zone)
                left -= slot.map { view.isUnchanged($0) ? look(at: $0, view, parts: parts, left) : 1 } ?? 1
                next += 1
            }
            isFinished = next == names.count
            source = .names(names, next: next)
        case .changed(let slots, var next):
            while next < slots.count, left > 0 {
                left -= slots[next] < view.count ? look(at: slots[next], view, parts: nil, left) : 1
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

    private func plan(_ target: QueryTarget) -> ZoneScan {
        if let trees = target.guestTrees {
            let scan = ZoneScan.through(trees, parts: planner.openParts)
            recordsEstimated += scan.recordsEstimated
            (scanSteps, partsAsked) = (scan.steps, scan.parts)
            return scan
        }
        let scan =
            target.indexes.flatMap { planner.scan($0) } ?? ZoneScan.through(target.slots, parts: planner.openParts)
        if scanSteps.count < 16 { scanSteps += scan.steps.prefix(16) }
        if partsAsked == nil { partsAsked = scan.parts }
        recordsEstimated += scan.recordsEstimated
        return scan
    }

    private func readSlots(_ next: inout Int32, _ view: View, _ parts: [Int], _ left: inout Int) -> Bool {
        while next < view.count, left > 0 {
            left -= view.isUnchanged(next) ? look(at: next, view, parts: parts, left) : 1
            next += 1
        }
        return next == view.count
    }

    private func readTree(
        _ entries: inout Feed.Entries, _ number: UInt32, _ view: View, _ parts: [Int], _ left: inout Int
    ) -> Bool {
        while left > 0 {
            guard let entry = entries.next() else { return true }
            let isMember = view.trees?.numbers[entry.slot] == number && view.isUnchanged(entry.slot)
            left -= isMember ? look(at: entry.slot, view, parts: parts, left) : 1
        }
        return false
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
            // Numbers rise with creation: what follows comes after this one.
            if collector.isFull, let last = collector.last, candidate.created.rawValue > last.created.rawValue {
                return true
            }
            left -= look(at: slot, view, parts: parts, createdAt: candidate.created, left)
        }
        return false
    }

    /// The next number that all streams have: each in turn moves to where the one before stands, until all agree.
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
        // The rest is far away, or has no place.
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
                // The rest has no place.
                scan!.sources.append(.streams([OrdinalStream(far.all, [0])], next: 0))
                return true
            }
            // An older record that is as far away would come first.
            if collector.isFull, case .double(let last) = collector.last?.first, last > metres { return true }
            far.goOn()
            // Distances of four squares, and what stands in them.
            left -= 8
        }
        return false
    }

    /// A record that an index leads to: of the type that is asked for.
    struct Candidate {
        /// Nil for a record that is gone.
        let slot: Int32?
        let created: ChangePosition
        var isDoubtful = false
    }

    /// Looks at the next few records. They are spread over the memory: touched all at once, they are fetched together.
    ///
    /// - Parameter next: Returns the next record, or nil at the end.
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
                let candidate = candidates[index]
                let parts = candidate.isDoubtful ? nil : parts
                if heldLook != nil {
                    waitingLooks.append(Look(slot: candidate.slot!, created: candidate.created, parts: parts))
                } else {
                    left -= look(at: candidate.slot!, view, parts: parts, createdAt: candidate.created, left)
                }
            }
        }
    }

    private func isOfType(_ slot: Int32, _ view: View) -> Bool {
        !view.slots.isDeleted(slot) && view.isVisible(slot)
            && (query.recordType.isEmpty || view.slots.isOfType(query.recordType, slot))
    }

    /// Takes a record of the moment that is shown into the page if it belongs there. Returns the work in units.
    ///
    /// A record whose evaluation takes more than what is left of the step is held; the returned work is then more than
    /// what is left, so that the caller stops.
    ///
    /// - Parameters:
    ///   - parts: The parts of the predicate that are not known to hold; nil for all of them, where the record may also
    ///     have been kept already.
    ///   - known: When it was created, if an index of its type led to it: then its slot is not looked at.
    ///   - left: What is left of the step.
    func look(
        at slot: Int32, _ view: View, parts: [Int]?, createdAt known: ChangePosition? = nil, _ left: Int
    ) -> Int {
        let created = known ?? view.slots.created(slot)
        guard collector.admits(created: created), known != nil || isOfType(slot, view) else { return 1 }
        recordsRead += 1
        if let parts, parts.isEmpty, collector.isInOrderOfCreation {
            collector.keep(created: created, zone: Int32(targetIndex), slot: slot, mayRepeat: scan!.mayRepeat)
            return 1
        }
        let look = Look(slot: slot, created: created, parts: parts)
        var units = max(left, 1) * QueryRun.evaluationUnits
        let given = units
        let isFinished = view.slots.withBytes(of: slot) { bytes in
            evaluator.load(bytes)
            return finish(look, bytes, &units)
        }
        if !isFinished {
            heldLook = HeldLook(look: look, record: view.slots.bytes(of: slot))
            return left + 1
        }
        return lookUnits + view.slots.byteCount(of: slot) / 512 + (given - units) / QueryRun.evaluationUnits
    }

    /// Checks a record that is loaded against the predicate. Returns false when the units are spent before that is
    /// done.
    private func finish(_ look: Look, _ bytes: UnsafeRawBufferPointer, _ units: inout Int) -> Bool {
        guard collector.admits(evaluator.fields, created: look.created) else { return true }
        switch evaluator.evaluate(bytes, parts: look.parts, units: &units) {
        case .fails: return true
        case .unfinished: return false
        case .matches:
            collector.keep(
                created: look.created, zone: Int32(targetIndex), slot: look.slot,
                mayRepeat: look.parts == nil || scan!.mayRepeat)
            return true
        }
    }

    /// Continues with the record that is held, then with those that wait for it.
    private func lookAtWaiting(_ view: View, _ left: inout Int) {
        if var held = heldLook {
            var units = max(left, 1) * QueryRun.evaluationUnits
            let given = units
            let isFinished = held.record.withUnsafeBytes { bytes in
                // The bytes of a held record stay where they are; should they move all the same, it is begun anew.
                if held.address != bytes.baseAddress {
                    evaluator.load(bytes)
                    held.address = bytes.baseAddress
                }
                return finish(held.look, bytes, &units)
            }
            heldLook = isFinished ? nil : held
            left -= isFinished ? 1 + (given - units) / QueryRun.evaluationUnits : left + 1
        }
        while left > 0, let next = waitingLooks.popLast() {
            left -= look(at: next.slot, view, parts: next.parts, createdAt: next.created, left)
        }
    }

    /// What checking a record against the predicate costs, apart from its size: a predicate may have thousands of
    /// terms.
    private var lookUnits: Int { 1 + evaluator.nodes.count / 64 }

    /// The number of the evaluator's units in one unit of a step.
    private static let evaluationUnits = 1_024
}

extension QueryRun {
    /// A record that is to be checked against the predicate.
    struct Look {
        let slot: Int32
        let created: ChangePosition
        /// See ``QueryRun/look(at:_:parts:createdAt:_:)``.
        let parts: [Int]?
    }

    /// A record whose evaluation is under way.
    struct HeldLook {
        let look: Look
        /// Keeps the bytes where they are while commits go on.
        let record: SharedBytes
        /// Where the evaluator has loaded it from.
        var address: UnsafeRawPointer?

        init(look: Look, record: SharedBytes) {
            self.look = look
            self.record = record
            address = record.withUnsafeBytes { $0.baseAddress }
        }
    }
}
