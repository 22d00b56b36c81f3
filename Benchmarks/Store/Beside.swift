internal import BrumeKit
internal import BrumeLock
internal import BrumeModel
internal import BrumeServer
internal import BrumeStore
internal import BrumeSystem
internal import Glibc
internal import Synchronization

/// Requests to a small database, one every 2 milliseconds, while a large one of the same loop is loaded.
enum Beside {
    private static let container = "iCloud.bench"

    static func run(_ records: Int) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        var configuration = try folder.serverConfiguration()
        configuration.loopCount = 1

        let first = try Server(configuration)
        try first.start()
        let large = try first.addAccount(name: "large", email: "")
        let small = try first.addAccount(name: "small", email: "")
        guard let owner = first.account(named: "large", container: container, environment: .development) else {
            preconditionFailure("the account is not there")
        }
        first.drain()
        first.wait()
        do {
            let subject = Subject(owner: owner.userRecordName, container: container)
            subject.fill(records)
            try SnapshotWriter.write(subject.database.capture(), to: RealDisk(folder: configuration.dataFolder))
        }

        let server = try Server(configuration)
        try server.start()
        let largeDatabase = database(large.token, of: server, folder: folder.path)
        let smallDatabase = database(small.token, of: server, folder: folder.path)
        try await smallDatabase.save(CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "r")))
        let progress = Progress()
        var loadTime: UInt64 = 0
        try await withThrowingTaskGroup { group in
            group.addTask {
                let began = nanoseconds()
                _ = try await largeDatabase.record(
                    for: CKRecord.ID(recordName: Subject.name(1), zoneID: CKRecordZone.ID(zoneName: "notes")))
                let time = nanoseconds() - began
                progress.isLoaded.store(true, ordering: .relaxed)
                return time
            }
            var next = nanoseconds()
            await withThrowingTaskGroup { requests in
                while !progress.isLoaded.load(ordering: .relaxed) {
                    next += 2_000_000
                    let now = nanoseconds()
                    if next > now { try? await Task.sleep(nanoseconds: next - now) }
                    requests.addTask {
                        let began = nanoseconds()
                        _ = try await smallDatabase.record(for: CKRecord.ID(recordName: "r"))
                        let time = nanoseconds() - began
                        progress.times.withLock { $0.append(time) }
                    }
                }
            }
            loadTime = try await group.next() ?? 0
        }
        report("small database while \(records) records load", progress.times.withLock { $0 })
        print("the large database answered after \(Double(loadTime) / 1e6) ms")
        server.drain()
        server.wait()
    }

    private final class Progress: Sendable {
        let isLoaded = Atomic<Bool>(false)
        let times = Lock<[UInt64]>([])
    }

    static func database(_ token: String, of server: Server, folder: String) -> CKDatabase {
        CKContainer(
            identifier: container,
            configuration: BrumeConfiguration(
                server: server.address, caPath: folder + "/ca.pem", token: token, stateFolder: folder + "/state")
        ).privateCloudDatabase
    }
}
