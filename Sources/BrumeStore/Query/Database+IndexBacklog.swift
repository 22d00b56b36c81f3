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

    /// Why a zone's part of a request has to wait: it would leave more work to the indexes than may be pending. Returns
    /// nil when it need not wait.
    ///
    /// - Parameter byteCount: The bytes of the records that it would change, all their versions together.
    func indexRefusal(inZoneAt index: Int, byteCount: @autoclosure () -> Int) -> ServiceError? {
        if indexBacklog.zones.isEmpty || zoneIndexes[zoneStates[index].incarnation] == nil { return nil }
        guard
            pendingIndexBytes > indexLimits.pendingBytes || pendingIndexChanges > indexLimits.pendingChanges,
            byteCount() > indexLimits.promptBytes
        else { return nil }
        return ServiceError(
            .zoneBusy, "the zone's indexes are behind by many large changes; try again shortly",
            retryAfterMilliseconds: 1_000)
    }
}
