internal import BrumeEncryption
internal import BrumeModel

/// Keys of what the account shares with others.
extension CKDatabase {
    /// Makes the keys of what the shares among a zone's saves give to others, on a device that has the account's keys
    /// or gets them with the same save.
    ///
    /// A device without them shares all the same: the share's URL has no keys then.
    ///
    /// - Throws: What would end the request as well: no connection, for one.
    func prepareShares(
        of zone: OutgoingZone, _ policy: SavePolicy, _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) {
        guard databaseScope == .private, account.configuration.token != nil else { return }
        for outgoing in zone.saves {
            guard let share = outgoing.record as? CKShare else { continue }
            do throws(CKError) {
                let makesKeys = zone.saves.contains { $0.sendsEncrypted(policy) }
                guard try await account.keyFolders.folder(of: account, options).isMade || makesKeys else { return }
                guard let ring = await ring(of: share, account) else { continue }
                try await account.encryptedZones.share(ring, share.details.current.wantedLinks, for: account, options)
                if !ring.root.isEmpty {
                    // What comes with the share takes the tree's keys.
                    account.encryptedZones.updateTrees(ring) { trees in
                        trees.learn(ring.root, share: share.recordID.recordName)
                    }
                    try await account.encryptedZones.setRoot(
                        ring.root, ofShare: share.recordID.recordName, zone: ring.zone, for: account)
                }
            } catch {
                if error.keepsFromAsking { throw error }
                // Nobody is told that a share is for those alone who are invited while its link opens the keys.
                guard !share.details.current.wantedLinks.isOpen, let ring = await ring(of: share, account) else {
                    continue
                }
                if await account.encryptedZones.hasOpenLink(ring, for: account) { throw error }
            }
        }
    }

    /// By the records of shares that a save changes or ends, what they are of, and those members of it who are to go:
    /// whom the app has taken out, or all.
    typealias Goers = [CKRecord.ID: (ring: ZoneRingID, users: Set<String>)]

    /// Keeps in mind who is to go by a save of shares, or their deletion, before it is sent.
    ///
    /// - Throws: `internalError` where that can't be written; then nothing is to be sent.
    func noteGoers(
        _ removed: [RemovedParticipants], deleting deletions: [CKRecord.ID], _ account: AccountBinding,
        _ options: CallOptions
    ) async throws(CKError) -> Goers {
        var goers: Goers = [:]
        if removed.allSatisfy(\.isEmpty), deletions.isEmpty || account.configuration.token == nil { return [:] }
        let folder = try await account.keyFolders.folder(of: account, options)
        guard folder.isMade else { return [:] }
        for removal in removed where !removal.isEmpty {
            let root = removal.share.details.current.root
            guard let ring = await ringToLeave(ofShare: removal.share.recordID, root: root, account) else { continue }
            let users = try await account.encryptedZones.willGo(removal.users, from: ring, for: account)
            goers[removal.share.recordID] = (ring, users)
        }
        for id in deletions
        where folder.hasShareRoots || id.recordName == CKRecordNameZoneWideShare
            || account.encryptedZones.isInUse(id.zoneID.ringID)
        {
            guard let ring = await ringToLeave(ofShare: id, root: "", account) else { continue }
            goers[id] = (ring, try await account.encryptedZones.willGo(nil, from: ring, for: account))
        }
        return goers
    }

    /// Those stay whom the server has refused to take out.
    func forgetGoers(_ goers: Goers, _ results: RecordModificationResults, _ account: AccountBinding) async {
        for (id, goer) in goers where !goer.users.isEmpty {
            let isRefused: Bool
            switch (results.saveResults[id], results.deleteResults[id]) {
            case (.failure?, _), (_, .failure?): isRefused = true
            default: isRefused = false
            }
            if isRefused { await account.encryptedZones.stay(goer.users, in: goer.ring, for: account) }
        }
    }

    /// Takes the keys of what was shared from those who are out of a share since a save: what is encrypted from now on
    /// they don't get, whatever the server says.
    ///
    /// What keeps it from doing that fails nothing: it is kept in mind, and the next save of something encrypted does
    /// it.
    func takeKeys(
        from removed: [RemovedParticipants], ended: [ZoneRingID], _ account: AccountBinding, _ options: CallOptions
    ) async {
        for removal in removed where !removal.isEmpty {
            let share = removal.share
            let root = share.details.current.root
            guard let ring = await ringToLeave(ofShare: share.recordID, root: root, account),
                await account.encryptedZones.isKept(ring, for: account)
            else { continue }
            try? await account.encryptedZones.share(ring, removal.links, dropping: removal.users, for: account, options)
        }
        for ring in ended { try? await account.encryptedZones.endShare(ring, for: account, options) }
    }

    /// Takes those into rings who take part in shares that an answer has, and wait for the keys. What keeps it from
    /// doing that fails nothing: there will be another answer.
    func takeInGuests(
        _ records: [(zoneID: CKRecordZone.ID, record: Record)], _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) {
        guard databaseScope == .private else { return }
        let zones = account.encryptedZones
        var shared: Set<ZoneRingID> = []
        var shares: [String: (participants: Set<String>, isPrivate: Bool, changedMilliseconds: Int64)] = [:]
        for (zoneID, record) in records {
            if let details = record.shareDetails {
                let accepted = details.participants.filter { $0.isAccepted && $0.role != .owner }
                shares[record.system.name] = (
                    Set(accepted.map(\.user)), details.publicPermission == .none, record.system.modifiedMilliseconds
                )
            }
            if record.system.name == CKRecordNameZoneWideShare {
                shared.insert(zoneID.ringID)
            } else if record.shareDetails != nil,
                let root = zones.trees(zoneID.ringID).root(ofShare: record.system.name)
            {
                shared.insert(ZoneRingID(zone: zoneID.zoneName, root: root))
            } else if record.share?.isEmpty == false {
                shared.insert(ZoneRingID(zone: zoneID.zoneName, root: record.system.name))
            }
        }
        for ring in shared where !zones.isInUse(ring) {
            // Since a restart nobody has asked for its keys.
            guard await zones.isKept(ring, for: account) else { continue }
            zones.updateTrees(ring) { _ in }
            learn(records, account)
        }
        var lookCount = 0
        for ring in shared.filter(zones.isInUse).sorted(by: { $0.isBefore($1) }) {
            let shown = shares[zones.trees(ring).share(of: ring.root) ?? ""]
            let isDue = !zones.hasLookedLately(ring, for: account)
            // What a restored server shows is older than what it has shown, and says nothing of who has left.
            let isOld = shown.map { !zones.isNewest($0.changedMilliseconds, ofShareOf: ring) } ?? false
            if isOld, !isDue { continue }
            let share = isOld ? nil : shown
            if share == nil || isDue { lookCount += 1 }
            // The shares of many roots come with them, and say where somebody waits.
            if share == nil, lookCount > EncryptedZones.guestLooksMax { continue }
            do throws(CKError) {
                try await zones.takeIn(
                    ring, share?.participants, isPrivate: shown?.isPrivate ?? false,
                    looksForLinks: isDue && lookCount <= EncryptedZones.guestLooksMax, for: account, options)
            } catch {
                if error.keepsFromAsking { throw error }
            }
        }
    }

    /// Shows the owner's shares with the links that hand out their keys.
    func showLinks(of records: some Sequence<CKRecord>, _ account: AccountBinding) async {
        guard databaseScope == .private else { return }
        for case let share as CKShare in records {
            guard let ring = await ring(of: share, account) else { continue }
            let participants = share.details.current.linksForOne
            share.show(await account.encryptedZones.links(ring, participants: participants, for: account))
        }
    }

    private func ring(of share: CKShare, _ account: AccountBinding) async -> ZoneRingID? {
        await ring(ofShare: share.recordID, root: share.details.current.root, account)
    }

    /// The ring of what a share is of; nil where this device does not know its root.
    ///
    /// - Parameter root: The record that the app has made the share for; empty for one that was fetched.
    private func ring(ofShare id: CKRecord.ID, root: String, _ account: AccountBinding) async -> ZoneRingID? {
        let zone = id.zoneID.ringID
        if id.recordName == CKRecordNameZoneWideShare { return zone }
        let known =
            root.isEmpty
            ? await account.encryptedZones.root(ofShare: id.recordName, zone: zone.zone, for: account) : root
        return known.map { ZoneRingID(zone: zone.zone, root: $0) }
    }

    /// The same to take keys away: where another device has made the share, what the server has said of its root
    /// counts. Whoever is named wrongly loses the keys of something else, and comes in again by its link.
    private func ringToLeave(ofShare id: CKRecord.ID, root: String, _ account: AccountBinding) async -> ZoneRingID? {
        if let ring = await ring(ofShare: id, root: root, account) { return ring }
        let zone = id.zoneID.ringID
        return account.encryptedZones.trees(zone).root(ofShare: id.recordName).map {
            ZoneRingID(zone: zone.zone, root: $0)
        }
    }
}
