internal import BrumeEncryption
internal import BrumeModel
internal import BrumeProtocol

/// Encrypting the values of records before these are saved.
extension CKDatabase {
    /// The part of a modification with the encrypted values of its records sealed.
    ///
    /// - Parameters:
    ///   - isStale: The server has refused what was sealed before.
    ///   - uploadsFollow: Whether files of the part are to be uploaded. Where they were, what was found out about their
    ///     zones holds.
    /// - Returns: The part, and the results of what is not sent: records that can't be encrypted, and with them their
    ///   zones, where all of a zone is saved or nothing.
    /// - Throws: What would end the request as well: no connection, for one.
    func sealing(
        _ part: RecordModification.Part, _ options: CallOptions, isStale: Bool = false, uploadsFollow: Bool = false
    ) async throws(CKError) -> (RecordModification.Part, unsent: RecordModificationResults) {
        let account = core.account
        let (part, refused) = try await withoutSharesOfRecords(part, account, options)
        var failures: [CKRecord.ID: CKError] = [:]
        var zones = part.zones
        for index in zones.indices {
            try await prepareShares(of: zones[index], part.request.savePolicy, account, options)
            if uploadsFollow {
                failures.merge(try await prepareFiles(of: &zones[index], account, options)) { $1 }
            }
            failures.merge(try await prepareTaking(of: &zones[index], part.request.savePolicy, account, options)) { $1 }
            let encrypted = Set(
                zones[index].saves.indices.filter { zones[index].saves[$0].needsKeys(part.request.savePolicy) })
            let parents =
                databaseScope == .public
                ? [] : zones[index].saves.indices.filter { zones[index].saves[$0].sent.parentEdit != nil }
            // Where the request makes the zone's keys its parents have stamps already.
            var stampsParents = !encrypted.isEmpty
            if !stampsParents, !parents.isEmpty {
                stampsParents = try await hasKeys(of: zones[index].id, account, options)
            }
            let places = encrypted.union(stampsParents ? parents : []).sorted()
            if places.isEmpty { continue }
            do throws(CKError) {
                failures.merge(
                    try await seal(&zones[index], places, part.request.savePolicy, isStale: isStale, account, options)
                ) { $1 }
            } catch {
                if error.keepsFromAsking { throw error }
                // A parent alone needs no keys: it goes without a stamp.
                for outgoing in places.map({ zones[index].saves[$0] })
                where outgoing.needsKeys(part.request.savePolicy) {
                    failures[outgoing.record.recordID] = error
                }
                for place in places { zones[index].saves[place].stamp = [] }
            }
        }
        var (sealed, unsent) = part.with(zones, failures)
        unsent.saveResults.merge(refused.saveResults) { $1 }
        unsent.deleteResults.merge(refused.deleteResults) { $1 }
        return (sealed, unsent)
    }

    /// Whether a zone has keys that this device has used, or may use: one that was let in a moment ago has asked for
    /// none yet. What keeps it from having them keeps no record from getting a parent.
    private func hasKeys(
        of zoneID: CKRecordZone.ID, _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> Bool {
        let zones = account.encryptedZones
        if try await zones.hasUsed(zoneID.ringID, for: account, options) { return true }
        do throws(CKError) {
            guard databaseScope == .private, account.configuration.token != nil,
                try await account.keyFolders.folder(of: account, options).isMade
            else { return false }
            return try await zones.keysForReading(zoneID.ringID, upTo: 0, for: account, options) != nil
        } catch {
            // The save says what is wrong with the zone, and is of others, too.
            if error.keepsFromAsking { throw error }
            return false
        }
    }

    /// The part without shares of records in zones that are one tree: who has a record's key has that of all.
    private func withoutSharesOfRecords(
        _ part: RecordModification.Part, _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> (RecordModification.Part, unsent: RecordModificationResults) {
        guard databaseScope == .private else { return (part, ([:], [:])) }
        var failures: [CKRecord.ID: CKError] = [:]
        for zone in part.zones where zone.saves.contains(where: { $0.record is CKShare }) {
            // A device that was let in a moment ago has looked at no zone yet.
            _ = try await hasKeys(of: zone.id, account, options)
            guard await account.encryptedZones.isPerZone(zone.id.zoneName, for: account) else { continue }
            for outgoing in zone.saves where outgoing.record is CKShare {
                let id = outgoing.record.recordID
                if id.recordName == CKRecordNameZoneWideShare { continue }
                failures[id] = CKError(
                    .invalidArguments,
                    message: "\(id) can't be saved: zone \(zone.id.zoneName) is encrypted as a whole (perZone), and is "
                        + "shared as a whole; use CKShare(recordZoneID:)")
            }
        }
        if failures.isEmpty { return (part, ([:], [:])) }
        return part.with(part.zones, failures)
    }

    /// - Returns: Why single records can't be encrypted.
    private func seal(
        _ zone: inout OutgoingZone, _ places: [Int], _ policy: SavePolicy, isStale: Bool, _ account: AccountBinding,
        _ options: CallOptions
    ) async throws(CKError) -> [CKRecord.ID: CKError] {
        if databaseScope == .public {
            throw CKError(
                .invalidArguments,
                message: "records of the public database have no encrypted values; use plain fields, or the private "
                    + "database")
        }
        var failures: [CKRecord.ID: CKError] = [:]
        for outgoing in places.map({ zone.saves[$0] }) where outgoing.record is CKShare {
            let id = outgoing.record.recordID
            // What was set and taken back never left the device.
            let sent = outgoing.sent.encrypted
            if sent.sentKeys(policy).allSatisfy({ sent.values[$0] == nil }) { continue }
            failures[id] = CKError(.invalidArguments, message: "\(id) can't be saved: a share has no encrypted values")
        }
        var places = places.filter { !(zone.saves[$0].record is CKShare) }
        if places.isEmpty { return failures }
        try await takeServersPlaces(in: &zone, places, policy, account, options)
        let (roots, trees) = try await roots(of: zone, places, account, options)
        var sealer = RecordSealer()
        var without: [String: CKError] = [:]
        for root in Set(places.map { roots[zone.saves[$0].name] ?? zone.saves[$0].name }).sorted() {
            do throws(CKError) {
                let keys = try await keysForWriting(below: root, zone.id, isStale: isStale, account, options)
                if keys.ring.root == nil { zone.ringEntryHash = keys.entryHash }
                sealer.setKeys(keys, root: root)
            } catch {
                // Another tree's keys may be here all the same, whatever is wrong with this one's.
                if error.keepsFromAsking { throw error }
                without[root] = error
                guard error.encryptionProblem == .waitsForOwner else { continue }
                if try await isOutsideOfShares(root, zone.id, account, options) {
                    without[root] = .outsideOfShares(root)
                }
            }
        }
        let closed = places.filter { without[roots[zone.saves[$0].name] ?? zone.saves[$0].name] != nil }
        for place in closed {
            let outgoing = zone.saves[place]
            // A parent alone needs no keys: it goes without a stamp.
            zone.saves[place].stamp = []
            if !outgoing.needsKeys(policy) { continue }
            let error = without[roots[outgoing.name] ?? outgoing.name]
            // A guest sees nothing above the record that is shared.
            let isDeep = databaseScope == .shared && trees.isTooDeep(outgoing.name, parent: outgoing.parent)
            failures[outgoing.record.recordID] =
                isDeep && error?.encryptionProblem == .waitsForOwner ? CKError.tooDeep(outgoing.name) : error
        }
        places.removeAll(where: closed.contains)
        for outgoing in places.map({ zone.saves[$0] }) where outgoing.isEncryptedAnew {
            if sealer.tree(root: roots[outgoing.name] ?? outgoing.name).kind == .isShared { continue }
            failures[outgoing.record.recordID] = CKError.notEncrypted(
                .cannotBeEncryptedAnew,
                "\(outgoing.name.quotedName) is not encrypted anew: as far as this device can see, it is shared with "
                    + "nobody")
        }
        places.removeAll { failures[zone.saves[$0].record.recordID] != nil }
        for (name, refusal) in unseenPlaces(of: zone, places, roots, trees, sealer) {
            for place in places where zone.saves[place].name == name {
                if zone.saves[place].needsKeys(policy) { failures[zone.saves[place].record.recordID] = refusal }
            }
        }
        places.removeAll { failures[zone.saves[$0].record.recordID] != nil }
        let moving = try await recordsToMove(zone, places, policy, sealer, account, options)
        let (doubts, elsewhere) = try await doubtfulPlaces(
            of: zone, places, roots, trees, moving: moving, sealer, account, options)
        for place in places where elsewhere.contains(zone.saves[place].name) {
            zone.saves[place].isPlaceDoubtful = true
        }
        for place in places where zone.saves[place].needsKeys(policy) {
            if let doubt = doubts[zone.saves[place].name] { failures[zone.saves[place].record.recordID] = doubt }
        }
        places.removeAll { failures[zone.saves[$0].record.recordID] != nil }
        // What is in doubt and sends nothing encrypted gets its parent, and keeps the keys that it has.
        let certain = places.filter { doubts[zone.saves[$0].name] == nil }
        let moved = try await valuesToMove(zone, certain, moving, roots, sealer, account, options)
        if databaseScope == .private {
            let before = account.encryptedZones.trees(zone.id.ringID)
            for outgoing in certain.map({ zone.saves[$0] }) where !outgoing.isEncryptedAnew {
                let (name, root) = (outgoing.name, roots[outgoing.name] ?? outgoing.name)
                let tree = sealer.tree(root: root)
                guard tree.kind == .isShared else { continue }
                zone.moved[name] = zone.move(
                    of: outgoing, below: root, fetched: moving[name], hasOthers: moved.values[name] != nil, before,
                    in: tree, policy)
            }
        }
        let seen = account.encryptedZones.trees(zone.id.ringID)
        for place in places {
            let id = zone.saves[place].name
            zone.saves[place].hasHeldValues = !seen.treeIDs(of: id).isEmpty
            if let refusal = moved.refusals[id] {
                failures[zone.saves[place].record.recordID] = refusal
                continue
            }
            if let contents = moved.contents[id] { zone.saves[place].sent.contents.merge(contents) }
            if moved.isWhole.contains(id) { zone.saves[place].sent.forgetFormerTrees() }
            do throws(EncryptionRefusal) {
                try sealer.seal(
                    &zone.saves[place], root: roots[id] ?? id, policy: policy, moved: moved.values[id] ?? [:])
            } catch {
                throw CKError.notEncrypted(
                    .keysDiffer,
                    "the newest encryption key of zone \(zone.id.zoneName.quotedName) is missing on this device; let "
                        + "another device of the account save something in it")
            }
        }
        return failures
    }

    /// The keys of the records below a root, itself included: of its tree's ring, where it is shared, and else of its
    /// zone's.
    private func keysForWriting(
        below root: String, _ zoneID: CKRecordZone.ID, isStale: Bool, _ account: AccountBinding,
        _ options: CallOptions
    ) async throws(CKError) -> RingKeys {
        let zones = account.encryptedZones
        let zone = zoneID.ringID
        var trees = zones.trees(zone).forOneOperation()
        // It may be shared by now, by another device; and of what others share nothing may have been seen since the app
        // was started, unless all of the zone is shared.
        if databaseScope == .shared ? zones.knownKeys(zone) == nil : isStale, !trees.isShared(root) {
            try await fetchParents(of: [root], into: &trees, zoneID, account, options)
        }
        // A ring that is known stays in use while its root is not shared, or not yet: guests read it when they come.
        let ring = ZoneRingID(owner: zone.owner, zone: zone.zone, root: root)
        if trees.isShared(root) || ring.isOwnTree && zones.knownKeys(ring) != nil {
            let keys = try await zones.keysForWriting(ring, isStale: isStale, for: account, options)
            if let keys { return keys }
        }
        if let keys = try await zones.keysForWriting(zone, isStale: isStale, for: account, options) { return keys }
        throw CKError.notEncrypted(
            .waitsForOwner,
            "\(root.quotedName) was shared without encryption keys, and nothing below it can be saved with encrypted "
                + "values here; a device of its owner's makes them with what it encrypts there next")
    }

    /// The roots of the records that are sealed, by the records' names: a record's own parent is the one that it is
    /// saved with, and so are those of the others in the request.
    func roots(
        of zone: OutgoingZone, _ places: [Int], _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> (roots: [String: String], trees: ZoneTrees) {
        let found = try await roots(
            of: places.map { (zone.saves[$0].name, zone.saves[$0].parent) }, withTrees: true, zone.id, account,
            options
        ) { $0.learnParents(of: zone) }
        if places.contains(where: { found.roots[zone.saves[$0].name] == nil }) {
            throw CKError(
                .zoneBusy,
                message:
                    "records of zone \(zone.id.zoneName.quotedName) keep moving, and where they are decides with which "
                    + "keys they are encrypted; try again", retryAfterSeconds: 1)
        }
        return found
    }
}

extension OutgoingRecord {
    var name: String { record.recordID.recordName }

    /// Whether the record can't be saved without keys.
    func needsKeys(_ policy: SavePolicy) -> Bool { isEncryptedAnew || sendsEncrypted(policy) }

    /// Whether the save sends encrypted values, or encrypted assets.
    func sendsEncrypted(_ policy: SavePolicy) -> Bool {
        if !sent.encrypted.sentKeys(policy).isEmpty { return true }
        if sent.contents.secrets.isEmpty { return false }
        let save = sent.save(name: record.recordID.recordName, type: record.recordType, policy: policy)
        return save.fields.values.contains { $0.flatMap { sent.contents.secrets(of: $0) } != nil }
    }
}

extension CKError {
    /// Whether the server can't be asked at all, so that nothing of a request can be sent.
    var keepsFromAsking: Bool {
        isOfEveryRequest && code != .accountTemporarilyUnavailable && code != .incompatibleVersion
    }

    /// Whether the server can't even be read from, where it was to keep something: one whose disk is full answers.
    var keepsFromReading: Bool { keepsFromAsking && code != .serviceUnavailable }
}
