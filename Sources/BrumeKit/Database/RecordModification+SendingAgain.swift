internal import BrumeModel

/// Requests that follow one of which the server refused something.
extension CKDatabase.RecordModification.Part {
    /// A request of the same kind for other records.
    func with(_ zones: [OutgoingZone]) -> CKDatabase.RecordModification.Part {
        CKDatabase.RecordModification.Part(zones: zones, request: request)
    }

    /// Another request with what can be saved after the server refused it; nil where there is nothing. Where a zone is
    /// saved whole, all of it.
    ///
    /// - Parameter saves: Of a zone those that can be sent again, as they are sent then. Of one that is saved whole the
    ///   others go as they were.
    func sendingAgain(_ saves: (OutgoingZone) -> [OutgoingRecord]) -> CKDatabase.RecordModification.Part? {
        var again: [OutgoingZone] = []
        for var zone in zones {
            let changed = saves(zone)
            if changed.isEmpty { continue }
            if isWhole(zone) {
                let byName = Dictionary(changed.map { ($0.name, $0) }) { $1 }
                zone.saves = zone.saves.map { byName[$0.name] ?? $0 }
            } else {
                (zone.saves, zone.deletions) = (changed, [])
            }
            again.append(zone)
        }
        if again.isEmpty { return nil }
        var part = with(again)
        part.request.operationID = ContainerCore.newOperationID()
        return part
    }

    /// What to encrypt and send again after the server refused it: for its keys, for what would be taken away that is
    /// encrypted, or for a version that differs from the one that the app knows in nothing that an app sees, since the
    /// record was encrypted anew. Nil for nothing.
    ///
    /// A record of which the app does not know the version, or not all fields, is left to the app, as any conflict is;
    /// so is one in which nothing was encrypted anew.
    ///
    /// - Returns: Also whether some of the keys have been replaced.
    func sealingAgain(
        after results: CKDatabase.RecordModificationResults
    ) -> (part: CKDatabase.RecordModification.Part, hasStaleKeys: Bool)? {
        let mayRebase = request.savePolicy == .ifServerRecordUnchanged && request.database != .public
        var hasStaleKeys = false
        let part = sendingAgain { zone in
            var again: [OutgoingRecord] = []
            for var outgoing in zone.saves {
                guard case .failure(let error as CKError)? = results.saveResults[outgoing.record.recordID]
                else { continue }
                if error.saysKeysChanged {
                    hasStaleKeys = true
                } else if error.saysFieldEncrypted, !outgoing.takesEncrypted, request.database != .public,
                    !(outgoing.record is CKShare)
                {
                    outgoing.takesEncrypted = true
                } else if error.code == .serverRecordChanged {
                    guard mayRebase, let newer = error.serverRecord?.snapshot, outgoing.sent.rebase(onto: newer) else {
                        // It fails its zone again.
                        if isWhole(zone) { return [] }
                        continue
                    }
                } else {
                    continue
                }
                again.append(outgoing)
            }
            return again
        }
        return part.map { ($0, hasStaleKeys) }
    }

    /// The results of records of which the server has said that a field is encrypted, beside others that fail a zone
    /// that is saved whole: nothing is known against them before it is saved again without those.
    func innocentBesideOthers(
        _ results: CKDatabase.RecordModificationResults
    ) -> CKDatabase.RecordModificationResults {
        var innocent: CKDatabase.RecordModificationResults = ([:], [:])
        for zone in zones where isWhole(zone) {
            let errors = zone.saves.compactMap { outgoing -> (CKRecord.ID, CKError)? in
                guard case .failure(let error as CKError)? = results.saveResults[outgoing.record.recordID]
                else { return nil }
                return (outgoing.record.recordID, error)
            }
            guard errors.contains(where: { !$1.saysFieldEncrypted && $1.code != .batchRequestFailed }) else { continue }
            for (id, error) in errors where error.saysFieldEncrypted {
                innocent.saveResults[id] = .failure(CKError(.batchRequestFailed))
            }
        }
        return innocent
    }
}
