internal import BrumeModel
internal import BrumeProtocol
internal import Foundation

/// Fetching what changed.
extension CKDatabase {
    /// What happened to a zone of a database.
    public enum DatabaseChange {
        /// Something in the zone changed, or the zone is new.
        public struct Modification: Hashable, Sendable {
            /// The zone.
            public let zoneID: CKRecordZone.ID
        }

        /// The zone is gone.
        public struct Deletion: Hashable, Sendable {
            /// Why a zone is gone.
            public enum Reason: Hashable, Sendable {
                /// An app deleted it.
                case deleted
                /// The user removed the app's data. Don't upload them again without asking.
                case purged
                /// The user reset the encrypted data.
                case encryptedDataReset
            }

            /// The zone.
            public let zoneID: CKRecordZone.ID
            /// Why it is gone.
            public let reason: Reason

            /// Whether the user removed the app's data.
            @available(*, deprecated, message: "Use reason")
            public var purged: Bool { reason == .purged }
        }
    }

    /// What happened to a record of a zone.
    public enum RecordZoneChange {
        /// The record is new or changed.
        public struct Modification: Hashable, Sendable {
            /// The record in its latest version.
            public let record: CKRecord
        }

        /// The record is gone.
        public struct Deletion: Hashable, Sendable {
            /// The record's id.
            public let recordID: CKRecord.ID
            /// The record's type.
            public let recordType: CKRecord.RecordType
        }
    }

    /// One page of the zones that changed, came or went since a token. The default zone never appears.
    ///
    /// In the shared database zones come when the user accepts a share, and go, with the reason `deleted`, when the
    /// user leaves or is removed, and when the share ends.
    ///
    /// Call again with the new token while `moreComing`. Handle the deletions first: a zone that was deleted and made
    /// again is among them and among the modifications, or in those of a later page.
    ///
    /// - Parameters:
    ///   - changeToken: Where the fetch before ended, or nil for all zones.
    ///   - resultsLimit: The most zones in the page; nil or 0 leaves it to the server.
    /// - Throws: `changeTokenExpired` when the token is not valid any more: fetch from nil, and drop the zones that
    ///   don't appear.
    public func databaseChanges(
        since changeToken: CKServerChangeToken?, resultsLimit: Int? = nil
    ) async throws -> (
        modifications: [DatabaseChange.Modification], deletions: [DatabaseChange.Deletion],
        changeToken: CKServerChangeToken, moreComing: Bool
    ) {
        let page = try await databaseChanges(since: changeToken, resultsLimit: resultsLimit, callOptions)
        return (page.modifications, page.earlierDeletions + page.deletions, page.changeToken, page.moreComing)
    }

    /// A page of a database's changes.
    struct DatabaseChangePage {
        /// Of zones whose name another one has: to be told first.
        var earlierDeletions: [DatabaseChange.Deletion]
        var modifications: [DatabaseChange.Modification]
        var deletions: [DatabaseChange.Deletion]
        var changeToken: CKServerChangeToken
        var moreComing: Bool
    }

    func databaseChanges(
        since changeToken: CKServerChangeToken?, resultsLimit: Int?, _ options: CallOptions
    ) async throws(CKError) -> DatabaseChangePage {
        let resultsLimit = try Self.checked(resultsLimit)
        let scope = try requestScope()
        let request = DatabaseChangesRequest(
            database: scope, token: changeToken?.bytes ?? [], resultsLimit: resultsLimit)
        let account = core.account
        let page = try await account.call(
            .databasesChanges, options: options, encode: { coder in coder.encodeDatabaseChangesRequest(request) },
            decode: { (coder, bytes) throws(ServiceError) in try coder.decodeDatabaseChangesResponse(bytes) })
        let currentUser = account.currentUser
        func zoneID(_ id: ZoneID) throws(CKError) -> CKRecordZone.ID {
            guard let zoneID = CKRecordZone.ID(id, currentUser: currentUser) else {
                throw .malformedResponse("a zone has a name that none can have")
            }
            return zoneID
        }
        func deletion(
            _ deletion: DatabaseChangesPage<[UInt8]>.Deletion
        ) throws(CKError) -> DatabaseChange.Deletion {
            let reason: DatabaseChange.Deletion.Reason =
                switch deletion.reason {
                case .deleted: .deleted
                case .purged: .purged
                case .encryptedDataReset: .encryptedDataReset
                }
            return DatabaseChange.Deletion(zoneID: try zoneID(deletion.zone), reason: reason)
        }
        let earlierDeletions = try page.earlierDeletions.map(deletion)
        let deletions = try page.deletions.map(deletion)
        await zonesAreGone((earlierDeletions + deletions).map(\.zoneID), account)
        return DatabaseChangePage(
            earlierDeletions: earlierDeletions,
            modifications: try page.changed.map { (id) throws(CKError) in
                DatabaseChange.Modification(zoneID: try zoneID(id))
            },
            deletions: deletions, changeToken: CKServerChangeToken(bytes: page.token), moreComing: page.moreComing)
    }

    /// One page of what changed in a custom zone since a token: each record once, in its latest version.
    ///
    /// Call again with the new token while `moreComing`. Changes that this device made are among them.
    ///
    /// - Parameters:
    ///   - zoneID: A custom zone of the private database, or a zone of the shared one.
    ///   - changeToken: Where the fetch before ended, or nil for all records that exist.
    ///   - desiredKeys: The fields to fetch; nil for all.
    ///   - resultsLimit: The most changes in the page; nil or 0 leaves it to the server.
    /// - Throws: `changeTokenExpired` when the token is not valid any more: fetch from nil, and drop the records that
    ///   don't appear. `zoneNotFound` when the zone does not exist. `invalidArguments` when the database can't have the
    ///   zone, as the shared one can't have the current user's.
    public func recordZoneChanges(
        inZoneWith zoneID: CKRecordZone.ID, since changeToken: CKServerChangeToken?,
        desiredKeys: [CKRecord.FieldKey]? = nil, resultsLimit: Int? = nil
    ) async throws -> (
        modificationResultsByID: [CKRecord.ID: Result<RecordZoneChange.Modification, any Error>],
        deletions: [RecordZoneChange.Deletion], changeToken: CKServerChangeToken, moreComing: Bool
    ) {
        let page = try await recordZoneChanges(
            in: zoneID, since: changeToken, desiredKeys: desiredKeys, resultsLimit: resultsLimit, callOptions)
        var modifications: [CKRecord.ID: Result<RecordZoneChange.Modification, any Error>] = [:]
        modifications.reserveCapacity(page.records.count)
        for record in page.records {
            modifications[record.recordID] =
                page.failures[record.recordID].map { .failure($0) }
                ?? .success(RecordZoneChange.Modification(record: record))
        }
        return (modifications, page.deletions, page.changeToken, page.moreComing)
    }

    /// A page of a zone's changes, oldest first.
    struct RecordZoneChangePage {
        var records: [CKRecord]
        /// Errors of records that have an asset without a file: its content was not available.
        var failures: [CKRecord.ID: CKError] = [:]
        var deletions: [RecordZoneChange.Deletion]
        var changeToken: CKServerChangeToken
        var clientChangeTokenData: Data?
        var moreComing: Bool
    }

    func recordZoneChanges(
        in zoneID: CKRecordZone.ID, since changeToken: CKServerChangeToken?, desiredKeys: [CKRecord.FieldKey]?,
        resultsLimit: Int?, _ options: CallOptions
    ) async throws(CKError) -> RecordZoneChangePage {
        let scope = try requestScope()
        if let problem = ownerProblem(of: zoneID) {
            throw CKError(.invalidArguments, message: "changes of zone \(zoneID) can't be fetched: \(problem)")
        }
        let request = ZoneChangesRequest(
            database: scope, zone: zoneID.modelID, token: changeToken?.bytes ?? [],
            resultsLimit: try Self.checked(resultsLimit), desiredKeys: desiredKeys)
        let account = core.account
        let page: ZoneChangesPage<Record, [UInt8]>
        do throws(CKError) {
            page = try await account.call(
                .recordsChanges, options: options, encode: { coder in coder.encodeZoneChangesRequest(request) },
                decode: { (coder, bytes) throws(ServiceError) in try coder.decodeZoneChangesResponse(bytes) })
        } catch {
            if error.saysZoneMadeAgain { await zonesAreGone([zoneID], account) }
            throw error
        }
        var records: [CKRecord] = []
        var failures: [CKRecord.ID: CKError] = [:]
        let fetched = page.records.map {
            FetchedRecord(id: nil, zoneID: zoneID, record: $0, keys: .wanted(desiredKeys))
        }
        for (record, failure) in try await self.records(fetched, account, options) {
            records.append(record)
            failures[record.recordID] = failure
        }
        let deletions = try page.deletions.map { (deletion) throws(CKError) in
            guard CKRecord.ID.problem(withName: deletion.name) == nil else {
                throw .malformedResponse("a deleted record has a name that none can have")
            }
            return RecordZoneChange.Deletion(
                recordID: CKRecord.ID(recordName: deletion.name, zoneID: zoneID), recordType: deletion.type)
        }
        learn(gone: deletions.lazy.map(\.recordID), account)
        return RecordZoneChangePage(
            records: records, failures: failures, deletions: deletions,
            changeToken: CKServerChangeToken(bytes: page.token),
            clientChangeTokenData: page.clientToken.isEmpty ? nil : Data(page.clientToken), moreComing: page.moreComing)
    }

    private static func checked(_ resultsLimit: Int?) throws(CKError) -> Int {
        guard let resultsLimit else { return 0 }
        guard resultsLimit >= 0 else {
            throw CKError(
                .invalidArguments, message: "resultsLimit is \(resultsLimit); give it a positive number, or nil")
        }
        return resultsLimit
    }
}
