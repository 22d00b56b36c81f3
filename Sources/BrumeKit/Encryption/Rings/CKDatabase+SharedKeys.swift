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
                let folder = try await account.keyFolders.folder(of: account, options)
                let makesKeys = zone.saves.contains { $0.sendsEncrypted(policy) }
                guard folder.isMade || makesKeys else { continue }
                guard let ring = await ring(of: share, account) else {
                    try await closeLink(of: share, account, options)
                    continue
                }
                if !ring.root.isEmpty {
                    // Whatever becomes of the keys now: whom the app takes out later goes from this one's.
                    try await account.encryptedZones.setRoot(
                        ring.root, ofShare: share.recordID.recordName, zone: ring.zone, for: account)
                }
                try await account.encryptedZones.share(ring, share.details.current.wantedLinks, for: account, options)
                if !ring.root.isEmpty {
                    // What comes with the share takes the tree's keys.
                    account.encryptedZones.updateTrees(ring) { trees in
                        trees.learn(ring.root, share: share.recordID.recordName)
                    }
                }
            } catch {
                if error.keepsFromReading { throw error }
                // Nobody is told that a share is for those alone who are invited while its link opens the keys.
                if share.details.current.wantedLinks.isOpen { continue }
                let ring = await ringToLeave(ofShare: share.recordID, root: share.details.current.root, account)
                if await mayStayOpen(ring, isClosing: share.details.current.closesLink, account) { throw error }
            }
        }
    }

    /// Whether the link of a share that is private, or becomes it, may open the share's keys: as far as that is known
    /// here, and otherwise where it did before. A device without the account's keys can't know, and others see to it.
    private func mayStayOpen(_ ring: ZoneRingID?, isClosing: Bool, _ account: AccountBinding) async -> Bool {
        let zones = account.encryptedZones
        if let ring, await zones.isKept(ring, for: account) { return await zones.mayHaveOpenLink(ring, for: account) }
        guard let identity = try? await zones.identity(for: account) else { return false }
        return isClosing && identity.statement.number > 0
    }

    /// Has the link of a share that another device has made open its keys no more, where the app makes it private.
    private func closeLink(
        of share: CKShare, _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) {
        guard share.details.current.closesLink, let ring = try await ringToLeave(of: share, account, options) else {
            return
        }
        let zone = ring.zones
        // Nobody makes keys for what was never encrypted.
        guard try await account.encryptedZones.keysForReading(zone, upTo: 0, for: account, options) != nil,
            try await account.encryptedZones.keysForReading(ring, upTo: 0, for: account, options) != nil
        else { return }
        try await account.encryptedZones.share(ring, share.details.current.wantedLinks, for: account, options)
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

    func ring(of share: CKShare, _ account: AccountBinding) async -> ZoneRingID? {
        await ring(ofShare: share.recordID, root: share.details.current.root, account)
    }

    /// The ring of what a share is of; nil where this device does not know its root.
    ///
    /// - Parameter root: The record that the app has made the share for; empty for one that was fetched.
    func ring(ofShare id: CKRecord.ID, root: String, _ account: AccountBinding) async -> ZoneRingID? {
        let zone = id.zoneID.ringID
        if id.recordName == CKRecordNameZoneWideShare { return zone }
        let known =
            root.isEmpty
            ? await account.encryptedZones.root(ofShare: id.recordName, zone: zone.zone, for: account) : root
        return known.map { ZoneRingID(zone: zone.zone, root: $0) }
    }
}
