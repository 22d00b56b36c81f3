internal import BrumeEncryption
internal import BrumeModel
internal import BrumeProtocol

/// Where records are whose saves leave that to the server: what is encrypted in a record takes the key of its tree, and
/// an instance may know nothing of its parent, or know a former one.
extension CKDatabase {
    /// Asks the server for the parents of the records that are sealed, and of those above them in the request, where
    /// the save neither says which they are nor fails for an instance that does not know them.
    ///
    /// What it says here is believed for this save alone: an app has not seen it.
    func takeServersPlaces(
        in zone: inout OutgoingZone, _ places: [Int], _ policy: SavePolicy, _ account: AccountBinding,
        _ options: CallOptions
    ) async throws(CKError) {
        let keys = account.encryptedZones.knownKeys(zone.id.ringID)
        // All records have the same key.
        if keys?.isPerZone == true { return }
        let isGuest = databaseScope == .shared && keys == nil
        for index in zone.saves.indices where zone.saves[index].leavesParent(policy, isGuest: isGuest) {
            zone.saves[index].keepsParent = true
        }
        let named = Set(zone.saves.compactMap(\.sent.parent) + places.map { zone.saves[$0].name })
        let asked = zone.saves.indices.filter { zone.saves[$0].keepsParent && named.contains(zone.saves[$0].name) }
        if asked.isEmpty { return }
        // Whole records are kept no longer than it takes to learn from them.
        var found: [String: (parent: String?, treeIDs: Set<[UInt8]>)] = [:]
        for names in asked.map({ zone.saves[$0].name }).inParts(of: Self.wholeRecordsAtOnce) {
            for (name, record) in try await fetchRaw(names, zone.id, desiredKeys: nil, account, options) {
                found[name] = (record.system.parent, Set(record.valueHeaders.map(\.treeID)))
            }
        }
        let known = account.encryptedZones.trees(zone.id.ringID)
        // What a guest has in the owner's database is shared with them, if only by one of several shares.
        let isPlaceCertain = databaseScope == .shared && known.sharedRoots.count < 2
        for index in asked {
            let parent = found[zone.saves[index].name]?.parent
            zone.saves[index].serversParent = .some(parent)
            zone.saves[index].isPlaceUnseen =
                !isPlaceCertain && parent != nil && zone.saves[index].shownParent(known) != .some(parent)
        }
        // What was encrypted in them counts from now on.
        account.encryptedZones.updateTrees(zone.id.ringID) { trees in
            for index in asked {
                let name = zone.saves[index].name
                trees.learn(name, treeIDs: found[name]?.treeIDs ?? [], isWhole: true)
            }
        }
    }

    /// Why nothing is encrypted in records for those with whom a tree is shared, by the records' names: nothing but an
    /// answer that no app has seen says that they, or what is above them, are there. A guest may have made a record of
    /// the name, and a server may say anything.
    func unseenPlaces(
        of zone: OutgoingZone, _ places: [Int], _ roots: [String: String], _ trees: ZoneTrees, _ sealer: RecordSealer
    ) -> [String: CKError] {
        let unseen = Set(zone.saves.filter(\.isPlaceUnseen).map(\.name))
        func isUnseen(_ name: String) -> Bool {
            unseen.contains(name) || databaseScope == .private && trees.wasTaken(name)
        }
        var refusals: [String: CKError] = [:]
        for outgoing in places.map({ zone.saves[$0] }) {
            guard let root = roots[outgoing.name], root != outgoing.name, sealer.tree(root: root).kind == .isShared,
                let name = trees.path(of: outgoing.name, parent: outgoing.parent).first(where: isUnseen)
            else { continue }
            refusals[outgoing.name] = .withDoubtfulPlace(
                outgoing.name, below: root, unproven: CKRecord.ID(recordName: name, zoneID: zone.id))
        }
        return refusals
    }

    /// Whether nothing below a record that was taken for a root is shared with the user, as far as the server says:
    /// then no owner's device hands on keys for it.
    func isOutsideOfShares(
        _ root: String, _ zoneID: CKRecordZone.ID, _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> Bool {
        guard databaseScope == .shared, !account.encryptedZones.trees(zoneID.ringID).isShared(root) else {
            return false
        }
        let names = [root, CKRecordNameZoneWideShare]
        let request = FetchRecordsRequest(
            database: try requestScope(), zones: [.init(zone: zoneID.ringID.zoneID, names: names)], desiredKeys: [])
        let answers = try await account.call(
            .recordsFetch, options: options, encode: { coder in coder.encodeFetchRecordsRequest(request) },
            decode: { (coder, bytes) throws(ServiceError) in try coder.decodeFetchRecordsResponse(bytes) })
        guard answers.count == 1, answers[0].count == names.count else { return false }
        // Whatever else keeps them away may pass.
        return answers[0].allSatisfy { if case .failure(let error) = $0 { error.code == .unknownItem } else { false } }
    }
}

extension OutgoingRecord {
    /// The parent that the record has after the save, as far as is known: the app's word, or the server's.
    var parent: String? { keepsParent ? serversParent ?? nil : sent.parent }

    /// The parent that the app was shown last, or gave the record; nil where it was shown none. A fetched instance has
    /// its own, which may come from before this process.
    fileprivate func shownParent(_ trees: ZoneTrees) -> String?? {
        trees.shownParent(of: name) ?? (sent.version == nil ? nil : .some(sent.parent))
    }

    /// Whether a save leaves the parent as the server has it, and is done whatever that is.
    ///
    /// - Parameter isGuest: Whether it is of another's zone of which this device has no keys: in the way of a new
    ///   record without a parent there may be one whose keys it has.
    fileprivate func leavesParent(_ policy: SavePolicy, isGuest: Bool) -> Bool {
        if record is CKShare || isEncryptedAnew { return false }
        if sent.parentChange(policy) != .unchanged { return false }
        return switch policy {
        case .ifServerRecordUnchanged: isGuest && sent.version == nil
        case .changedKeys, .allKeys: true
        }
    }
}

extension CKError {
    /// What a user's save fails with of a record that is nowhere in what is shared with them.
    static func outsideOfShares(_ name: String) -> CKError {
        CKError(
            .permissionFailure,
            message: "\(name.quotedName) can't be saved here: it is below no record that is shared with this user; "
                + "give it a parent that is")
    }
}
