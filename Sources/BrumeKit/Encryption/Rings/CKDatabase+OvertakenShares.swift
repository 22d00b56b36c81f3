internal import BrumeModel

/// Saves of shares that the server would refuse, since another device was faster.
extension CKDatabase {
    /// The part without shares that another device has made for the same, or has changed, since this one looked; and
    /// what these fail with.
    ///
    /// Keys are taken and links end before a share is saved, so that nothing is encrypted any more for whom the app has
    /// taken out. Where the server refused the share then, those who come by the links of the one that stands would
    /// have no keys. So it is asked first, where links or members may go: not for a record that is new as well.
    func withoutOvertakenShares(
        _ part: RecordModification.Part, _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> (RecordModification.Part, unsent: RecordModificationResults) {
        guard databaseScope == .private, account.configuration.token != nil,
            part.zones.contains(where: { $0.saves.contains { $0.record is CKShare } }),
            (try? await account.keyFolders.folder(of: account, options).isMade) == true
        else { return (part, ([:], [:])) }
        var failures: [CKRecord.ID: CKError] = [:]
        for zone in part.zones {
            for outgoing in zone.saves where outgoing.record is CKShare {
                let error = try await overtaking(outgoing, in: zone, account, options)
                failures[outgoing.record.recordID] = error
            }
        }
        if failures.isEmpty { return (part, ([:], [:])) }
        return part.with(part.zones, failures)
    }

    /// Why the server would refuse the save of a share; nil where it would not, or that takes nobody's keys.
    private func overtaking(
        _ outgoing: OutgoingRecord, in zone: OutgoingZone, _ account: AccountBinding,
        _ options: CallOptions
    ) async throws(CKError) -> CKError? {
        guard let share = outgoing.record as? CKShare else { return nil }
        let ring = await ring(of: share, account)
        let removal = share.details.current.removed(from: share)
        if removal.isNew || removal.isEmpty {
            let wanted = share.details.current.wantedLinks
            guard let ring, await account.encryptedZones.mayEndLinks(ring, wanted, for: account) else { return nil }
        }
        let id = share.recordID
        let version = outgoing.sent.version
        if version == nil, let root = ring?.root, !root.isEmpty {
            if zone.saves.contains(where: { $0.name == root && $0.sent.version == nil }) { return nil }
            let fetched = try await fetchRaw([root], id.zoneID, desiredKeys: [], account, options)
            let standing = fetched[root]?.share ?? ""
            return standing.isEmpty || standing == id.recordName ? nil : .sharedAlready
        }
        let fetched = try await fetchRaw([id.recordName], id.zoneID, desiredKeys: nil, account, options)
        guard let record = fetched[id.recordName], record.system.changeTag != version?.changeTag,
            let server = CKRecord.make(
                record, zoneID: id.zoneID, context: account.answerContext, contents: AssetContents(),
                opened: OpenedFields())
        else { return nil }
        await showLinks(of: CollectionOfOne(server), account)
        return CKError(
            ServiceError(
                .serverRecordChanged,
                "the share was changed since it was fetched; merge into the server's share and "
                    + "save that"), serverRecord: server, outgoing: outgoing)
    }
}

extension CKError {
    /// What the server says of a second share.
    fileprivate static var sharedAlready: CKError {
        CKError(
            .alreadyShared, message: "the record is the root of a share already; change that share, or delete it first")
    }
}
