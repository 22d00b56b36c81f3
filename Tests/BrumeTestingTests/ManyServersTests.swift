import BrumeTesting
import CloudKit
import Foundation
import Testing

/// In processes of their own: other tests open and close descriptors at any time.
@Suite("Many test servers in one process", .timeLimit(.minutes(5)))
struct ManyServersTests {
    /// `BRUME_SERVERS=1000` runs so many.
    private static let count = Int(ProcessInfo.processInfo.environment["BRUME_SERVERS"] ?? "") ?? 50

    private static var descriptorCount: Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? .max
    }

    /// A server as a test uses it: two devices, a save, a stream.
    private static func use() async throws {
        try await TestServer.run { server in
            let phone = try server.device(of: "ada")
            let laptop = try server.device(of: "ada")
            let zone = CKRecordZone(zoneName: "Notes")
            try await phone.privateCloudDatabase.save(zone)
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n", zoneID: zone.zoneID))
            try await phone.privateCloudDatabase.save(record)
            _ = try await laptop.privateCloudDatabase.record(for: record.recordID)
        }
    }

    @Test("leave no descriptor behind when they have stopped")
    func descriptors() async {
        await #expect(processExitsWith: .success) {
            // What the process opens once, and keeps.
            for _ in 0..<3 { try await ManyServersTests.use() }
            let before = ManyServersTests.descriptorCount
            for _ in 0..<ManyServersTests.count { try await ManyServersTests.use() }
            let left = ManyServersTests.descriptorCount - before
            if left > 4 {
                print("\(left) descriptors stay after \(ManyServersTests.count) servers")
                exit(1)
            }
        }
    }
}
