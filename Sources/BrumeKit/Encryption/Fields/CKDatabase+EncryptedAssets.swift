internal import BrumeModel

/// In which zones files are encrypted.
extension CKDatabase {
    /// Finds out whether a zone's files are encrypted, where some are to be saved.
    ///
    /// - Returns: Why records can't be saved without keys.
    func prepareFiles(
        of zone: inout OutgoingZone, _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> [CKRecord.ID: CKError] {
        var failures: [CKRecord.ID: CKError] = [:]
        func failing(
            _ concerned: [OutgoingRecord], _ body: () async throws(CKError) -> Void
        ) async throws(CKError) {
            if concerned.isEmpty { return }
            do throws(CKError) { try await body() } catch {
                if error.keepsFromAsking { throw error }
                for outgoing in concerned { failures[outgoing.record.recordID] = error }
            }
        }
        let id = zone.id
        if databaseScope == .private {
            try await failing(zone.saves.filter(\.changesClosedAssets)) { () async throws(CKError) in
                _ = try await account.encryptedZones.keysForWriting(zone: id.zoneName, for: account, options)
                for index in zone.saves.indices where zone.saves[index].changesClosedAssets {
                    zone.saves[index].hasKeys = true
                }
            }
        }
        if databaseScope == .shared {
            for index in zone.saves.indices where zone.saves[index].changesClosedAssets {
                let outgoing = zone.saves[index]
                try await failing([outgoing]) { () async throws(CKError) in
                    try await self.requireKeys(of: outgoing, in: zone, account, options)
                    zone.saves[index].hasKeys = true
                }
            }
            try await failing(zone.saves.filter(\.setsAssets)) { () async throws(CKError) in
                try await self.learnKeys(of: zone, account, options)
            }
        }
        var encryptsAssets: Bool?
        try await failing(zone.saves.filter(\.setsAssets)) { () async throws(CKError) in
            encryptsAssets = try await self.encryptsAssets(in: id, account, options)
        }
        if let encryptsAssets { zone.encryptsAssets = encryptsAssets }
        for index in zone.saves.indices where zone.encryptsAssets(of: zone.saves[index]) == true {
            zone.saves[index].uploadPlainAssetsAgain()
        }
        return failures
    }

    /// Finds out whether this device has the keys of records of which the save takes something away that is encrypted.
    /// Makes none: there are some.
    ///
    /// - Returns: Why it has not.
    func prepareTaking(
        of zone: inout OutgoingZone, _ policy: SavePolicy, _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> [CKRecord.ID: CKError] {
        var failures: [CKRecord.ID: CKError] = [:]
        let places = zone.saves.indices.filter { index in
            let outgoing = zone.saves[index]
            return !outgoing.hasKeys && (outgoing.takesEncrypted || outgoing.replacesOpenAssets)
        }
        if databaseScope == .public || places.isEmpty { return failures }
        if databaseScope == .shared { try await takeServersPlaces(in: &zone, places, policy, account, options) }
        for index in places {
            let outgoing = zone.saves[index]
            do throws(CKError) {
                if databaseScope == .shared {
                    try await requireKeys(of: outgoing, in: zone, account, options)
                } else if try await account.encryptedZones.keysForReading(
                    zone.id.ringID, upTo: 0, for: account, options) == nil
                {
                    throw CKError.notEncrypted(
                        .deviceHasNoKeys,
                        "\(outgoing.name.quotedName) has an encrypted field that this device has no keys of, and so "
                            + "neither replaces nor removes")
                }
                zone.saves[index].hasKeys = true
            } catch {
                if error.keepsFromAsking { throw error }
                failures[outgoing.record.recordID] = error
            }
        }
        return failures
    }

    /// Whether the server gets files of a zone's records only as this device has encrypted them.
    ///
    /// The zone's ring says so, or, in a zone that has none, ``BrumeConfiguration/encryptsAssets``: then it gets one.
    /// What this device has kept of a ring counts, whatever the server says of the zone since: that it was deleted, for
    /// one.
    ///
    /// - Throws: What ``EncryptedZones/keysForWriting(zone:isStale:for:_:)`` throws.
    func encryptsAssets(
        in zoneID: CKRecordZone.ID, _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> Bool {
        if databaseScope == .shared { return try await sharedPolicy(zoneID, account) }
        guard try await mayEncryptAssets(in: zoneID, account, options) else { return false }
        let (zones, name) = (account.encryptedZones, zoneID.zoneName)
        let isWanted = account.configuration.encryptsAssets
        if !isWanted {
            let kept = try await zones.keptAssetPolicy(name, for: account)
            do throws(CKError) {
                let keys = try await zones.keysForReading(ZoneRingID(zone: name), upTo: 0, for: account, options)
                if kept != true, keys?.encryptsAssets != true { return false }
            } catch {
                // A device that was removed, and knows nothing of the zone's files, saves them as one without keys
                // does.
                guard error.concernsKeys || error.code == .incompatibleVersion, kept != true else { throw error }
                return false
            }
        }
        let keys = try await zones.keysForWriting(zone: name, for: account, options)
        return keys.encryptsAssets || isWanted && !keys.isPlainGenuine
    }

    /// Whether the zone's ring has to be looked at before that is known: on devices that have the account's keys.
    /// In the shared database those rings count that are known or were kept; ``learnKeys(of:_:_:)`` looks at those of
    /// what is saved.
    ///
    /// - Throws: What keeps from asking whose keys these are: no connection, for one.
    func mayEncryptAssets(
        in zoneID: CKRecordZone.ID, _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> Bool {
        if account.configuration.token == nil { return false }
        switch databaseScope {
        case .private: break
        case .shared:
            return try await account.encryptedZones.othersZone(zoneID.ringID, for: account).encryptsAssets
        case .public: return false
        }
        if account.configuration.encryptsAssets { return true }
        if let keys = account.encryptedZones.knownKeys(zone: zoneID.zoneName) { return keys.encryptsAssets }
        return try await account.keyFolders.folder(of: account, options).isMade
    }

    /// Whether the files of another's zone are encrypted: all its rings say the same.
    ///
    /// - Throws: `accountTemporarilyUnavailable` where none is known here, and the app wants no file plain.
    private func sharedPolicy(_ zoneID: CKRecordZone.ID, _ account: AccountBinding) async throws(CKError) -> Bool {
        let kept = try await account.encryptedZones.othersZone(zoneID.ringID, for: account)
        guard kept.roots.isEmpty, account.configuration.encryptsAssets else { return kept.encryptsAssets }
        throw CKError.notEncrypted(
            .waitsForOwner,
            "no file is saved plain here (encryptsAssets), and this device does not have the encryption keys of zone "
                + "\(zoneID.zoneName.quotedName), which somebody else shares: open the share's whole link, or fetch "
                + "its records once the owner has handed on the keys")
    }

    /// Whether a file is uploaded encrypted before anything is known of the record that it is for. In the shared
    /// database it is where that is not known yet: what turns out to be for a plain zone is uploaded once more.
    func encryptsUpload(
        to zoneID: CKRecordZone.ID, _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> Bool {
        guard databaseScope == .shared, account.configuration.token != nil,
            try await account.encryptedZones.othersZone(zoneID.ringID, for: account).roots.isEmpty
        else { return try await encryptsAssets(in: zoneID, account, options) }
        if account.configuration.encryptsAssets { return true }
        return try await account.keyFolders.folder(of: account, options).isMade
    }

    /// Looks at the rings of records whose files are saved in another's zone, on a device that has the account's keys.
    ///
    /// - Throws: What ``EncryptedZones/keysForReading(_:upTo:isOpenVain:for:_:)`` throws.
    func learnKeys(
        of zone: OutgoingZone, _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) {
        guard account.configuration.token != nil, try await account.keyFolders.folder(of: account, options).isMade
        else {
            return
        }
        let zones = account.encryptedZones
        let id = zone.id.ringID
        zones.updateTrees(id) { _ in }
        let places = zone.saves.indices.filter { zone.saves[$0].setsAssets }
        for root in Set(try await roots(of: zone, places, account, options).roots.values).sorted() {
            let ring = await ringForReading(below: root, id, account)
            _ = try await zones.keysForReading(ring, upTo: 0, for: account, options)
        }
    }

    /// Fails where this device has no keys of a record in another's zone of which the app sets or removes files that
    /// are not open here.
    ///
    /// - Throws: `accountTemporarilyUnavailable`, and what ``EncryptedZones/keysForReading(_:upTo:isOpenVain:for:_:)``
    ///   throws.
    private func requireKeys(
        of outgoing: OutgoingRecord, in zone: OutgoingZone, _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) {
        guard let place = zone.saves.firstIndex(where: { $0.name == outgoing.name }) else { return }
        var (roots, trees) = try await self.roots(of: zone, [place], account, options)
        for root in Set(roots.values) {
            // The guest may have seen the record alone, and not the root that is shared.
            if !trees.isShared(root), account.encryptedZones.knownKeys(zone.id.ringID) == nil {
                try await fetchParents(of: [root], into: &trees, zone.id, account, options)
            }
            let ring = await ringForReading(below: root, zone.id.ringID, account)
            let keys = try await account.encryptedZones.keysForReading(ring, upTo: 0, for: account, options)
            if keys?.cipher(root: root) != nil { continue }
            throw CKError.notEncrypted(
                .waitsForOwner,
                "\(outgoing.name.quotedName) has an encrypted field, and this device has no keys to replace or remove "
                    + "it with: open the share's whole link, or save it again once the owner has handed on the keys")
        }
    }

    /// The ring that records below a root in another's zone are read with.
    private func ringForReading(
        below root: String, _ zone: ZoneRingID, _ account: AccountBinding
    ) async -> ZoneRingID {
        let tree = ZoneRingID(owner: zone.owner, zone: zone.zone, root: root)
        if account.encryptedZones.trees(zone).isShared(root) { return tree }
        // What this device has kept counts, whatever the server says of the root since.
        return await account.encryptedZones.isKept(tree, for: account) ? tree : zone
    }
}
