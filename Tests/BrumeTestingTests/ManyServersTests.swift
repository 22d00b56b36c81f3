import BrumeTesting
import CloudKit
import Foundation
import Testing

/// `BRUME_SERVERS=1000` runs so many.
private let serverCount = Int(ProcessInfo.processInfo.environment["BRUME_SERVERS"] ?? "") ?? 50

/// In a process of their own: other tests open and close descriptors at any time. A thousand take five minutes.
@Suite("Many test servers in one process", .timeLimit(.minutes(5 + serverCount / 100)))
struct ManyServersTests {
    /// Memory moves by some megabytes whatever is done. 1,000 servers leave 6 MiB behind in all, so each has room for
    /// 16 KiB.
    private static var bytesLeftMax: Int { 8 * 1024 * 1024 + serverCount * 16 * 1024 }

    private static var descriptorCount: Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? .max
    }

    /// What the process has in memory.
    private static var residentBytes: Int {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? .max / 65_536
        return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
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

    @Test("leave neither descriptors nor memory behind when they have stopped")
    func leftovers() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            // What the process opens once and keeps, and what allocators and runtimes grow by.
            for _ in 0..<20 { try await ManyServersTests.use() }
            let (descriptors, bytes) = (ManyServersTests.descriptorCount, ManyServersTests.residentBytes)
            for _ in 0..<serverCount { try await ManyServersTests.use() }
            let descriptorsLeft = ManyServersTests.descriptorCount - descriptors
            let bytesLeft = ManyServersTests.residentBytes - bytes
            print(
                "\(serverCount) servers: \(descriptorsLeft) more than \(descriptors) descriptors,",
                "\(bytesLeft) more than \(bytes) bytes of memory")
            if descriptorsLeft > 4 || bytesLeft > ManyServersTests.bytesLeftMax { exit(1) }
        }
        print(String(decoding: result?.standardOutputContent ?? [], as: UTF8.self))
    }
}
