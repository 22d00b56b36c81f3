package import BrumeModel
internal import BrumeRecord

/// How users come to take part in what others share, and leave it (Documentation/CloudKit.md, Sharing).
extension Database {
    /// What came of a user's wish to take part in a share.
    package struct Acceptance: Sendable {
        package var share: AcceptedShare<SharedBytes>
        /// The user's part in the zone, for their own database.
        package var news: SharedZoneNews
    }

    /// A user takes part in a share. Accepting again changes nothing.
    ///
    /// - Throws: What ``Share/accept(_:through:owner:at:nowMilliseconds:newID:)`` does, and `unknownItem` for
    ///   a link that leads nowhere.
    package func acceptShare(
        _ link: ShareLink, by visitor: ShareVisitor, nowMilliseconds: Int64
    ) throws(ServiceError) -> Decision<Acceptance> {
        guard let place = place(of: link) else { throw Share.unknownURL }
        let zone = zoneStates[place.zone]
        var share = place.share
        var builder = CommitBuilder(sequence: sequence + 1)
        let (next, run) = (sequence + 1, run)
        let isChanged = try share.accept(
            visitor, through: link.key, owner: id.owner, at: ChangePosition(sequence: next, index: 0),
            nowMilliseconds: nowMilliseconds
        ) {
            let place = ShareAddresses.Place(run: run, sequence: next, zone: zone.incarnation)
            return shareAddresses.newSecret(place).prefix(16).hexadecimal
        }
        if isChanged {
            try put(
                share, over: place.share, at: place.slot, inZoneAt: place.zone, by: visitor.user, nowMilliseconds,
                into: &builder)
        }
        let commit = finish(builder, nowMilliseconds: nowMilliseconds)
        let news = news(of: visitor.user, inZoneNamed: zone.name, incarnation: zone.incarnation)
        precondition(news.zone != nil, "a user accepted a share, and takes no part in its zone")
        let id = ZoneID(name: zone.name, owner: id.owner)
        // Read again: what was put is told of its last shown change only where it is stored.
        let accepted = shown(
            place.slot, of: zoneStates[place.zone].slots, nil, zone: zone.incarnation, to: visitor.user)
        return Decision(
            answer: Acceptance(share: AcceptedShare(zone: id, share: accepted.record), news: news), commit: commit)
    }

    /// Whether a user may take part in a share, or does; throws what ``acceptShare(_:by:nowMilliseconds:)`` would.
    package func mayAccept(_ link: ShareLink, _ visitor: ShareVisitor) throws(ServiceError) {
        guard let place = place(of: link) else { throw Share.unknownURL }
        var share = place.share
        _ = try share.accept(
            visitor, through: link.key, owner: id.owner, at: .start, nowMilliseconds: 0, newID: { "0" })
    }

    /// A user who takes part in shares of a zone leaves them; any other has nothing to leave.
    ///
    /// - Parameters:
    ///   - shares: Their names; nil for all in which the user takes part.
    ///   - room: The bytes of stored shares that may still be changed. Shares that find none stay for another commit.
    /// - Returns: How many of the shares the user takes no part in any more, from the first on; and why not in the
    ///   others.
    private func leave(
        _ shares: [String]? = nil, zoneAt index: Int, _ caller: Caller, room: inout Int, nowMilliseconds: Int64,
        into builder: inout CommitBuilder
    ) -> (count: Int, error: ServiceError?) {
        guard let member = member(caller, ofZoneAt: index) else { return (shares?.count ?? 0, nil) }
        let shares = shares ?? zoneStates[index].shares(of: member)
        for (count, name) in shares.enumerated() {
            guard let slot = zoneStates[index].sharing.shares[name] else { continue }
            // One more goes through where there is any room, so that nobody has to stay.
            if room <= 0 { return (count, Database.sharesAreLeft) }
            let part = zoneStates[index][slot].sharing
            room -= part?.storedShare.count ?? 0
            guard let former = part?.decodedShare else { continue }
            var share = former
            if !share.leave(ShareVisitor(user: caller.user, handles: [])) { continue }
            do throws(ServiceError) {
                try put(
                    share, over: former, at: slot, inZoneAt: index, by: caller.user, nowMilliseconds, into: &builder)
            } catch {
                return (count, error)
            }
        }
        return (shares.count, nil)
    }

    /// A user leaves a zone, or as many of its shares as one commit may change.
    ///
    /// - Returns: The commit, if there is anything to leave, and whether it was all.
    package func leave(_ zone: AskedZone, user: String, nowMilliseconds: Int64) -> (commit: Commit?, isAll: Bool) {
        guard let index = zoneIndexOfIncarnation[zone.incarnation] else { return (nil, true) }
        var builder = CommitBuilder(sequence: sequence + 1)
        var room = StoreLimits.shareBytesLeftPerCommit
        let left = leave(
            zoneAt: index, Caller(user: user, isOwner: false), room: &room, nowMilliseconds: nowMilliseconds,
            into: &builder)
        return (finish(builder, nowMilliseconds: nowMilliseconds), left.error == nil)
    }

    /// What a user does with the zones of another who asks to save and delete them: nobody makes zones for others, and
    /// who deletes one leaves it.
    func leaveZones(
        _ request: ModifyZonesRequest, _ caller: Caller, nowMilliseconds: Int64
    ) -> Decision<ModifyZonesResult> {
        var builder = CommitBuilder(sequence: sequence + 1)
        var room = StoreLimits.shareBytesLeftPerCommit
        let deletions = request.deletions.map { zone -> ServiceError? in
            guard case .success(let index) = zoneIndex(of: zone, for: caller) else { return nil }
            return leave(zoneAt: index, caller, room: &room, nowMilliseconds: nowMilliseconds, into: &builder).error
        }
        return Decision(
            answer: ModifyZonesResult(
                saves: request.saves.map { _ in .failure(Database.onlyOwnerMakesZones) }, deletions: deletions),
            commit: finish(builder, nowMilliseconds: nowMilliseconds))
    }

    /// The shares in which a user takes part and which they ask to delete, which means to leave them.
    func sharesToLeave(
        _ modification: ZoneModification<CheckedFields>, _ member: ZoneMember, zoneAt index: Int
    ) -> [String] {
        modification.deletions.filter { name in
            modification.refusedDeletions[name] == nil && member.takesPart(inShare: name, of: zoneStates[index])
        }
    }

    /// What a user does who deletes shares in which they take part: they leave, and do nothing else there.
    func leave(
        _ modification: ZoneModification<CheckedFields>, _ shares: [String], zoneAt index: Int, _ caller: Caller,
        room: inout Int, nowMilliseconds: Int64, into builder: inout CommitBuilder
    ) -> ZoneModificationResult<SharedBytes> {
        let left = leave(
            shares, zoneAt: index, caller, room: &room, nowMilliseconds: nowMilliseconds, into: &builder)
        let numbers = Dictionary(shares.enumerated().map { ($1, $0) }) { first, _ in first }
        var result = ZoneBatch.refusal(of: modification, Database.isLeft)
        for (item, name) in modification.deletions.enumerated() {
            if let number = numbers[name] { result.deletions[item] = number < left.count ? nil : left.error }
        }
        return result
    }

    /// Puts a share that somebody changed who did not save it.
    ///
    /// - Parameters:
    ///   - former: The share as it is stored.
    ///   - user: The user who comes or goes, which gives the share another tag; nil for a change that leaves the tag as
    ///     it is.
    func put(
        _ share: Share, over former: Share, at slot: Int32, inZoneAt index: Int, by user: String?,
        _ nowMilliseconds: Int64, into builder: inout CommitBuilder
    ) throws(ServiceError) {
        let record = zoneStates[index][slot]
        var share = share
        share.noteChange(from: former, madeBy: ShownChange(of: record.bytes, at: record.position))
        let tag = changeTag(builder.sequence).text
        let bytes = try StoredRecord.resharing(
            record.bytes, SharingPart(storedShare: ShareCoder.encode(share))
        ) { system in
            guard let user else { return }
            (system.changeTag, system.modifier, system.modifiedMilliseconds) = (tag, user, nowMilliseconds)
        }
        let incarnation = zoneStates[index].incarnation
        put(
            SharedBytes(bytes), marks: record.marks, replacing: slot, references: .none, inZoneAt: index,
            of: incarnation, into: &builder)
        note(slot, .updated, inZoneAt: index, into: &builder)
        noteChange(inZoneAt: index, isNewEntry: false)
        builder.touch(
            TouchedZone(
                zone: ZoneID(name: zoneStates[index].name), incarnation: incarnation,
                recordTypes: [Names.shareType], isNew: false, isDeleted: false,
                trees: settleTrees(inZoneAt: index, changing: [Names.shareType])))
    }

    private static let onlyOwnerMakesZones = ServiceError(
        .permissionFailure, "a zone can't be made in another user's database; save it in the private one")
    private static let sharesAreLeft = ServiceError(
        .zoneBusy,
        "the user leaves shares that are too large together for one time; some are left: send the request again for the"
            + " others", retryAfterMilliseconds: 100)
    private static let isLeft = ServiceError(
        .permissionFailure, "the request leaves the zone, and so can't change anything else there; send two requests")
}
