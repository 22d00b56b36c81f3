package import BrumeModel

/// The changes of a user's shared database: which zones of others came, went and changed since a token.
///
/// First those that came and went, which the user's own database knows, then those that changed, from what the owners'
/// databases tell. No owner's database is asked: a page costs the zones that it tells of.
extension Database {
    /// One page. Without a token, and where what the token says of changes is of another run: all zones that there are.
    ///
    /// - Throws: `changeTokenExpired`, as for other databases.
    package func sharedDatabaseChanges(
        since token: SharedDatabaseToken?, touches: ZoneTouches, resultsLimit: Int
    ) throws(ServiceError) -> DatabaseChangesPage<SharedDatabaseToken> {
        if let token { try check(token.zones) }
        let countLimit = resultsLimit > 0 ? min(resultsLimit, Limits.pageBytes / 512) : Limits.changesPerPage
        let head = sharedZones.head
        var position = token?.zones.position ?? .start
        // The device knows of no zone that went by then, or was told.
        var firstFetchHead = token?.zones.firstFetchHead ?? head
        var touchSequence = token?.touchSequence ?? touches.sequence
        if let token, token.touchRun != touches.run {
            firstFetchHead = max(position, firstFetchHead)
            position = .start
            touchSequence = touches.sequence
        }
        var page = DatabaseChangesPage<SharedDatabaseToken>(
            changed: [], deletions: [],
            token: SharedDatabaseToken(
                zones: ChangeToken(kind: .database, epoch: 0, incarnation: 0, position: .start),
                touchRun: touches.run, touchSequence: touchSequence),
            moreComing: false)
        let begin = position
        for entry in sharedZones.current(after: begin) {
            if entry.isEnded, entry.position <= firstFetchHead { continue }
            let cameAgain = !entry.isEnded && entry.earlierEnd > max(begin, firstFetchHead)
            if page.changed.count + page.deletions.count >= countLimit {
                page.moreComing = true
                break
            }
            if entry.isEnded {
                page.deletions.append(.init(zone: entry.zone.id, reason: .deleted))
            } else {
                // What the device has of the earlier part goes first.
                if cameAgain { page.earlierDeletions.append(.init(zone: entry.zone.id, reason: .deleted)) }
                page.changed.append(entry.zone.id)
            }
            position = entry.position
        }
        if !page.moreComing {
            position = head
            let told = Set(page.changed)
            for (zone, sequence) in touches.zones(after: touchSequence) where sharedZones.zone(zone) != nil {
                if told.contains(zone) { continue }
                if page.changed.count + page.deletions.count >= countLimit {
                    page.moreComing = true
                    break
                }
                page.changed.append(zone)
                page.token.touchSequence = sequence
            }
            if !page.moreComing { page.token.touchSequence = touches.sequence }
        }
        page.token.zones = ChangeToken(
            kind: .database, epoch: run(of: head), incarnation: 0, position: position,
            firstFetchHead: firstFetchHead > position ? firstFetchHead : .start,
            pageHead: position < head ? head : .start)
        return page
    }

    private func check(_ token: ChangeToken) throws(ServiceError) {
        if token.epoch != run(of: token.horizon) || token.horizon > sharedZones.head {
            throw ServiceError(
                .changeTokenExpired,
                "the token is of a time that the server's data does not hold; fetch without a token to start over")
        }
        if token.historyStart < sharedZones.floor {
            throw ServiceError(
                .changeTokenExpired,
                "the token is from before the zones that went which the database still knows; fetch without a token to"
                    + " start over")
        }
    }
}
