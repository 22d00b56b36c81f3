internal import BrumeModel

/// The work of indexes that is done after the commits that caused it, so that no commit takes long.
///
/// A query that begins meanwhile reads the records that are concerned one by one, so its answer has every commit.
extension Database {
    /// Whether ``applyPendingIndexes(_:)`` has something to do.
    package var hasPendingIndexes: Bool { !indexBacklog.zones.isEmpty || !indexRemains.isEmpty }

    /// Changes of records that some index has not taken over.
    package var pendingIndexChanges: Int {
        indexBacklog.zones.reduce(0) { $0 + (zoneIndexes[$1]?.pendingCount ?? 0) }
    }

    /// The bytes of their versions, which are kept until then.
    package var pendingIndexBytes: Int {
        indexBacklog.zones.reduce(0) { $0 + (zoneIndexes[$1]?.pendingBytes ?? 0) }
    }

    /// Brings indexes up to date, and frees what is left of those that nobody uses any more, for about so many units; a
    /// unit is about a microsecond.
    ///
    /// - Returns: Whether there is more to do.
    package func applyPendingIndexes(_ units: Int) -> Bool {
        var left = units
        while let zone = indexBacklog.zones.first {
            if let indexes = zoneIndexes[zone], indexes.hasPending {
                if left <= 0 { return true }
                indexBacklog.noteStep()
                left -= indexes.applyPending(left)
            } else {
                indexBacklog.removeFirst()
            }
        }
        if left > 0 { _ = indexRemains.clear(left) }
        return !indexRemains.isEmpty
    }

    /// Why a zone's part of a request can't be done, or has to wait: it would leave more work to the indexes than one
    /// request may, or than may be pending. Returns nil when it can be done.
    ///
    /// - Parameters:
    ///   - byteCount: The bytes of the records that it would change, all their versions together.
    ///   - mayUseReserve: Whether the account has so little waiting that the work of others does not keep its small
    ///     requests back.
    func indexRefusal(
        inZoneAt index: Int, byteCount: @autoclosure () -> Int, mayUseReserve: Bool
    ) -> ServiceError? {
        if zoneIndexes.isEmpty || zoneIndexes[zoneStates[index].incarnation] == nil { return nil }
        let byteCount = byteCount()
        if byteCount > indexLimits.pendingBytes {
            if id.scope == .public { return Database.tooMuchForIndexes(indexLimits.pendingBytes) }
            // A private database's owner alone pays for making the indexes anew, and apps don't expect to be refused.
            zoneIndexes[zoneStates[index].incarnation] = nil
            return nil
        }
        if indexBacklog.zones.isEmpty || byteCount <= indexLimits.promptBytes { return nil }
        let reserve = mayUseReserve && byteCount <= indexLimits.smallBytes ? indexLimits.reserveBytes : 0
        guard
            pendingIndexBytes > indexLimits.pendingBytes + reserve
                || pendingIndexChanges > indexLimits.pendingChanges && reserve == 0
        else { return nil }
        return ServiceError(
            .zoneBusy, "the zone's indexes are behind by many large changes; try again shortly",
            retryAfterMilliseconds: 1_000)
    }

    private static func tooMuchForIndexes(_ limit: Int) -> ServiceError {
        ServiceError(
            .limitExceeded,
            "the records that the request changes, before and after, have more than the \(limit) bytes that it may"
                + " change at once in a public database that queries search: send fewer at a time, and delete those of"
                + " your records that refer to another one before that")
    }
}
