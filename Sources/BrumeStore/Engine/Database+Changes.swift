package import BrumeModel

extension Database {
    /// One page of what changed in a custom zone since a token: each record once, in its latest state, oldest change
    /// first.
    ///
    /// Without a token: the records that exist, no deletions. (A first fetch of several pages reports deletions that
    /// happen during it; a device that does not know the record ignores them.) Always ends in a token, which is never
    /// ahead of what the page holds.
    ///
    /// The server's own page (`resultsLimit` 0) ends where ``PageRoom`` says, and then completes the commit that it is
    /// in while the page fits into a frame, so that an atomic batch arrives whole. A limit of the caller's ends the
    /// page wherever it is reached.
    ///
    /// Throws `changeTokenExpired` for a token of another time of this database, of an earlier zone of this name, or
    /// from before what the zone's history reaches: fetch from the start. Throws `zoneNotFound`, and
    /// `invalidArguments` for the default zone.
    ///
    /// - Parameter caller: The page holds the client token of their device. For a user who takes part in the zone, and
    ///   does not own it, tokens are of their part in it.
    package func zoneChanges(
        zone: ZoneID, since token: ChangeToken?, resultsLimit: Int, desiredKeys: DesiredKeys?, caller: Caller? = nil
    ) throws(ServiceError) -> ZoneChangesPage<SharedBytes, ChangeToken> {
        let caller = caller ?? ownCaller
        let index = try zoneIndex(of: zone, for: caller).get()
        if zoneStates[index].isDefault {
            throw ServiceError(
                .invalidArguments, "the default zone keeps no history; use a custom zone, or fetch records by id")
        }
        let member = isOwn(caller) ? nil : member(caller, ofZoneAt: index)
        if let token { try check(token, ofZoneAt: index, caller, member) }
        let countLimit = resultsLimit > 0 ? resultsLimit : nil
        var page: ZoneChangesPage<SharedBytes, ChangeToken>
        if case .trees(let trees) = member?.reach {
            page = self.page(
                ofTreesInZoneAt: index, for: caller, trees, since: token, countLimit: countLimit,
                desiredKeys: desiredKeys)
        } else {
            page = self.page(
                ofZoneAt: index, for: caller, member, since: token, countLimit: countLimit, desiredKeys: desiredKeys)
        }
        page.clientToken = zoneStates[index].clientTokens[caller.device]
        return page
    }

    /// A token from which the changes of a custom zone are those of a first fetch that begins now; nil for the default
    /// zone and for one that does not exist.
    ///
    /// A device that gets it before it saves its first record in the zone is told of every deletion of its records,
    /// which a fetch without a token would leave out.
    package func firstFetchToken(of zone: ZoneID, for caller: Caller? = nil) -> ChangeToken? {
        let caller = caller ?? ownCaller
        guard case .success(let index) = zoneIndex(of: zone, for: caller), !zoneStates[index].isDefault else {
            return nil
        }
        let head = lastChange(inZoneAt: index, shownTo: isOwn(caller) ? nil : member(caller, ofZoneAt: index))
        return ChangeToken(
            kind: .zone, epoch: run(of: head), incarnation: incarnation(ofZoneAt: index, for: caller),
            position: .start, firstFetchHead: head)
    }

    /// The last change in a zone that a user is shown.
    ///
    /// - Parameter member: Their part in it; nil for the owner.
    private func lastChange(inZoneAt index: Int, shownTo member: ZoneMember?) -> ChangePosition {
        guard let member else { return zoneStates[index].lastChange }
        return switch member.reach {
        case .trees(let trees): trees.head(zoneStates[index].trees)
        case .zone: zoneStates[index].lastChange(shownTo: member)
        }
    }

    private func check(
        _ token: ChangeToken, ofZoneAt index: Int, _ caller: Caller, _ member: ZoneMember?
    ) throws(ServiceError) {
        let zone = zoneStates[index]
        if token.kind != .zone {
            throw ServiceError(.invalidArguments, "the token is not a zone's; use the one that the zone's changes gave")
        }
        try checkRun(of: token)
        if token.incarnation != incarnation(ofZoneAt: index, for: caller) {
            throw ServiceError(
                .changeTokenExpired,
                "the token is of a zone that was deleted and made again, or that the user left and came back to; start"
                    + " over",
                detail: .zoneMadeAgain)
        }
        if case .trees(let trees) = member?.reach { return try check(token, of: trees, ofZoneAt: index) }
        if token.horizon > zone.lastChange { throw Database.tokenIsAhead }
        if token.historyStart < zone.floor { throw Database.tokenIsTooOld }
    }

    static let tokenIsAhead = ServiceError(
        .changeTokenExpired, "the token is ahead of the zone's history; start over")
    static let tokenIsTooOld = ServiceError(
        .changeTokenExpired,
        "the token is from before the deletions that the zone still knows; fetch without a token to start over")

    /// Whether the commits up to the token's horizon are those that its maker meant; see ``RunHistory``.
    private func checkRun(of token: ChangeToken) throws(ServiceError) {
        if token.epoch != run(of: token.horizon) {
            throw ServiceError(
                .changeTokenExpired,
                "the token is of a time that the server's data does not hold: it was restored, or the token is very old; "
                    + "fetch without a token to start over")
        }
    }

    private func page(
        ofZoneAt index: Int, for caller: Caller, _ member: ZoneMember?, since token: ChangeToken?, countLimit: Int?,
        desiredKeys: DesiredKeys?
    ) -> ZoneChangesPage<SharedBytes, ChangeToken> {
        let quiet = zoneStates[index].quietShare(for: member)
        let position = token?.position ?? .start
        let head = max(lastChange(inZoneAt: index, shownTo: member), position)
        let firstFetchHead = token?.firstFetchHead ?? head
        var records: [SharedBytes] = []
        var deletions: [DeletedRecord] = []
        var room = PageRoom(countLimit: countLimit)
        var last = position
        var moreComing = false
        let slots = zoneStates[index].slots
        for entry in ShownEntries(zoneStates[index].feed, after: last, quiet) {
            // Read property by property: a copy of the slot would cost reference counting.
            let isDeleted = slots.isDeleted(entry.slot)
            let isCurrent = entry.slot == quiet?.slot || slots.position(of: entry.slot) == entry.position
            if !isCurrent || isDeleted && entry.position <= firstFetchHead { continue }
            let shown =
                isDeleted
                ? ShownRecord(SharedBytes(), readBytes: 0)
                : self.shown(entry.slot, of: slots, desiredKeys, zone: zoneStates[index].incarnation, to: caller.user)
            let fields = desiredKeys == nil ? 0 : Database.fieldsReadAtMost(inBytes: shown.readBytes)
            let deletion = isDeleted ? DeletedRecord(name: slots[entry.slot].name, type: slots[entry.slot].type) : nil
            let goesOn = entry.position.sequence == last.sequence
            let cost = deletion.map(PageRoom.cost) ?? shown.cost
            guard room.take(cost, assetBytes: shown.assetBytes, fields: fields, goesOn: goesOn) else {
                moreComing = true
                break
            }
            if let deletion { deletions.append(deletion) } else { records.append(shown.record) }
            last = entry.position
        }
        // At the end nothing comes after the last change, whether or not it was of a kind that the page shows.
        if !moreComing { last = head }
        return ZoneChangesPage(
            records: records, deletions: deletions,
            token: ChangeToken(
                kind: .zone, epoch: run(of: head), incarnation: incarnation(ofZoneAt: index, for: caller),
                position: last,
                firstFetchHead: firstFetchHead > last ? firstFetchHead : .start,
                pageHead: moreComing ? head : .start),
            moreComing: moreComing)
    }

    /// The most fields that showing a record in part reads: no field has fewer than about eight bytes.
    static func fieldsReadAtMost(inBytes byteCount: Int) -> Int { min(byteCount / 8, Limits.fieldsPerRecord) }

    /// One page of the zones that changed, were made or were deleted since a token, ordered by their last change. The
    /// default zone never appears.
    ///
    /// Without a token: the zones that exist. For a zone that was deleted and made again both are reported, each at
    /// its place: the deletion among ``DatabaseChangesPage/earlierDeletions``, before the change or with it.
    ///
    /// Throws `changeTokenExpired` as ``zoneChanges(zone:since:resultsLimit:desiredKeys:)`` does, and
    /// `invalidArguments` for the public database.
    package func databaseChanges(
        since token: ChangeToken?, resultsLimit: Int
    ) throws(ServiceError) -> DatabaseChangesPage<ChangeToken> {
        if id.scope == .public {
            throw ServiceError(.invalidArguments, "the public database keeps no history; fetch records by id")
        }
        if let token {
            if token.kind != .database {
                throw ServiceError(
                    .invalidArguments, "the token is not a database's; use the one that the database's changes gave")
            }
            try checkRun(of: token)
            if token.horizon > zoneFeedHead {
                throw ServiceError(.changeTokenExpired, "the token is ahead of the database's history; start over")
            }
            if token.historyStart < zoneFeedFloor {
                throw ServiceError(
                    .changeTokenExpired,
                    "the token is from before the deleted zones that the database still knows; fetch without a token to "
                        + "start over")
            }
        }
        // An entry is at most a name of 255 bytes: the bound on the count bounds the page's bytes.
        let countLimit = resultsLimit > 0 ? min(resultsLimit, Limits.pageBytes / 512) : Limits.changesPerPage
        let firstFetchHead = token?.firstFetchHead ?? zoneFeedHead
        var page = DatabaseChangesPage<ChangeToken>(
            changed: [], deletions: [], token: databaseToken(at: zoneFeedHead, firstFetchHead), moreComing: false)
        var last = token?.position ?? .start
        for entry in zoneFeed.entries(after: last) {
            let state = zoneStates[Int(entry.slot)]
            let isDeletion = state.deletion != nil || state.lastChange != entry.position
            if !state.isTold(at: entry.position) || isDeletion && entry.position <= firstFetchHead { continue }
            if page.changed.count + page.deletions.count + page.earlierDeletions.count >= countLimit {
                page.moreComing = true
                break
            }
            if let reason = state.deletion {
                page.deletions.append(.init(zone: state.id, reason: reason))
            } else if isDeletion, let earlier = state.earlierDeletion {
                page.earlierDeletions.append(.init(zone: state.id, reason: earlier.reason))
            } else {
                page.changed.append(state.id)
            }
            last = entry.position
        }
        page.token = databaseToken(at: page.moreComing ? last : zoneFeedHead, firstFetchHead)
        return page
    }

    /// The token of a page that ends at `position`; more is to come if the feed goes on after it.
    private func databaseToken(at position: ChangePosition, _ firstFetchHead: ChangePosition) -> ChangeToken {
        ChangeToken(
            kind: .database, epoch: run(of: zoneFeedHead), incarnation: 0, position: position,
            firstFetchHead: firstFetchHead > position ? firstFetchHead : .start,
            pageHead: position < zoneFeedHead ? zoneFeedHead : .start)
    }
}
