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
