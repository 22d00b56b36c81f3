internal import BrumeEncryption
internal import BrumeModel

/// Taking keys from those who go by what an app changes or deletes.
extension CKDatabase {
    /// Those who lose keys by a request, with the record that it changes or deletes for that.
    typealias Goers = [(id: CKRecord.ID, removal: Removal)]

    /// Keeps in mind who is to go by a request, before anything of it is encrypted or sent: whom the app takes out of a
    /// share, who is in none that it makes anew, and all with a share, or the record that is shared, that it deletes.
    ///
    /// In the shared database an administrator takes others out: the device's next save there makes the entry.
    ///
    /// - Throws: `internalError` where that can't be written; what asking the server for a share's root throws. Then
    ///   nothing is to be sent.
    func noteGoers(
        _ part: RecordModification.Part, _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> Goers {
        if databaseScope == .public || account.configuration.token == nil { return [] }
        let removed = part.participantsRemoved.filter { !$0.isEmpty }
        let deletions = databaseScope == .private ? part.zones.flatMap(\.deletions) : []
        if removed.isEmpty, deletions.isEmpty { return [] }
        let folder = try await account.keyFolders.folder(of: account, options)
        guard folder.isMade else { return [] }
        let zones = account.encryptedZones
        var goers: Goers = []
        func note(_ departures: Departures, from ring: ZoneRingID, by id: CKRecord.ID) async throws(CKError) {
            guard let removal = try await zones.willGo(departures, from: ring, for: account) else { return }
            goers.append((id, removal))
        }
        for removal in removed {
            guard let ring = try await ringToLeave(of: removal.share, account, options) else { continue }
            try await note(removal.departures, from: ring, by: removal.share.recordID)
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
                try await note(.all, from: ring, by: id)
            }
        }
        return goers
    }

    /// Those stay whom the server has refused to take out, and those go with whom it has ended what they shared.
    func settle(
        _ goers: Goers, after results: RecordModificationResults, _ account: AccountBinding, _ options: CallOptions
    ) async {
        for (id, removal) in goers {
            switch (results.saveResults[id], results.deleteResults[id]) {
            case (.success?, _): account.encryptedZones.areGone(removal)
            case (_, .success?):
                account.encryptedZones.areGone(removal)
                try? await account.encryptedZones.endShare(removal.ring, for: account, options)
            case (let save, let deletion):
                guard save?.isRefused == true || deletion?.isRefused == true else { continue }
                await stay([(id, removal)], account, options)
            }
        }
    }

    /// The same where nothing was done. It goes on though the app's task was cancelled: who stays would have no keys.
    func stay(_ goers: Goers, _ account: AccountBinding, _ options: CallOptions) async {
        if goers.isEmpty { return }
        await Task {
            for goer in goers { await account.encryptedZones.stay(goer.removal, for: account, options) }
        }.value
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
    /// server is asked for that, or in another's zone what this device has kept of its rings.
    func ringToLeave(
        of share: CKShare, _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> ZoneRingID? {
        let (id, root) = (share.recordID, share.details.current.root)
        if let ring = await ringToLeave(ofShare: id, root: root, account) { return ring }
        guard databaseScope == .private else { return try await onlyTree(in: id.zoneID.ringID, account) }
        guard let url = share.url else { return nil }
        let shared = try await account.shareMetadata(for: url, options).hierarchicalRootRecordID
        return shared.map { ZoneRingID(zone: id.zoneID.zoneName, root: $0.recordName) }
    }

    /// The ring of the one tree of another's zone of which this device has kept the ring; nil for none.
    ///
    /// - Throws: `invalidArguments` where there are several: nobody is taken out while it is not known whose keys go.
    private func onlyTree(in zone: ZoneRingID, _ account: AccountBinding) async throws(CKError) -> ZoneRingID? {
        let roots = try await account.encryptedZones.othersZone(zone, for: account).roots.subtracting([""])
        guard roots.count <= 1 else {
            throw CKError(
                .invalidArguments,
                message: "this device does not know which record the share is of, and could take nobody's keys; fetch "
                    + "the record that is shared, and save the share again")
        }
        return roots.first.map { ZoneRingID(owner: zone.owner, zone: zone.zone, root: $0) }
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

extension CKError {
    /// Whether the server has answered that it did nothing.
    var isRefusal: Bool {
        ![.networkUnavailable, .networkFailure, .operationCancelled, .internalError, .serverResponseLost].contains(code)
    }
}

extension Result where Failure == any Error {
    /// Whether the server has answered that it did nothing.
    var isRefused: Bool {
        guard case .failure(let error) = self else { return false }
        return (error as? CKError)?.isRefusal == true
    }
}
