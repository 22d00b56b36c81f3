internal import BrumeKit
internal import BrumeLock
internal import BrumeModel
internal import BrumeServer
internal import BrumeService
internal import BrumeStore
internal import BrumeSystem
internal import BrumeTestKit
internal import Glibc
internal import Synchronization

/// Requests to a small database, one every 2 milliseconds, while a large one of the same loop is loaded.
enum Beside {
    private static let container = RunningServer.container

    static func run(_ records: Int) async throws {
        let server = try RunningServer {
            $0.loopCount = 1
            $0.log = .none
        }
        defer { server.stop() }
        let (large, small) = (try server.addAccount("large"), try server.addAccount("small"))
        guard let owner = server.server.account(named: "large", container: container, environment: .development) else {
            preconditionFailure("the account is not there")
        }
        server.stop()
        do {
            let subject = Subject(owner: owner.userRecordName, container: container)
            subject.fill(records)
            try SnapshotWriter.write(subject.database.capture(), to: RealDisk(folder: server.dataFolder))
        }

        try server.start()
        let largeDatabase = server.device(token: large).privateCloudDatabase
        let smallDatabase = server.device(token: small).privateCloudDatabase
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
    }

    private final class Progress: Sendable {
        let isLoaded = Atomic<Bool>(false)
        let times = Lock<[UInt64]>([])
    }
}
