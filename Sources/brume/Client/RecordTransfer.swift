internal import BrumeKit
internal import BrumeLock
internal import BrumeSystem

/// Saving and fetching records with a progress bar for the files of their assets.
enum RecordTransfer {
    /// Saves a record.
    ///
    /// - Parameter values: What was set: the bar shows the bytes of the files among it, and none where there are none.
    static func save(_ record: CKRecord, _ values: [TypedValue], in database: CKDatabase) async throws -> CKRecord {
        let byteCount = values.flatMap(\.paths).reduce(0) { $0 + ((try? FileSystem.size($1)) ?? 0) }
        if byteCount == 0 { return try await database.save(record) }
        let reporter = ProgressReporter(title: "upload", total: byteCount, unit: ProgressBar.bytes)
        let operation = CKModifyRecordsOperation(recordsToSave: [record])
        operation.isAtomic = false
        operation.perRecordProgressBlock = { _, fraction in reporter.advance(to: Int(fraction * Double(byteCount))) }
        let saved = Lock<Result<CKRecord, any Error>?>(nil)
        operation.perRecordSaveBlock = { _, result in saved.withLock { $0 = result } }
        try await withCheckedThrowingContinuation { continuation in
            operation.modifyRecordsResultBlock = { continuation.resume(with: $0) }
            database.add(operation)
        }
        reporter.finish()
        guard let result = saved.withLock({ $0 }) else {
            throw CommandError(.failed, "the server did not answer for the record")
        }
        return try result.get()
    }

    /// Fetches records.
    ///
    /// - Parameter showsProgress: Whether files are fetched, which takes time.
    static func fetch(
        _ ids: [CKRecord.ID], keys: [String]?, showsProgress: Bool, in database: CKDatabase
    ) async throws -> [CKRecord.ID: Result<CKRecord, any Error>] {
        guard showsProgress else { return try await database.records(for: ids, desiredKeys: keys) }
        let reporter = ProgressReporter(title: "fetch", total: ids.count * 100, unit: "records")
        let operation = CKFetchRecordsOperation(recordIDs: ids)
        operation.desiredKeys = keys
        let done = Lock<[CKRecord.ID: Double]>([:])
        operation.perRecordProgressBlock = { id, fraction in
            let (hundredths, count) = done.withLock { done in
                done[id] = fraction
                return (done.values.reduce(0) { $0 + Int($1 * 100) }, done.values.count { $0 == 1 })
            }
            reporter.advance(to: hundredths, count: count)
        }
        let results = Lock<[CKRecord.ID: Result<CKRecord, any Error>]>([:])
        operation.perRecordResultBlock = { id, result in results.withLock { $0[id] = result } }
        try await withCheckedThrowingContinuation { continuation in
            operation.fetchRecordsResultBlock = { continuation.resume(with: $0) }
            database.add(operation)
        }
        reporter.finish()
        return results.withLock { $0 }
    }
}

extension TypedValue {
    /// The paths of the files that it names.
    fileprivate var paths: [String] {
        switch self {
        case .file(let path): [path]
        case .list(let elements): elements.flatMap(\.paths)
        default: []
        }
    }
}
