internal import BrumeKit
internal import CAllocations
internal import Glibc

/// Calls through the SDK to a server in a process of its own, which the environment names (`BRUME_SERVER`, `BRUME_CA`,
/// `BRUME_TOKEN`): round trips a second, time of a call, and what it costs this process.
enum Calls {
    private static let container = "iCloud.bench"
    private static let pageRecords = 100

    static func run(_ count: Int) async throws {
        let database = CKContainer(identifier: container).privateCloudDatabase
        let run = UUID().uuidString.prefix(8)
        let zone = CKRecordZone.ID(zoneName: "calls-\(run)")
        try await database.save(CKRecordZone(zoneID: zone))
        let text = String(repeating: "some words ", count: 80)
        @Sendable func id(_ number: Int) -> CKRecord.ID { CKRecord.ID(recordName: "\(number)", zoneID: zone) }
        @Sendable func note(_ number: Int) -> CKRecord {
            let record = CKRecord(recordType: "Note", recordID: id(number))
            record["text"] = text
            record["number"] = number
            return record
        }
        print(
            "a record has \(text.utf8.count) bytes of text and a number; a page of changes has \(pageRecords) records")
        for width in [1, 32] {
            let base = width * 10_000_000
            let records = (0..<count).map { note(base + $0) }
            try await measure("save", count, width) { try await database.save(records[$0]) }
            try await measure("record(for:)", count, width) { _ = try await database.record(for: id(base + $0)) }
            try await measure("recordZoneChanges", max(count / 20, 1), width) { _ in
                _ = try await database.recordZoneChanges(inZoneWith: zone, since: nil, resultsLimit: pageRecords)
            }
            try await measure("CKFetchRecordsOperation", count, width) { number in
                try await withCheckedThrowingContinuation { continuation in
                    let operation = CKFetchRecordsOperation(recordIDs: [id(base + number)])
                    operation.fetchRecordsResultBlock = { continuation.resume(with: $0) }
                    database.add(operation)
                }
            }
        }
    }

    /// Makes `count` calls, `width` at a time.
    private static func measure(
        _ title: String, _ count: Int, _ width: Int, _ call: @escaping @Sendable (Int) async throws -> Void
    ) async throws {
        let (allocations, processor, began) = (
            allocation_count(), nanoseconds(of: CLOCK_PROCESS_CPUTIME_ID), nanoseconds()
        )
        let times = try await withThrowingTaskGroup(of: [UInt64].self) { group in
            for lane in 0..<width {
                group.addTask {
                    var times: [UInt64] = []
                    times.reserveCapacity(count / width + 1)
                    for number in stride(from: lane, to: count, by: width) {
                        let began = nanoseconds()
                        try await call(number)
                        times.append(nanoseconds() - began)
                    }
                    return times
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        let seconds = Double(nanoseconds() - began) / 1e9
        let processorTime = Double(nanoseconds(of: CLOCK_PROCESS_CPUTIME_ID) - processor) / 1000 / Double(count)
        let allocationsEach = Double(allocation_count() - allocations) / Double(count)
        report("\(title), \(width) at a time", times)
        print(
            "    \(Int(Double(count) / seconds)) round trips/s, \(Int(allocationsEach.rounded())) allocations and "
                + "\(processorTime.rounded()) us of processor a call")
    }
}
