internal import BrumeModel

/// What users are told of a zone in which trees of records are shared with them.
extension Database {
    /// Brings the trees of a zone up to date with what a commit changed in it.
    ///
    /// - Parameter types: Of the records that it changed.
    /// - Returns: For whom that is a change; nil for everybody who takes part, in a zone that is shared as a whole.
    func settleTrees(inZoneAt index: Int, changing types: [String]) -> [TouchedTree]? {
        if let touched = settleTrees(inZoneAt: index) { return touched }
        // Looked at first: to call the method retains each part of the zone.
        if zoneStates[index].sharing.quietShare == nil { return nil }
        return zoneStates[index].touchedByQuietChange(of: types)
    }

    /// The same where records are shared by themselves; nil in every other zone.
    @discardableResult
    func settleTrees(inZoneAt index: Int) -> [TouchedTree]? {
        let history = history
        var moved = 0
        defer { movedRecords += moved }
        return zoneStates.withUnsafeMutableBufferPointer { zones in
            let hadTrees = !zones[index].trees.isEmpty
            if !zones[index].trees.isUnsettled { return hadTrees ? [] : nil }
            moved = zones[index].settleTrees(history: history)
            let touched = zones[index].trees.takeTouched()
            return hadTrees || !zones[index].trees.isEmpty ? touched : nil
        }
    }

    /// How many records commits moved between trees, since this was asked last, that the commits do not name. A replay
    /// finds them again, which takes about a microsecond for each: far more than their few bytes in the journal tell.
    package func takeMovedRecords() -> Int {
        if movedRecords == 0 { return 0 }
        defer { movedRecords = 0 }
        return movedRecords
    }

    /// Throws `changeTokenExpired` where a token of the user's reaches back behind what is known.
    func check(_ token: ChangeToken, of member: TreeMember, ofZoneAt index: Int) throws(ServiceError) {
        // Some of what is told has positions behind those of the commit's own changes.
        if token.horizon.sequence > zoneStates[index].lastChange.sequence { throw Database.tokenIsAhead }
        let isInBlock = token.blockPosition != .start
        if !member.reaches(back: token.historyStart, isInBlock: isInBlock, zoneStates[index].trees) {
            throw Database.tokenIsTooOld
        }
    }

    /// A page of what changed for a user: see ``TreeFeed``. The rules of its length are those of all pages.
    func page(
        ofTreesInZoneAt index: Int, for caller: Caller, _ member: TreeMember, since token: ChangeToken?,
        countLimit: Int?, desiredKeys: DesiredKeys?
    ) -> ZoneChangesPage<SharedBytes, ChangeToken> {
        let zone = zoneStates[index]
        let head = max(member.head(zone.trees), token?.position ?? .start)
        let firstFetchHead = token?.firstFetchHead ?? head
        var last = TreePlace(outer: token?.position ?? .start, inner: token?.blockPosition ?? .start)
        // A token that says nothing of a block is behind all that stands at its position.
        if last.inner == .start { last.inner = last.outer == .start ? .start : .last }
        var feed = TreeFeed(zone, member, after: last, known: firstFetchHead)
        var records: [SharedBytes] = []
        var deletions: [DeletedRecord] = []
        var room = PageRoom(countLimit: countLimit, completedItems: StoreLimits.treeItemsPerPage)
        var moreComing = false
        while !moreComing, let next = feed.next() {
            let isLate = feed.lookCount > StoreLimits.treeEntriesPerPage
            let goesOn =
                next.place.outer.sequence == last.outer.sequence && next.place.inner.sequence == last.inner.sequence
            switch next.item {
            case .nothing: moreComing = isLate
            case .record(let slot):
                let shown = shown(slot, of: zone.slots, desiredKeys, zone: zone.incarnation, to: caller.user)
                let fields = desiredKeys == nil ? 0 : Database.fieldsReadAtMost(inBytes: shown.readBytes)
                moreComing = !room.take(
                    shown.cost, assetBytes: shown.assetBytes, fields: fields, goesOn: goesOn, isLate: isLate)
                if moreComing { continue }
                records.append(shown.record)
            case .deletion(let deletion):
                moreComing = !room.take(PageRoom.cost(of: deletion), fields: 0, goesOn: goesOn, isLate: isLate)
                if moreComing { continue }
                deletions.append(deletion)
            }
            last = next.place
        }
        if !moreComing { last = TreePlace(outer: head, inner: .start) }
        return ZoneChangesPage(
            records: records, deletions: deletions,
            token: ChangeToken(
                kind: .zone, epoch: run(of: max(head, last.outer, last.inner)),
                incarnation: incarnation(ofZoneAt: index, for: caller), position: last.outer,
                firstFetchHead: firstFetchHead > last.outer ? firstFetchHead : .start,
                pageHead: moreComing ? head : .start, blockPosition: last.inner),
            moreComing: moreComing)
    }
}
