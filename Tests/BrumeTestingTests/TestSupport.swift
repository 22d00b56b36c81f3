import CloudKit

let notes = CKRecordZone(zoneName: "Notes")

/// A record of the zone ``notes``.
func note(_ name: String, _ text: String = "text", type: String = "Note") -> CKRecord {
    let record = CKRecord(recordType: type, recordID: CKRecord.ID(recordName: name, zoneID: notes.zoneID))
    record["text"] = text
    return record
}

/// The error of a body that throws a `CKError`.
func failure<Value>(_ body: () async throws -> Value) async -> CKError? {
    do {
        _ = try await body()
        return nil
    } catch {
        return error as? CKError
    }
}

/// Saves records in one request, and fails with what one of them fails with.
func save(
    _ records: [CKRecord], in database: CKDatabase,
    _ policy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged
) async throws {
    let results = try await database.modifyRecords(saving: records, deleting: [], savePolicy: policy)
    for result in results.saveResults.values { _ = try result.get() }
}

/// What the save of a record fails with; nil for one that is done.
func errorOfSaving(
    _ record: CKRecord, in database: CKDatabase,
    _ policy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged
) async -> CKError? {
    do {
        try await save([record], in: database, policy)
        return nil
    } catch {
        return error as? CKError
    }
}
