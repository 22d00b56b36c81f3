internal import BrumeEncryption
internal import BrumeModel
internal import BrumeProtocol

/// Looking up the keys of encrypted values that an answer holds.
extension CKDatabase {
    /// What opens the encrypted values of an answer's records; nil where they have none.
    ///
    /// A value whose key is not here is no error: the record is handed out without it.
    ///
    /// - Parameter isShown: Whether the app gets to see the records.
    /// - Throws: What keeps from asking for keys: no connection, for one. The answer is asked for again.
    func opener(
        for records: [(zoneID: CKRecordZone.ID, record: Record)], isShown: Bool, _ account: AccountBinding,
        _ options: CallOptions
    ) async throws(CKError) -> FieldOpener? {
        guard databaseScope != .public else { return nil }
        let zones = account.encryptedZones
        var byZone: [CKRecordZone.ID: [Record]] = [:]
        for (zoneID, record) in records where record.holdsEncryptedValues { byZone[zoneID, default: []].append(record) }
        var opener = FieldOpener(acceptsPlainAssets: account.configuration.acceptsPlainAssets)
        var plain: Set<CKRecordZone.ID> = []
        for (zoneID, record) in records
        where record.holdsPlainAssets && byZone[zoneID] == nil && plain.insert(zoneID).inserted {
            do throws(CKError) {
                if try await mayEncryptAssets(in: zoneID, account, options) { byZone[zoneID] = [] }
            } catch {
                // What can't be read of one zone hides its plain files, and fails nothing else.
                if error.unreadableReason == nil { throw error }
                byZone[zoneID] = []
            }
        }
        if byZone.isEmpty {
            if zones.isInUse { learn(records, isShown: isShown, account) }
            try await takeInGuests(records, account, options)
            return nil
        }
        // Trees are looked for by what is known of parents.
        for zoneID in byZone.keys { zones.updateTrees(zoneID.ringID) { _ in } }
        learn(records, isShown: isShown, account)
        try await takeInGuests(records, account, options)
        for (zoneID, encrypted) in byZone.sorted(by: { $0.key.ringID.isBefore($1.key.ringID) }) {
            var zone = FieldOpener.Zone()
            do throws(CKError) {
                if encrypted.isEmpty, databaseScope == .shared { zone.rings = zones.allKnownKeys(zoneID.ringID) }
                // Plain assets alone are a reason to look whether there is a ring.
                let needs =
                    !encrypted.isEmpty
                    ? try await rings(of: encrypted, zoneID, account, options)
                    : databaseScope == .private ? [zoneID.ringID: 0] : [:]
                for (ring, newest) in needs.sorted(by: { $0.key.isBefore($1.key) }) {
                    do throws(CKError) {
                        let keys = try await zones.keysForReading(ring, upTo: newest, for: account, options)
                        if let keys { zone.rings.append(keys) }
                    } catch {
                        guard let reason = error.unreadableReason else { throw error }
                        // What is known opens, whatever the server makes of the rest.
                        if let keys = zones.knownKeys(ring) { zone.rings.append(keys) }
                        zone.reason = reason
                    }
                }
            } catch {
                guard let reason = error.unreadableReason else { throw error }
                zone.reason = reason
            }
            if databaseScope == .shared {
                do throws(CKError) {
                    zone.keptEncryptsAssets = try await zones.othersZone(zoneID.ringID, for: account).encryptsAssets
                } catch {
                    if error.unreadableReason == nil { throw error }
                    zone.keptEncryptsAssets = true
                }
            } else if zone.rings.isEmpty {
                zone.keptEncryptsAssets = (try? await zones.keptAssetPolicy(zoneID.zoneName, for: account)) == true
            }
            opener.zones[zoneID.ringID] = zone
            await resumeReencryption(in: zoneID, encrypted, account, options)
        }
        return opener
    }

    /// The rings whose keys records' encrypted values have, and the number of the newest key that they name.
    ///
    /// A value of a private tree in the account's own zone has the zone's key. Any other has that of its tree where
    /// this is shared, and else its zone's: the trees are found by the parents' names.
    private func rings(
        of records: [Record], _ zoneID: CKRecordZone.ID, _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> [ZoneRingID: UInt32] {
        let zone = zoneID.ringID
        var needs: [ZoneRingID: UInt32] = [:]
        func need(_ ring: ZoneRingID, _ number: UInt32) { needs[ring] = max(needs[ring] ?? 0, number) }
        var ofTrees: [(record: Record, number: UInt32)] = []
        for record in records {
            let newest = record.newestKeyNumbers
            if databaseScope == .private, newest.isPrivate > 0 || newest.isShared == 0 { need(zone, newest.isPrivate) }
            if databaseScope == .shared || newest.isShared > 0 { ofTrees.append((record, newest.isShared)) }
        }
        if ofTrees.isEmpty { return needs }
        let (roots, trees) = try await roots(
            of: ofTrees.map { ($0.record.system.name, $0.record.system.parent) }, zoneID, account, options)
        guard databaseScope == .private else {
            for (record, number) in ofTrees {
                let root = roots[record.system.name] ?? record.system.name
                if trees.isShared(root) {
                    need(ZoneRingID(owner: zone.owner, zone: zone.zone, root: root), number)
                } else {
                    need(zone, record.newestKeyNumbers.isPrivate)
                }
            }
            return needs
        }
        let keys = try await account.encryptedZones.keysForReading(zone, upTo: 0, for: account, options)
        guard let place = keys?.place else { return needs }
        func id(_ root: String) -> [UInt8] { Tree(place: place, root: root, kind: .isShared).id }
        // What was encrypted in a share that has ended, or in a tree that the record has left, keeps its key.
        let known = trees.sharedRoots.union(account.encryptedZones.knownRoots(zone))
        let rootOfTree = Dictionary(known.map { (id($0), $0) }) { first, _ in first }
        var strange: [[UInt8]: UInt32] = [:]
        for (record, number) in ofTrees {
            var ids = record.sharedTreeIDs
            for tree in ids {
                guard let root = rootOfTree[tree] else { continue }
                need(ZoneRingID(zone: zone.zone, root: root), number)
                ids.remove(tree)
            }
            if ids.isEmpty { continue }
            for root in trees.path(of: record.system.name, parent: record.system.parent) {
                if ids.remove(id(root)) != nil { need(ZoneRingID(zone: zone.zone, root: root), number) }
            }
            for tree in ids { strange[tree] = max(strange[tree] ?? 0, number) }
        }
        if strange.isEmpty { return needs }
        let found = try await account.encryptedZones.roots(
            ofTrees: Set(strange.keys), in: zone, at: place, for: account, options)
        for (tree, root) in found { need(ZoneRingID(zone: zone.zone, root: root), strange[tree] ?? 0) }
        return needs
    }

    /// The encrypted values of an answer's records, opened.
    ///
    /// Where some of a zone don't open, the server is asked for its ring: the zone may have been made anew, or its ring
    /// have gone on otherwise. As long as that is not known nobody is told that the values are damaged.
    ///
    /// - Throws: The same.
    func opened(
        _ records: [(zoneID: CKRecordZone.ID, record: Record)], _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> [OpenedFields]? {
        guard var opener = try await opener(for: records, isShown: true, account, options) else { return nil }
        var opened = records.map { opener.open($0.record, in: $0.zoneID) }
        let vain = Set(
            zip(records, opened).filter { $1.unreadable.values.contains(.damaged) }.map { $0.0.zoneID })
        for zoneID in vain.sorted(by: { $0.ringID.isBefore($1.ringID) }) {
            let before = opener.zones[zoneID.ringID]?.rings ?? []
            var rings: [RingKeys] = []
            do throws(CKError) {
                for keys in before {
                    let ring = ZoneRingID(
                        owner: zoneID.ringID.owner, zone: zoneID.zoneName, root: keys.ring.root ?? "")
                    let found = try await account.encryptedZones.keysForReading(
                        ring, upTo: 1, isOpenVain: true, for: account, options)
                    rings.append(found ?? keys)
                }
            } catch {
                guard let reason = error.unreadableReason else { throw error }
                // The zone may have other keys, which nobody could ask for: an app that was told of damage would take
                // the values for lost.
                for place in opened.indices where records[place].zoneID == zoneID {
                    opened[place].keysMayBeMissing(for: reason)
                }
                continue
            }
            guard zip(rings, before).contains(where: { $0.place != $1.place || $0.newest != $1.newest }) else {
                continue
            }
            opener.zones[zoneID.ringID]?.rings = rings
            for (place, record) in records.enumerated() where record.zoneID == zoneID {
                opened[place] = opener.open(record.record, in: zoneID)
            }
        }
        return opened
    }
}

extension Record {
    fileprivate var holdsEncryptedValues: Bool {
        fields.values.contains { if case .encrypted = $0 { true } else { false } }
    }

    fileprivate var holdsPlainAssets: Bool {
        fields.values.contains { value in
            if case .encrypted = value { false } else { !value.assets.isEmpty }
        }
    }

    /// The ids of the shared trees that its encrypted values name.
    fileprivate var sharedTreeIDs: Set<[UInt8]> {
        Set(valueHeaders.lazy.filter { $0.kind == .isShared }.map(\.treeID))
    }

    /// The numbers of the newest keys that its encrypted values name, of private trees and of shared ones; 0 where none
    /// can be read.
    fileprivate var newestKeyNumbers: (isPrivate: UInt32, isShared: UInt32) {
        func newest(_ kind: Tree.Kind) -> UInt32 {
            valueHeaders.lazy.filter { $0.kind == kind }.map(\.keyNumber).max() ?? 0
        }
        return (newest(.isPrivate), newest(.isShared))
    }
}

extension CKError {
    /// Why values stay closed after keys were asked for in vain; nil for what the whole operation fails with.
    var unreadableReason: CKRecord.UnreadableReason? {
        switch code {
        case .accountTemporarilyUnavailable, .unknownItem: .noKeys
        // The device's files, or the server's answer, are not what they should be: the status says more.
        case .internalError, .zoneNotFound, .userDeletedZone, .zoneBusy, .limitExceeded: .keyMissing
        case .incompatibleVersion: .newerVersion
        default: nil
        }
    }
}
