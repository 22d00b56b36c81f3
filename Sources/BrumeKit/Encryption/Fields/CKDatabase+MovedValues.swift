internal import BrumeEncryption
internal import BrumeModel
internal import BrumeProtocol

/// Encrypting anew what is encrypted in records that move into another tree.
extension CKDatabase {
    /// The records that move with a request, as the server has them: all that a record has encrypted is encrypted again
    /// in the save that moves it.
    func recordsToMove(
        _ zone: OutgoingZone, _ places: [Int], _ policy: SavePolicy, _ sealer: RecordSealer,
        _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> [String: Record] {
        // With another policy the save may meet a version that nobody here has seen, and what is sent would undo it.
        if sealer.isPerZone || policy != .ifServerRecordUnchanged { return [:] }
        let names = places.map { zone.saves[$0] }.filter { outgoing in
            outgoing.sent.version != nil && (outgoing.sent.parentEdit != nil || outgoing.isEncryptedAnew)
        }.map(\.name)
        let unknown = names.filter { zone.fetched[$0] == nil }
        if unknown.isEmpty { return zone.fetched }
        let records = try await fetchRaw(unknown, zone.id, desiredKeys: nil, account, options)
        return records.merging(zone.fetched) { $1 }
    }

    /// The encrypted values of records that move into another tree, by the records' names, what the app's instance does
    /// not hold included.
    ///
    /// - Parameter records: As ``recordsToMove(_:_:_:_:_:_:)`` found them.
    func valuesToMove(
        _ zone: OutgoingZone, _ places: [Int], _ records: [String: Record], _ roots: [String: String],
        _ sealer: RecordSealer, _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> MovedValues {
        let moving = places.map { zone.saves[$0] }.filter { records[$0.name] != nil }
        if moving.isEmpty { return MovedValues() }
        let opener = try await opener(
            for: records.values.map { (zone.id, $0) }, isShown: false, account, options)
        guard let opener else { return MovedValues() }
        var moved = MovedValues()
        for outgoing in moving {
            let name = outgoing.name
            // Another version makes the save a conflict. Values of a record of another type are not this record's.
            guard let record = records[name], record.system.changeTag == outgoing.sent.version?.changeTag,
                record.system.type == outgoing.record.recordType
            else { continue }
            moved.isWhole.insert(name)
            let opened = opener.open(record, in: zone.id)
            let edits = Set(outgoing.sent.encrypted.edits.keys).union(outgoing.sent.edits.keys)
            for case (let key, .encrypted(let value)) in record.fields where !edits.contains(key) {
                if !sealer.isMisplaced(value.header, below: roots[name] ?? name) { continue }
                // What the app has seen of this version counts, and no older value that the server shows by now.
                let own = outgoing.sent.encrypted
                if let known = own.values[key], own.sealed[key] != nil {
                    moved.values[name, default: [:]][key] = known
                    continue
                }
                if let secrets = opened.secrets[key] {
                    moved.values[name, default: [:]][key] = value.assetsValue
                    for (asset, secret) in zip(value.assets, secrets) {
                        moved.contents[name, default: AssetContents()].setSecret(secret, of: asset)
                    }
                    continue
                }
                guard let plain = opened.values[key] else {
                    let canCome = opened.unreadable[key] != .damaged
                    let what =
                        outgoing.isEncryptedAnew
                        ? "\(outgoing.record.recordID) can't be encrypted anew here: this device can't read its field "
                            + "\(key.quotedName); "
                        : "\(outgoing.record.recordID) can't get another parent here: its encrypted field "
                            + "\(key.quotedName) has to be encrypted anew, and this device can't read it; "
                    moved.refusals[name] =
                        canCome
                        ? CKError.notEncrypted(
                            .cannotBeEncryptedAnew,
                            what + "let a device do it that can" + (outgoing.isEncryptedAnew ? " read it" : ""))
                        : CKError(.invalidArguments, message: what + "set the field anew, or remove it")
                    continue
                }
                moved.values[name, default: [:]][key] = plain
            }
        }
        return moved
    }
}

/// What records that move into another tree had encrypted, by the records' names.
struct MovedValues {
    var values: [String: [String: FieldValue]] = [:]
    /// What opens the assets among them.
    var contents: [String: AssetContents] = [:]
    /// The records of which nothing stays in the tree that they leave.
    var isWhole: Set<String> = []
    /// Why records can't move.
    var refusals: [String: CKError] = [:]
}
