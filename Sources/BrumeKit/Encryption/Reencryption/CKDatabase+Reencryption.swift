internal import BrumeEncryption
internal import BrumeModel
internal import BrumeProtocol
internal import BrumeRecord

/// Encrypting anew what is below records that moved into another tree.
extension CKDatabase {
    /// Brume's addition: encrypts anew what has come into shared trees of a zone with a record above it, and saves it.
    ///
    /// A record that moves is encrypted anew with the save that moves it. What is below it, or below a record with a
    /// parent that is shared, is not: it can be a hundred thousand records. The device that moves it does that behind
    /// the save, in the background, and goes on with it after a restart; until then those with whom the tree is shared
    /// don't read these fields. Call this to have it done when it returns, before others are sent a link, say, or to
    /// have another device finish what one began. Called again it does nothing that is done.
    ///
    /// The records get new versions with the same content, and a new ``CKRecord/modificationDate``. An instance that
    /// the app holds whole, with all fields open, is saved as if it were of the new version; any other meets
    /// `serverRecordChanged`, as after a change on another device.
    ///
    /// - Returns: How many records were encrypted anew; and why others were not, 400 at most:
    ///   `accountTemporarilyUnavailable` where nothing but the server's word says where a record is, and for fields
    ///   whose keys this device does not have; `invalidArguments` for fields that are damaged; otherwise what a save
    ///   fails with: call it again later.
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
        let done = try await boundToAccount.reencrypt(zoneID, believesStamps: true, callOptions)
        return (done.count, done.failures)
    }

    /// What going over a zone came to.
    struct Reencryption: Sendable {
        var count = 0
        var failures: [CKRecord.ID: CKError] = [:]

        /// Nothing but a person, or another device, changes what is damaged.
        var outcome: MovedZones.Outcome {
            if failures.values.allSatisfy({ $0.code == .invalidArguments }) { return .isDone }
            return failures.values.contains { $0.isForNow } ? .hasFailed : .isLeft
        }
    }

    /// The most rounds over a zone. Each but the last one has encrypted something, or somebody else was faster.
    private static let roundsMax = 5
    /// The most parts of a zone: more than one of some hundred million records has.
    private static let partsMax = 100_000
    /// The most failures that are told.
    private static let failuresMax = Limits.itemsPerRequest
    /// Records of one save, and bytes of their fields: the server reads as much for a save.
    private static let recordsPerSave = 50
    private static let bytesPerSave = 1_000_000

    /// What one look at a zone goes by.
    private struct Evidence {
        let moved: [String: Move]
        let believesStamps: Bool
    }

    /// Waits for whoever does it already.
    ///
    /// - Parameter believesStamps: Whether a stamp of a shared tree says that a record was put there: with the server's
    ///   help whoever has the tree's keys can make one. Without, only what this device has noted does.
    func reencrypt(
        _ zoneID: CKRecordZone.ID, believesStamps: Bool, _ options: CallOptions
    ) async throws(CKError) -> Reencryption {
        let (account, zones) = (core.account, core.account.encryptedZones)
        return try await zones.reencryptionTurns.run { () async throws(CKError) in
            // Without a ring there is nothing to do, and none is made for that.
            _ = try await zones.keysForReading(zoneID.ringID, upTo: 0, for: account, options)
            let noted = await zones.notedMoves(zoneID.ringID, for: account, options)
            zones.withMovedZones { $0.haveRead(movesOf: noted.moved.keys, in: zoneID.ringID) }
            let evidence = Evidence(moved: noted.moved, believesStamps: believesStamps)
            var all = Reencryption()
            for _ in 0..<Self.roundsMax {
                // Another device may have moved what is above them.
                zones.updateTrees(zoneID.ringID) { $0.forgetParents() }
                let round = try await reencryptOnce(zoneID, evidence, account, options)
                all = Reencryption(count: all.count + round.count, failures: round.failures)
                let hasOthers = round.failures.values.contains { $0.code == .serverRecordChanged }
                if round.count == 0, !hasOthers { break }
            }
            if all.outcome != .hasFailed {
                await zones.forgetMoves(
                    noted, isDone: all.outcome == .isDone, zoneID.ringID, for: account, options)
            }
            return all
        }
    }

    /// Goes over the zone once.
    private func reencryptOnce(
        _ zoneID: CKRecordZone.ID, _ evidence: Evidence, _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> Reencryption {
        var round = Reencryption()
        var start: UInt32 = 0
        for _ in 0..<Self.partsMax {
            let request = ListMisplacedRecordsRequest(zone: zoneID.ringID.zoneID, start: start)
            let page = try await account.call(
                .ringsListMisplaced, options: options,
                encode: { coder in coder.encodeListMisplacedRecordsRequest(request) },
                decode: { (coder, bytes) throws(ServiceError) in
                    try coder.decodeListMisplacedRecordsResponse(bytes)
                })
            guard page.next == 0 || page.next > start, page.names.count <= Limits.itemsPerRequest else {
                throw .malformedResponse("the next part of the zone stands in front of this one, or has no end")
            }
            for names in page.names.inParts(of: Self.recordsPerSave) {
                try await reencrypt(names, zoneID, evidence, account, options, &round)
            }
            start = page.next
            if start == 0 { return round }
        }
        throw .malformedResponse("the zone has no end")
    }

    /// Encrypts records anew in the trees in which the server shows them, as far as something else says so as well.
    private func reencrypt(
        _ names: [String], _ zoneID: CKRecordZone.ID, _ evidence: Evidence, _ account: AccountBinding,
        _ options: CallOptions, _ round: inout Reencryption
    ) async throws(CKError) {
        let records = try await fetchRaw(names, zoneID, desiredKeys: nil, account, options)
        // The answer says what is below what by now.
        learn(records.values.map { (zoneID, $0) }, isShown: false, account)
        var (part, byteCount) = ([Record](), 0)
        for record in names.compactMap({ records[$0] }) {
            let bytes = record.approximateByteCount
            if !part.isEmpty, byteCount + bytes > Self.bytesPerSave {
                try await reencrypt(part, zoneID, evidence, account, options, &round)
                (part, byteCount) = ([], 0)
            }
            part.append(record)
            byteCount += bytes
        }
        try await reencrypt(part, zoneID, evidence, account, options, &round)
    }

    /// - Parameter records: As the server has them, not too many for one save.
    private func reencrypt(
        _ records: [Record], _ zoneID: CKRecordZone.ID, _ evidence: Evidence, _ account: AccountBinding,
        _ options: CallOptions, _ round: inout Reencryption
    ) async throws(CKError) {
        let moving = records.compactMap { CKRecord.make($0, zoneID: zoneID, context: account.answerContext) }
        if moving.isEmpty { return }
        let tags = Dictionary(moving.map { ($0.recordID, $0.recordChangeTag) }) { $1 }
        var modification = try modification(
            saving: moving, deleting: [], savePolicy: .ifServerRecordUnchanged, atomically: false)
        modification.encryptAnew(
            Dictionary(records.map { ($0.system.name, $0) }) { $1 }, moved: evidence.moved,
            believesStamps: evidence.believesStamps)
        for (id, result) in try await send(modification, options).saveResults {
            switch result {
            // One that is where it was stays as it was.
            case .success(let saved): if saved.recordChangeTag != tags[id] { round.count += 1 }
            case .failure(let error as CKError) where error.code == .unknownItem: break
            case .failure(let error as CKError) where round.failures.count < Self.failuresMax:
                round.failures[id] = error
            case .failure: break
            }
        }
    }
}

extension CKError {
    /// Whether the same succeeds later, with nobody's doing.
    fileprivate var isForNow: Bool {
        switch code {
        case .accountTemporarilyUnavailable, .invalidArguments: false
        default: true
        }
    }
}

extension Record {
    /// About the bytes of its fields.
    fileprivate var approximateByteCount: Int {
        let coder = ValueCoder()
        return fields.reduce(0) { sum, field in
            if case .encrypted(let value) = field.value { return sum + value.bytes.count }
            return sum + coder.encode(field.value).count
        }
    }
}
