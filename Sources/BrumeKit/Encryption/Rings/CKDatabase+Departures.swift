internal import BrumeEncryption
internal import BrumeModel

/// Taking keys from those who go by what an app changes or deletes.
extension CKDatabase {
    /// By the records that a request changes or deletes: the rings of what they share, and those members who are to go.
    typealias Goers = [CKRecord.ID: (ring: ZoneRingID, users: Set<String>)]

    /// Keeps in mind who is to go by a request, before anything of it is encrypted or sent: whom the app takes out of a
    /// share, who is in none that it makes anew, and all with a share, or the record that is shared, that it deletes.
    ///
    /// In the shared database an administrator takes others out: the device's next save there makes the entry.
    ///
    /// - Throws: `internalError` where that can't be written; then nothing is to be sent.
    func noteGoers(
        _ part: RecordModification.Part, _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> Goers {
        if databaseScope == .public || account.configuration.token == nil { return [:] }
        let removed = part.participantsRemoved.filter { !$0.isEmpty }
        let deletions = databaseScope == .private ? part.zones.flatMap(\.deletions) : []
        if removed.isEmpty, deletions.isEmpty { return [:] }
        let folder = try await account.keyFolders.folder(of: account, options)
        guard folder.isMade else { return [:] }
        let zones = account.encryptedZones
        var goers: Goers = [:]
        for removal in removed {
            guard let ring = try? await ringToLeave(of: removal.share, account, options) else { continue }
            goers[removal.share.recordID] = (ring, try await zones.willGo(removal.departures, from: ring, for: account))
        }
        for id in deletions {
            let zone = id.zoneID.ringID
            var rings = [ZoneRingID(zone: zone.zone, root: id.recordName)]
            if folder.hasShareRoots || id.recordName == CKRecordNameZoneWideShare || zones.isInUse(zone),
                let ring = await ringToLeave(ofShare: id, root: "", account)
            {
                rings.append(ring)
            }
            for ring in rings where folder.hasRing(at: ring.place(in: folder)) {
                goers[id] = (ring, try await zones.willGo(.all, from: ring, for: account))
            }
        }
        return goers
    }

    /// Those stay whom the server has refused to take out, and those go with whom it has ended what they shared.
    func settle(
        _ goers: Goers, after results: RecordModificationResults, _ account: AccountBinding, _ options: CallOptions
    ) async {
        for (id, goer) in goers {
            switch (results.saveResults[id], results.deleteResults[id]) {
            case (.failure?, _), (_, .failure?):
                if goer.users.isEmpty { continue }
                await account.encryptedZones.stay(goer.users, in: goer.ring, for: account, options)
            case (_, .success?): try? await account.encryptedZones.endShare(goer.ring, for: account, options)
            default: break
            }
        }
    }

    /// The same where nothing was sent.
    func stay(_ goers: Goers, _ account: AccountBinding, _ options: CallOptions) async {
        for goer in goers.values where !goer.users.isEmpty {
            await account.encryptedZones.stay(goer.users, in: goer.ring, for: account, options)
        }
    }

    /// Takes the keys of what was shared from those who are out of a share since a save: what is encrypted from now on
    /// they don't get, whatever the server says.
    ///
    /// What keeps it from doing that fails nothing: it is kept in mind, and the next save of something encrypted does
    /// it.
    func takeKeys(
        from removed: [RemovedParticipants], _ account: AccountBinding, _ options: CallOptions
    ) async {
        for removal in removed where !removal.isEmpty && !removal.isNew {
            guard let ring = try? await ringToLeave(of: removal.share, account, options),
                await account.encryptedZones.isKept(ring, for: account)
            else { continue }
            try? await account.encryptedZones.share(
                ring, removal.links, dropping: removal.departures.named, for: account, options)
        }
    }

    /// The ring of what a share is of that the app has, to take keys away. Where the device has not seen its root the
    /// server is asked for that.
    func ringToLeave(
        of share: CKShare, _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> ZoneRingID? {
        let (id, root) = (share.recordID, share.details.current.root)
        if let ring = await ringToLeave(ofShare: id, root: root, account) { return ring }
        guard databaseScope == .private, let url = share.url else { return nil }
        let shared = try await account.shareMetadata(for: url, options).hierarchicalRootRecordID
        return shared.map { ZoneRingID(zone: id.zoneID.zoneName, root: $0.recordName) }
    }

    /// The ring of what a share is of, to take keys away: where another device has made the share, what the server has
    /// said of its root counts. Whoever is named wrongly loses the keys of something else, and comes in again by its
    /// link.
    func ringToLeave(ofShare id: CKRecord.ID, root: String, _ account: AccountBinding) async -> ZoneRingID? {
        let zone = id.zoneID.ringID
        if databaseScope == .private, let ring = await ring(ofShare: id, root: root, account) { return ring }
        if id.recordName == CKRecordNameZoneWideShare { return zone }
        return account.encryptedZones.trees(zone).root(ofShare: id.recordName).map {
            ZoneRingID(owner: zone.owner, zone: zone.zone, root: $0)
        }
    }
}

extension CKDatabase.RecordModification.Part {
    /// Whom saves of shares take out of these.
    var participantsRemoved: [RemovedParticipants] {
        zones.flatMap { zone in
            zone.saves.compactMap { outgoing in
                (outgoing.record as? CKShare).map { $0.details.current.removed(from: $0) }
            }
        }
    }
}
