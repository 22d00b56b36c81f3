internal import BrumeKit
internal import BrumeModel
internal import BrumeServer
internal import BrumeService
internal import BrumeStore
internal import BrumeSystem
internal import BrumeTestKit

/// A start with many databases on disk, of which a hundred are used then.
enum Folder {
    private static let container = RunningServer.container
    private static let inUse = 100

    static func run(_ databases: Int) async throws {
        let server = try RunningServer {
            $0.memoryBudgetBytes = 1 << 40
            $0.log = .none
        }
        defer { server.stop() }
        var owners: [String] = []
        var tokens: [String] = []
        for number in 0..<inUse {
            tokens.append(try server.addAccount("user\(number)"))
            let account = server.server.account(named: "user\(number)", container: container, environment: .development)
            owners.append(account?.userRecordName ?? "")
        }
        server.stop()
        owners += (inUse..<databases).map { "_other\($0)" }
        let disk = UnsyncedDisk(folder: server.dataFolder)
        for owner in owners {
            let subject = Subject(owner: owner, container: container)
            subject.fill(20)
            try SnapshotWriter.write(subject.database.capture(), to: disk)
        }

        let before = ResidentMemory.byteCount
        let began = nanoseconds()
        try server.start()
        let startTime = nanoseconds() - began
        let atStart = ResidentMemory.byteCount
        print(
            "\(databases) databases on disk: serving after \(Double(startTime) / 1e6) ms, resident +\((atStart - before) >> 10) KiB"
        )
        for token in tokens {
            _ = try await server.device(token: token).privateCloudDatabase.record(
                for: CKRecord.ID(recordName: Subject.name(1), zoneID: CKRecordZone.ID(zoneName: "notes")))
        }
        print(
            "with \(inUse) in use they count \(server.server.databaseBytes >> 10) KiB, and resident is",
            "+\((ResidentMemory.byteCount - before) >> 10) KiB with their clients, which are in this process")
    }
}
