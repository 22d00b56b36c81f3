internal import BrumeModel

/// What users are told of a zone in which trees of records are shared with them.
extension Database {
    /// Brings the trees of a zone up to date with what a commit changed in it.
    ///
    /// - Returns: For whom that is a change; nil in a zone in which no records are shared by themselves.
    @discardableResult
    func settleTrees(inZoneAt index: Int) -> [TouchedTree]? {
        let history = history
        return zoneStates.withUnsafeMutableBufferPointer { zones in
            if !zones[index].trees.isUnsettled { return zones[index].trees.isEmpty ? nil : [] }
            zones[index].settleTrees(history: history)
            return zones[index].trees.takeTouched()
        }
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
        var page = ZoneChangesPage<SharedBytes, ChangeToken>(
            records: [], deletions: [],
            token: token ?? ChangeToken(kind: .zone, epoch: 0, incarnation: 0, position: .start),
            moreComing: false)
        var bytes = 0
        var fieldsRead = 0
        while let next = feed.next() {
            let count = page.records.count + page.deletions.count
            var shown: ShownRecord?
            var cost = 0
            switch next.item {
            case .nothing:
                last = next.place
                if feed.lookCount <= StoreLimits.treeEntriesPerPage { continue }
                page.moreComing = true
            case .record(let slot):
                let record = self.shown(
                    slot, of: zone.slots, desiredKeys, zone: zone.incarnation, to: caller.user)
                if desiredKeys != nil {
                    fieldsRead += Database.fieldsReadAtMost(inBytes: zone.slots.byteCount(of: slot))
                }
                (shown, cost) = (record, record.cost)
            case .deletion(let name, let type):
                cost = name.utf8.count + type.utf8.count + Database.deletionOverheadBytes
            }
            if page.moreComing { break }
            if count > 0 {
                let isFull =
                    count >= countLimit ?? Limits.changesPerPage || bytes + cost > Limits.pageBytes
                    || fieldsRead > Limits.pageFieldsRead || feed.lookCount > StoreLimits.treeEntriesPerPage
                let completesCommit =
                    next.place.outer.sequence == last.outer.sequence
                    && next.place.inner.sequence == last.inner.sequence
                    && count < countLimit ?? StoreLimits.treeItemsPerPage
                    && bytes + cost <= Database.completedPageBytes
                if isFull, !completesCommit {
                    page.moreComing = true
                    break
                }
            }
            switch next.item {
            case .nothing: preconditionFailure("nothing is told")
            case .record: page.records.append(shown!.record)
            case .deletion(let name, let type): page.deletions.append(DeletedRecord(name: name, type: type))
            }
            bytes += cost
            last = next.place
        }
        if !page.moreComing { last = TreePlace(outer: head, inner: .start) }
        page.token = ChangeToken(
            kind: .zone, epoch: run(of: max(head, last.outer, last.inner)),
            incarnation: incarnation(ofZoneAt: index, for: caller),
            position: last.outer, firstFetchHead: firstFetchHead > last.outer ? firstFetchHead : .start,
            pageHead: page.moreComing ? head : .start, blockPosition: last.inner)
        return page
    }
}
