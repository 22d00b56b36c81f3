internal import BrumeKit
internal import BrumeServer
internal import BrumeService
internal import BrumeSystem
internal import BrumeTestKit
internal import Glibc

/// What it takes until guests read all that is below a record which is shared in the midst of a tree: the save that
/// shares it, and the device of the owner's that encrypts the rest anew, with what others' saves wait for meanwhile.
/// The server is in the process, with its journal on the disk.
enum MiddleShare {
    private static let fieldCount = 2
    private static let recordsPerSave = 200
    private static let text = String(repeating: "some words ", count: 4)

    static func run(_ count: Int) async throws {
        let server = try RunningServer { $0.log = .none }
        defer { server.stop() }
        let database = server.device(token: try server.addAccount("ada")).privateCloudDatabase
        let zone = CKRecordZone.ID(zoneName: "notes")
        func record(_ name: String, below parent: CKRecord? = nil) -> CKRecord {
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
            for field in 0..<fieldCount { record.encryptedValues["secret\(field)"] = text }
            record.setParent(parent)
            return record
        }
        func save(_ records: [CKRecord]) async throws {
            let results = try await database.modifyRecords(saving: records, deleting: [])
            for result in results.saveResults.values { _ = try result.get() }
        }
        _ = try await database.save(CKRecordZone(zoneID: zone))
        let shelf = record("shelf")
        let folder = record("folder", below: shelf)
        try await save([shelf, folder])
        for start in stride(from: 0, to: count, by: recordsPerSave) {
            try await save((start..<min(start + recordsPerSave, count)).map { record("note\($0)", below: folder) })
        }
        print("a record with \(count) records below it, of \(fieldCount) encrypted fields of \(text.utf8.count) bytes")
        let (before, sharingBegan) = (processNanoseconds(), nanoseconds())
        let share = CKShare(rootRecord: folder)
        share.publicPermission = .readOnly
        try await save([folder, share])
        print("shared in \(Double((nanoseconds() - sharingBegan) / 1000) / 1000) ms")
        let bystander = Bystander(server.device(token: try server.addAccount("bob")).privateCloudDatabase)
        let waiting = Task { try await bystander.saves() }
        let began = nanoseconds()
        let done = try await database.reencryptRecords(in: zone)
        let elapsed = nanoseconds() - began
        waiting.cancel()
        report("a save of somebody else's meanwhile", try await waiting.value)
        let left = try await database.reencryptRecords(in: zone)
        precondition(done.failures.isEmpty && left.count == 0 && left.failures.isEmpty, "records are left")
        let processor = processNanoseconds() - before
        print(
            "encrypted anew in \(Double(elapsed / 1_000_000) / 1000) s, \(elapsed / UInt64(count) / 1000) us a record; "
                + "\(processor / UInt64(count) / 1000) us CPU a record, server and both devices")
    }

    private static func processNanoseconds() -> UInt64 { nanoseconds(of: CLOCK_PROCESS_CPUTIME_ID) }

    /// Somebody else, who saves one record after the other.
    private struct Bystander: Sendable {
        let database: CKDatabase

        init(_ database: CKDatabase) { self.database = database }

        func saves() async throws -> [UInt64] {
            var times: [UInt64] = []
            let record = CKRecord(recordType: "Note")
            while !Task.isCancelled {
                record["number"] = times.count
                let began = nanoseconds()
                do { try await database.save(record) } catch  where Task.isCancelled { break }
                times.append(nanoseconds() - began)
            }
            return times
        }
    }
}
