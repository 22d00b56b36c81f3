public import BrumeKit
internal import BrumeModel
internal import BrumeRecord
internal import BrumeServer
internal import BrumeService

/// Looks at databases and changes them, without a device of the test's.
extension TestServer {
    // MARK: Looking

    /// An account's private database as text, to compare with what a test expects:
    ///
    /// ```
    /// zone Notes
    ///   Note first
    ///     parent -> list
    ///     text: "milk"
    /// ```
    ///
    /// Zones, records and fields are sorted, records by their types and names. The default zone is shown where it holds
    /// records; users' own records are, under the names of their accounts, where they have fields. Of data the first 32
    /// bytes are shown.
    ///
    /// - Parameter details: What is shown of records beside their fields.
    /// - Throws: ``TestServerError`` as ``account(_:)`` does.
    public func dump(of account: String, showing details: DumpDetails = []) async throws -> String {
        try await dump(try privateDatabase(of: account), details)
    }

    /// The public database as text; see ``dump(of:showing:)``.
    ///
    /// - Throws: ``TestServerError`` when the server was stopped.
    public func publicDump(showing details: DumpDetails = []) async throws -> String {
        try await dump(database(.public, owner: ""), details)
    }

    private func dump(_ id: DatabaseID, _ details: DumpDetails) async throws -> String {
        let contents = try await contents(id)
        let dump = DatabaseDump(details: details, accounts: accountNamesByUser)
        do throws(ServiceError) {
            return try dump.text(contents)
        } catch {
            throw TestServerError("the database can't be read: \(error.message)")
        }
    }

    /// The bytes of an account's private database that its quota counts.
    ///
    /// - Throws: ``TestServerError`` as ``account(_:)`` does.
    public func storedBytes(of account: String) async throws -> Int {
        try await contents(try privateDatabase(of: account)).storedBytes
    }

    func contents(_ id: DatabaseID) async throws -> DatabaseContents {
        try await read { server, done in server.contents(of: id, done: done) }
    }

    /// The entries of a ring, the first in front.
    ///
    /// - Parameter root: Empty for the zone's own ring.
    func ringEntries(of root: String, in zone: String, _ id: DatabaseID) async throws -> [SharedBytes] {
        try await read { server, done in server.ringEntries(of: root, in: ZoneID(name: zone), of: id, done: done) }
    }

    private func read<Value: Sendable>(
        _ body: (Server, _ done: @escaping @Sendable (Result<Value, ServiceError>) -> Void) -> Void
    ) async throws -> Value {
        let result = try await withCheckedThrowingContinuation {
            (continuation: CheckedContinuation<Result<Value, ServiceError>, any Error>) in
            do {
                try withServer { server in body(server) { continuation.resume(returning: $0) } }
            } catch {
                continuation.resume(throwing: error)
            }
        }
        switch result {
        case .success(let value): return value
        case .failure(let error): throw TestServerError("the database can't be read: \(error.message)")
        }
    }

    /// A record as the server has it, decoded and as it is; nil where there is none.
    func storedRecord(
        _ recordID: CKRecord.ID, in id: DatabaseID
    ) async throws -> (record: Record, bytes: [UInt8])? {
        let zone = try await contents(id).zones.first { $0.id.name == recordID.zoneID.zoneName }
        for bytes in zone?.records ?? [] {
            let record = bytes.withUnsafeBytes { try? StoredRecord.decode($0) }
            if let record, record.system.name == recordID.recordName { return (record, bytes.array) }
        }
        return nil
    }

    // MARK: Changing

    /// Puts records into a database and takes others out, as another device of the account does: the test's devices get
    /// them by pushes and in their fetches. Zones that are missing are made.
    ///
    /// What is there already is overwritten: a record has the fields and the parent that are given, and no others. The
    /// records that are given stay as they are. The script and ``calls(_:)`` don't see it.
    ///
    /// Encrypted values, and files with ``Options/encryptsAssets``, are encrypted with the account's keys, which are
    /// made where there are none: the account's devices read them once they are let in, each by any other
    /// (``TestDevice/letIn(_:)``). Where a device of the test made the keys, let another one in before.
    ///
    /// ```swift
    /// try await server.seed([list, note], of: "ada")
    /// ```
    ///
    /// - Parameters:
    ///   - records: Parents before or after their children.
    ///   - deletedRecordIDs: Those that are not there don't matter.
    ///   - account: It is made when there is none of that name.
    ///   - scope: `private` or `public`.
    /// - Returns: The records as they were saved.
    /// - Throws: ``TestServerError`` as ``account(_:)`` does; the `CKError` of the first record that can't be saved or
    ///   deleted.
    @discardableResult
    public func seed(
        _ records: [CKRecord] = [], deleting deletedRecordIDs: [CKRecord.ID] = [], of account: String,
        in scope: CKDatabase.Scope = .private
    ) async throws -> [CKRecord] {
        precondition(scope != .shared, "the shared database holds no records: seed its owners' private databases")
        let device = try seedingDevice(of: account)
        let database = device.container.database(with: scope)
        if scope == .private, records.contains(where: { isEncrypted($0) }) {
            try await device.takeKeysForSeeding(of: try self.account(account))
        }
        let zones = Set((records.map(\.recordID) + deletedRecordIDs).map(\.zoneID)).filter { $0 != .default }
        if !zones.isEmpty, scope == .private {
            let results = try await database.modifyRecordZones(
                saving: zones.sorted { $0.zoneName < $1.zoneName }.map { CKRecordZone(zoneID: $0) }, deleting: [])
            for result in results.saveResults.values { _ = try result.get() }
        }
        // Behind their parents, which have to be there first when they come in another request.
        let copies = Self.parentsFirst(records).map { $0.copy() as! CKRecord }
        for start in stride(from: 0, to: copies.count, by: TestLimits.seededRecordsPerRequest) {
            try await save(Array(copies[start...].prefix(TestLimits.seededRecordsPerRequest)), in: database)
        }
        for start in stride(from: 0, to: deletedRecordIDs.count, by: TestLimits.seededRecordsPerRequest) {
            let ids = Array(deletedRecordIDs[start...].prefix(TestLimits.seededRecordsPerRequest))
            let results = try await database.modifyRecords(saving: [], deleting: ids, atomically: false)
            for id in ids { try results.deleteResults[id]?.get() }
        }
        return copies
    }

    /// Whether a device needs the account's keys to save a record.
    private func isEncrypted(_ record: CKRecord) -> Bool {
        if !record.encryptedValues.allKeys().isEmpty { return true }
        return options.encryptsAssets && record.allKeys().contains { record[$0] is CKAsset || record[$0] is [CKAsset] }
    }

    /// Saves records, as many at a time as fit into a request.
    private func save(_ records: [CKRecord], in database: CKDatabase) async throws {
        try await clear(records, in: database)
        do {
            let results = try await database.modifyRecords(
                saving: records, deleting: [], savePolicy: .allKeys, atomically: false)
            for record in records { _ = try results.saveResults[record.recordID]?.get() }
        } catch CKError.limitExceeded where records.count > 1 {
            try await save(Array(records.prefix(records.count / 2)), in: database)
            try await save(Array(records.dropFirst(records.count / 2)), in: database)
        }
    }

    /// Takes from the server's records what those that are given do not hold: a save leaves the fields alone that it
    /// does not name.
    private func clear(_ records: [CKRecord], in database: CKDatabase) async throws {
        let fetched = try await database.records(for: records.map(\.recordID))
        var children: [CKRecord] = []
        for record in records {
            // One that can't be fetched is not there, or its save says what is wrong.
            guard let former = try? fetched[record.recordID]?.get() else { continue }
            let keys = Set(record.allKeys())
            for key in former.allKeys() where !keys.contains(key) && !record.changedKeys().contains(key) {
                record[key] = nil
            }
            let secrets = Set(record.encryptedValues.allKeys())
            for key in Set(former.encryptedValues.allKeys()).union(former.unreadableFields.keys)
            where !secrets.contains(key) && !keys.contains(key) {
                let isFile = former.sealedFields[key].map { !$0.assets.isEmpty } ?? true
                if isFile { record[key] = nil } else { record.encryptedValues[key] = nil }
            }
            guard former.parent != nil, record.parent == nil else { continue }
            // A record without a version can't take a parent away.
            former.parent = nil
            children.append(former)
        }
        if children.isEmpty { return }
        let results = try await database.modifyRecords(
            saving: children, deleting: [], savePolicy: .changedKeys, atomically: false)
        for record in children { _ = try results.saveResults[record.recordID]?.get() }
    }

    private static func parentsFirst(_ records: [CKRecord]) -> [CKRecord] {
        let byID = Dictionary(records.map { ($0.recordID, $0) }) { _, last in last }
        func depth(_ record: CKRecord) -> Int {
            var (depth, next) = (0, record.parent?.recordID)
            while let id = next, depth < records.count {
                depth += 1
                next = byID[id]?.parent?.recordID
            }
            return depth
        }
        return records.enumerated().map { (depth(($1)), $0, $1) }.sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map(\.2)
    }

    /// Deletes zones of an account's private database for a given reason, as CloudKit does when the user removes the
    /// app's data in the settings (`purged`) or resets their encrypted data (`encryptedDataReset`).
    ///
    /// Devices are told as of any deletion, with the reason. Until the zone is saved again, calls for a purged zone
    /// fail with `userDeletedZone`, and calls for one whose data were reset with `zoneNotFound` and
    /// `CKErrorUserDidResetEncryptedDataKey`. The default zone stays.
    ///
    /// ```swift
    /// try await server.deleteZones(of: "ada", reason: .purged)
    /// ```
    ///
    /// - Parameter zoneIDs: Nil: all but the default zone. Those that don't exist don't matter.
    /// - Throws: ``TestServerError`` as ``account(_:)`` does.
    public func deleteZones(
        _ zoneIDs: [CKRecordZone.ID]? = nil, of account: String,
        reason: CKDatabase.DatabaseChange.Deletion.Reason = .deleted
    ) async throws {
        let id = try privateDatabase(of: account)
        let reason: ZoneDeletionReason =
            switch reason {
            case .deleted: .deleted
            case .purged: .purged
            case .encryptedDataReset: .encryptedDataReset
            }
        let error = try await withCheckedThrowingContinuation {
            (continuation: CheckedContinuation<ServiceError?, any Error>) in
            do {
                try withServer { server in
                    server.deleteZones(zoneIDs?.map { ZoneID(name: $0.zoneName) }, of: id, reason: reason) {
                        continuation.resume(returning: $0)
                    }
                }
            } catch {
                continuation.resume(throwing: error)
            }
        }
        if let error { throw TestServerError("the zones can't be deleted: \(error.message)") }
    }

    /// Limits the private databases of an account, in all containers together, to so many bytes, by the server's own
    /// quota: saves for which there is no room fail with `quotaExceeded`, changes that take no more than before and
    /// deletions succeed. An asset fails so before anything of it is uploaded.
    /// ``storedBytes(of:)`` tells what it holds now.
    ///
    /// - Parameter bytes: Encoded bytes of its records, fields and system fields, and the contents of its assets, each
    ///   once; nil: no limit.
    /// - Throws: ``TestServerError`` as ``account(_:)`` does.
    public func setQuota(_ bytes: Int?, of account: String) throws {
        precondition(bytes ?? 1 > 0, "a quota is a byte at least; it can't be \(bytes ?? 0)")
        let account = try self.account(account)
        try withServer { server in
            do throws(AccountError) {
                try server.setQuota(bytes, ofAccount: account.name)
            } catch {
                throw TestServerError("the quota of \(account.name) can't be set: \(error)")
            }
        }
    }

    func privateDatabase(of account: String) throws -> DatabaseID {
        database(.private, owner: try self.account(account).userRecordID.recordName)
    }

    func database(_ scope: DatabaseScope, owner: String) -> DatabaseID {
        DatabaseID(
            container: options.containerIdentifier, environment: options.modelEnvironment, scope: scope, owner: owner)
    }
}
