internal import BrumeEncryption
internal import BrumeModel
internal import BrumeProtocol

/// Encrypting anew what is below records that moved into another tree.
extension CKDatabase {
    /// Brume's addition: encrypts anew what a zone's records have encrypted in another tree than the one that they are
    /// in, and saves them.
    ///
    /// A record that moves is encrypted anew with the save that moves it. What is below it, or below a record with a
    /// parent that becomes the root of a share, is not: it can be a hundred thousand records. A device of the owner's
    /// does that behind the save, in the background, and goes on with it after a restart; until then those with whom
    /// the tree is shared don't read these fields. Call this to have it done when it returns, or to have another device
    /// finish what one began. Called again it does nothing that is done.
    ///
    /// The records get new versions with the same content. An instance of an older one is saved as if it were of the
    /// new one; of one that the app has made from system fields alone nobody can tell, so that its save meets
    /// `serverRecordChanged`, as after a change on another device.
    ///
    /// - Returns: How many records were encrypted anew; and why others were not, 400 at most:
    ///   `accountTemporarilyUnavailable` where nothing but the server's word says where a record is, and for fields
    ///   whose keys this device does not have, `invalidArguments` for fields that are damaged.
    /// - Throws: `invalidArguments` in the public and in the shared database: participants can't do it, the owner's
    ///   devices do; `zoneNotFound`; `accountTemporarilyUnavailable` where this device has no keys of the account; what
    ///   calls to the server throw.
    @discardableResult
    public func reencryptRecords(
        in zoneID: CKRecordZone.ID
    ) async throws(CKError) -> (count: Int, failures: [CKRecord.ID: CKError]) {
        let problem =
            databaseScope == .private
            ? self.problem(of: zoneID) : "that is for the private database of the zone's owner"
        if let problem {
            throw CKError(
                .invalidArguments,
                message: "zone \(zoneID.zoneName.quotedName) can't be encrypted anew: \(problem)")
        }
        return try await boundToAccount.reencrypt(zoneID, callOptions)
    }

    /// The most rounds over a zone. Each but the last one has encrypted something: others may have been faster with
    /// some records.
    private static let roundsMax = 5
    /// The most failures that are told.
    private static let failuresMax = Limits.itemsPerRequest
    /// Records of one save, and bytes of what is encrypted in them.
    private static let recordsPerSave = 100
    private static let bytesPerSave = 1_000_000

    func reencrypt(
        _ zoneID: CKRecordZone.ID, _ options: CallOptions
    ) async throws(CKError) -> (count: Int, failures: [CKRecord.ID: CKError]) {
        let account = core.account
        // Without a ring there is nothing to do, and none is made for that.
        _ = try await account.encryptedZones.keysForReading(zoneID.ringID, upTo: 1, for: account, options)
        var (count, failures) = (0, [CKRecord.ID: CKError]())
        for _ in 0..<Self.roundsMax {
            let round = try await reencryptOnce(zoneID, account, options)
            (count, failures) = (count + round.count, round.failures)
            if round.count == 0 { break }
        }
        return (count, failures)
    }

    /// Goes over the zone once.
    private func reencryptOnce(
        _ zoneID: CKRecordZone.ID, _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> (count: Int, failures: [CKRecord.ID: CKError]) {
        var (count, failures) = (0, [CKRecord.ID: CKError]())
        var start: UInt32 = 0
        repeat {
            let request = ListMisplacedRecordsRequest(zone: zoneID.ringID.zoneID, start: start)
            let page = try await account.call(
                .ringsListMisplaced, options: options,
                encode: { coder in coder.encodeListMisplacedRecordsRequest(request) },
                decode: { (coder, bytes) throws(ServiceError) in
                    try coder.decodeListMisplacedRecordsResponse(bytes)
                })
            guard page.next == 0 || page.next > start else {
                throw .malformedResponse("the next part of the zone stands in front of this one")
            }
            for names in page.names.inParts(of: Self.recordsPerSave) {
                let results = try await reencrypt(names, zoneID, account, options)
                for (id, result) in results {
                    switch result {
                    case .success: count += 1
                    case .failure(let error as CKError) where failures.count < Self.failuresMax: failures[id] = error
                    case .failure: break
                    }
                }
            }
            start = page.next
        } while start > 0
        return (count, failures)
    }

    /// Encrypts records anew in the trees in which the server shows them, as far as something else says so as well.
    private func reencrypt(
        _ names: [String], _ zoneID: CKRecordZone.ID, _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> [CKRecord.ID: Result<CKRecord, any Error>] {
        let records = try await fetchRaw(names, zoneID, desiredKeys: nil, account, options)
        // The answer says what is below what by now.
        learn(records.values.map { (zoneID, $0) }, account)
        var results: [CKRecord.ID: Result<CKRecord, any Error>] = [:]
        var (part, byteCount) = ([Record](), 0)
        func save() async throws(CKError) {
            let moving = part.compactMap { CKRecord.make($0, zoneID: zoneID, context: account.answerContext) }
            (part, byteCount) = ([], 0)
            if moving.isEmpty { return }
            var modification = try modification(
                saving: moving, deleting: [], savePolicy: .ifServerRecordUnchanged, atomically: false)
            modification.encryptAnew(records)
            results.merge(try await send(modification, options).saveResults) { $1 }
        }
        for name in names {
            guard let record = records[name] else { continue }
            let bytes = record.encryptedByteCount
            if byteCount + bytes > Self.bytesPerSave { try await save() }
            part.append(record)
            byteCount += bytes
        }
        try await save()
        return results
    }
}

extension Array {
    /// Its elements in their order, as many in each part.
    fileprivate func inParts(of count: Int) -> [[Element]] {
        stride(from: 0, to: self.count, by: count).map { Array(self[$0..<Swift.min($0 + count, self.count)]) }
    }
}

extension Record {
    /// The bytes of its encrypted values.
    fileprivate var encryptedByteCount: Int {
        fields.values.reduce(0) { sum, value in
            if case .encrypted(let value) = value { sum + value.bytes.count } else { sum }
        }
    }
}
