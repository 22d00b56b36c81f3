package import BrumeModel

/// What a user's own database keeps of zones of others (Documentation/CloudKit.md, Sharing).
///
/// Taking part concerns two databases, and a server may end between their commits. So the user's database notes first
/// that it asks; then the owner's database commits the acceptance, which alone counts; then the user's one lists the
/// zone. What is noted and not answered is asked again when the database is loaded. How a part ends the owner's
/// database tells, each time that it refuses somebody who has the zone on their list.
extension Database {
    /// Notes that the user is about to take part in a zone. Nil if that is noted.
    ///
    /// - Throws: `limitExceeded`.
    package func ask(_ zone: AskedZone, nowMilliseconds: Int64) throws(ServiceError) -> Commit? {
        if sharedZones.asked.contains(zone) { return nil }
        if sharedZones.count + sharedZones.asked.count >= Limits.sharedZonesPerUser { throw Self.tooManySharedZones }
        if sharedZones.asked.count >= Limits.askedZonesPerUser { throw Self.tooManyAskedZones }
        var builder = CommitBuilder(sequence: sequence + 1)
        builder.append(.sharedZoneAsked(zone))
        sharedZones.ask(zone)
        return finish(builder, nowMilliseconds: nowMilliseconds)
    }

    /// What a request in zones of another user is answered if the user takes part in none of them, and has left some:
    /// nothing is there to be deleted any more, so deletions alone succeed, as they do when a share is left again. Nil
    /// if the user has left none.
    ///
    /// - Parameter owner: Of the zones.
    package func resultsInZonesLeft(
        _ request: ModifyRecordsRequest<CheckedFields>, of owner: String
    ) -> [ZoneModificationResult<SharedBytes>]? {
        let hasEnded = request.zones.map { sharedZones.hasEnded(ZoneID(name: $0.zone.name, owner: owner)) }
        guard hasEnded.contains(true) else { return nil }
        return zip(request.zones, hasEnded).map { zone, hasEnded in
            guard hasEnded, zone.saves.isEmpty else { return ZoneBatch.refusal(of: zone, Database.noPartInZone) }
            return ZoneModificationResult(saves: [], deletions: zone.deletions.map { zone.refusedDeletions[$0] })
        }
    }

    /// Takes what an owner's database said of the user's part in a zone. Nil if that is known, or newer news came.
    package func note(_ news: SharedZoneNews, nowMilliseconds: Int64) -> Commit? {
        var builder = CommitBuilder(sequence: sequence + 1)
        let asked = AskedZone(owner: news.id.owner, incarnation: news.incarnation)
        let known = sharedZones.zone(news.id)
        if let zone = news.zone {
            if known != zone, known.map({ !news.isOlder(than: $0) }) ?? true {
                builder.append(.sharedZonePut(zone))
                sharedZones.put(zone, at: builder.nextPosition())
            }
        } else if let known, !news.isOlder(than: known),
            news.incarnation == 0 || news.incarnation == known.incarnation
        {
            builder.append(.sharedZoneEnd(known.id))
            _ = sharedZones.end(known.id, at: builder.nextPosition())
        }
        if sharedZones.asked.contains(asked) {
            builder.append(.sharedZoneAnswered(asked))
            sharedZones.answered(asked)
        }
        return finish(builder, nowMilliseconds: nowMilliseconds)
    }

    /// Replays one of the changes above.
    func apply(sharedZone change: Change, builder: inout CommitBuilder) throws(ServiceError) {
        guard id.scope == .private else {
            throw ServiceError(.internalError, "a database keeps zones of others that is no user's own")
        }
        switch change {
        case .sharedZoneAsked(let zone): sharedZones.ask(zone)
        case .sharedZoneAnswered(let zone): sharedZones.answered(zone)
        case .sharedZonePut(let zone): sharedZones.put(zone, at: builder.nextPosition())
        case .sharedZoneEnd(let zone):
            guard sharedZones.end(zone, at: builder.nextPosition()) else {
                throw ServiceError(.internalError, "a zone of another user goes that is not listed")
            }
        default: preconditionFailure("the change is of none of the zones of others")
        }
    }

    private static let tooManySharedZones = ServiceError(
        .limitExceeded,
        "the shared database has \(Limits.sharedZonesPerUser) zones, the most it may have; leave one first")
    private static let tooManyAskedZones = ServiceError(
        .limitExceeded, "\(Limits.askedZonesPerUser) shares are being accepted, the most at a time; try again shortly",
        retryAfterMilliseconds: 1_000)
}
