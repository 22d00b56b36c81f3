internal import BrumeKit
internal import BrumeModel
internal import BrumeServer
internal import BrumeStore
internal import BrumeSystem
internal import Glibc

/// A start with many databases on disk, of which a hundred are used then.
enum Folder {
    private static let container = "iCloud.bench"
    private static let inUse = 100

    static func run(_ databases: Int) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        var configuration = try folder.serverConfiguration()
        configuration.memoryBudgetBytes = 1 << 40

        let first = try Server(configuration)
        try first.start()
        var owners: [String] = []
        var tokens: [String] = []
        for number in 0..<inUse {
            tokens.append(try first.addAccount(name: "user\(number)", email: "").token)
            let account = first.account(named: "user\(number)", container: container, environment: .development)
            owners.append(account?.userRecordName ?? "")
        }
        first.drain()
        first.wait()
        owners += (inUse..<databases).map { "_other\($0)" }
        let disk = UnsyncedDisk(folder: configuration.dataFolder)
        for owner in owners {
            let subject = Subject(owner: owner, container: container)
            subject.fill(20)
            try SnapshotWriter.write(subject.database.capture(), to: disk)
        }

        let before = residentBytes()
        let began = nanoseconds()
        let server = try Server(configuration)
        try server.start()
        let startTime = nanoseconds() - began
        let atStart = residentBytes()
        print(
            "\(databases) databases on disk: serving after \(Double(startTime) / 1e6) ms, resident +\((atStart - before) >> 10) KiB"
        )
        for token in tokens {
            _ = try await Beside.database(token, of: server, folder: folder.path).record(
                for: CKRecord.ID(recordName: Subject.name(1), zoneID: CKRecordZone.ID(zoneName: "notes")))
        }
        print(
            "with \(inUse) in use they count \(server.databaseBytes >> 10) KiB, and resident is",
            "+\((residentBytes() - before) >> 10) KiB with their clients, which are in this process")
        server.drain()
        server.wait()
    }

    private static func residentBytes() -> Int {
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        guard fgets(&line, Int32(line.count), file) != nil else { return 0 }
        let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * Int(getpagesize())
    }
}
