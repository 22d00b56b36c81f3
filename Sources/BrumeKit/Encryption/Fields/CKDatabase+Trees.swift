internal import BrumeEncryption
internal import BrumeModel
internal import BrumeProtocol

/// Finding out in which trees records are: what is encrypted in a record takes the key of its tree.
extension CKDatabase {
    /// Remembers whose parents the records have, which are roots of shares, and in which trees what they hold was
    /// encrypted, in zones with keys.
    ///
    /// - Parameter isShown: Whether an app gets to see them as well.
    func learn(
        _ records: [(zoneID: CKRecordZone.ID, record: Record)], isShown: Bool = true, _ account: AccountBinding
    ) {
        for (zoneID, records) in Dictionary(grouping: records, by: \.zoneID) {
            let zone = zoneID.ringID
            guard account.encryptedZones.isInUse(zone) else { continue }
            account.encryptedZones.updateTrees(zone) { trees in
                for (_, record) in records { trees.learn(record, isShown: isShown) }
            }
        }
    }

    /// Remembers what an answer to saves shows: what was saved is where the app gets to see it. What stands in the way
    /// of a save is not yet: the app may look at nothing but the error's code.
    func learn(
        _ shown: RecordModification.ShownRecords, in zones: [OutgoingZone], _ account: AccountBinding,
        _ options: CallOptions
    ) async {
        learn(shown.saved, account)
        learn(shown.inTheWay, isShown: false, account)
        if shown.inTheWay.isEmpty || databaseScope != .private { return }
        // Keys may be used for the first time below a record that was in the way before.
        guard (try? await account.keyFolders.folder(of: account, options).isMade) == true else { return }
        for zone in zones {
            let new = Set(zone.saves.filter { $0.sent.version == nil && !$0.isEncryptedAnew }.map(\.name))
            let taken = shown.inTheWay.filter { $0.zoneID == zone.id }.map(\.record.system.name).filter(new.contains)
            if taken.isEmpty { continue }
            account.encryptedZones.updateTrees(zone.id.ringID) { trees in
                for name in taken { trees.isTaken(name) }
            }
        }
    }

    /// Remembers that records are gone, as the app is told.
    func learn(gone ids: some Sequence<CKRecord.ID>, _ account: AccountBinding) {
        for (zoneID, ids) in Dictionary(grouping: ids, by: \.zoneID)
        where account.encryptedZones.isInUse(zoneID.ringID) {
            account.encryptedZones.updateTrees(zoneID.ringID) { trees in
                for id in ids { trees.isGone(id.recordName) }
            }
        }
    }

    /// Remembers where the app has put what was saved, and in which trees it is encrypted: answers leave out the fields
    /// that were sent.
    func learnTrees(ofSaved zone: OutgoingZone, _ results: RecordModificationResults, _ account: AccountBinding) {
        let zones = account.encryptedZones
        guard zones.isInUse(zone.id.ringID) else { return }
        let saved = zone.saves.filter { (try? results.saveResults[$0.record.recordID]?.get()) != nil }
        if saved.isEmpty { return }
        zones.updateTrees(zone.id.ringID) { trees in
            for outgoing in saved where outgoing.changesParent {
                trees.learn(outgoing.name, parent: outgoing.sent.parent)
            }
            for outgoing in saved where !outgoing.sealed.isEmpty {
                let ids = outgoing.sealed.values.compactMap { $0?.header?.treeID }
                trees.learn(outgoing.name, treeIDs: Set(ids))
            }
        }
    }

    /// The roots of records, by the records' names, as far as their parents can be found; and what they were found
    /// with, which may be something else a moment later.
    func roots(
        of records: [(name: String, parent: String?)], withTrees: Bool = false, _ zoneID: CKRecordZone.ID,
        _ account: AccountBinding, _ options: CallOptions, alsoKnown: (inout ZoneTrees) -> Void = { _ in }
    ) async throws(CKError) -> (roots: [String: String], trees: ZoneTrees) {
        var found: [String: String] = [:]
        var trees = account.encryptedZones.trees(zoneID.ringID).forOneOperation()
        alsoKnown(&trees)
        for _ in 0...ZoneTrees.depthMax {
            found = [:]
            var unknown: Set<String> = []
            for record in records {
                switch trees.root(of: record.name, parent: record.parent) {
                case .root(let root): found[record.name] = root
                case .unknown(let parent): unknown.insert(parent)
                }
            }
            if unknown.isEmpty { break }
            try await fetchParents(
                of: unknown.sorted(), withTrees: withTrees, into: &trees, zoneID, account, options)
        }
        return (found, trees)
    }

    /// What the server has refused for its keys again and again since it is further below a shared record than is
    /// looked, with that as the reason.
    func refusalsOfDeepRecords(
        in part: RecordModification.Part, _ results: RecordModificationResults, _ account: AccountBinding
    ) -> RecordModificationResults {
        var refusals: RecordModificationResults = ([:], [:])
        for zone in part.zones {
            let trees = account.encryptedZones.trees(zone.id.ringID)
            for outgoing in zone.saves {
                guard case .failure(let error as CKError)? = results.saveResults[outgoing.record.recordID],
                    error.saysKeysChanged, trees.isTooDeep(outgoing.name, parent: outgoing.parent)
                else { continue }
                refusals.saveResults[outgoing.record.recordID] = .failure(CKError.tooDeep(outgoing.name))
            }
        }
        return refusals
    }

    /// Asks the server for the parents of records, and remembers them. One that is not there counts as a root.
    ///
    /// - Parameters:
    ///   - withTrees: Whether also the trees of what is encrypted in them are found out.
    ///   - trees: What an operation knows, beside the device.
    func fetchParents(
        of names: [String], withTrees: Bool = false, into trees: inout ZoneTrees, _ zoneID: CKRecordZone.ID,
        _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) {
        // Whole records are kept no longer than it takes to learn from them.
        for names in names.inParts(of: withTrees ? Self.wholeRecordsAtOnce : Limits.itemsPerRequest) {
            let records = try await fetchRaw(names, zoneID, desiredKeys: withTrees ? nil : [], account, options)
            func learn(_ trees: inout ZoneTrees) {
                for name in names {
                    if let record = records[name] {
                        trees.learn(record, isShown: false)
                    } else {
                        trees.learn(name, parent: nil, isShown: false)
                    }
                    if withTrees { trees.learn(name, treeIDs: [], isWhole: true) }
                }
            }
            learn(&trees)
            account.encryptedZones.updateTrees(zoneID.ringID, learn)
        }
    }

    static let wholeRecordsAtOnce = 50

    /// Records of a zone as the server has them, by name, without their files and with nothing opened; those that
    /// can't be had are left out.
    func fetchRaw(
        _ names: [String], _ zoneID: CKRecordZone.ID, desiredKeys: [String]?, _ account: AccountBinding,
        _ options: CallOptions
    ) async throws(CKError) -> [String: Record] {
        var records: [String: Record] = [:]
        var rest = names[...]
        var missing: [String] = []
        while !rest.isEmpty || !missing.isEmpty {
            let part = rest.prefix(Limits.itemsPerRequest - missing.count)
            rest = rest.dropFirst(part.count)
            missing += part
            let request = FetchRecordsRequest(
                database: try requestScope(),
                zones: [FetchRecordsRequest.ZoneFetch(zone: zoneID.ringID.zoneID, names: missing)],
                desiredKeys: desiredKeys)
            let answers = try await account.call(
                .recordsFetch, options: options, encode: { coder in coder.encodeFetchRecordsRequest(request) },
                decode: { (coder, bytes) throws(ServiceError) in try coder.decodeFetchRecordsResponse(bytes) })
            guard answers.count == 1, answers[0].count == missing.count else {
                throw .malformedResponse("its results are not those of the records asked for")
            }
            var deferred: [String] = []
            for (name, outcome) in zip(missing, answers[0]) {
                switch outcome {
                case .record(let record) where record.system.name == name: records[name] = record
                case .record, .failure: break
                case .deferred: deferred.append(name)
                }
            }
            guard deferred.count < missing.count else {
                throw .malformedResponse("it puts off every record that was asked for")
            }
            missing = deferred
        }
        return records
    }
}

extension ZoneTrees {
    /// Takes what a record of an answer says.
    fileprivate mutating func learn(_ record: Record, isShown: Bool = true) {
        learn(record.system.name, parent: record.system.parent, isShown: isShown)
        let share = record.share ?? ""
        learn(record.system.name, share: share.isEmpty ? nil : share)
        learn(record.system.name, treeIDs: Set(record.valueHeaders.map(\.treeID)))
    }
}

extension CKError {
    /// What a save fails with whose record is further below a shared one than is looked.
    static func tooDeep(_ name: String) -> CKError {
        CKError(
            .limitExceeded,
            message: "\(name.quotedName) is not saved with encrypted values: it is more than \(ZoneTrees.depthMax) "
                + "records below the one that is shared, further than is looked for the keys; give it a parent nearer to "
                + "that")
    }
}
