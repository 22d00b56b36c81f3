internal import BrumeKit
internal import BrumeLock
internal import BrumeModel
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

/// Faults of the system under a real server: calls that fail, a process that stands still, a clock that jumps.
@Suite("A server whose system fails it", .serialized, .timeLimit(.minutes(4)))
struct ProcessFaultTests {
    /// A library that is loaded before the system's own; see Tests/Shims/faults.c.
    static func shim(in folder: TestFolder) throws -> String {
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path + "/../../Shims/faults.c"
        let library = folder.path + "/faults.so"
        for compiler in ["cc", "clang"] {
            let made = try Tool.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source])
            if made.status == 0 { return library }
        }
        throw CommandError(.failed, "\(source) can't be compiled; install a C compiler")
    }

    /// Inserts records until there is an error; counts what was acknowledged.
    private final class Writer: Sendable {
        private let names = Lock<[String]>([])
        private let isStopped = Lock(false)

        var acknowledged: [String] { names.withLock { $0 } }

        func stop() { isStopped.withLock { $0 = true } }

        func run(_ session: ClientSession, prefix: String) async {
            for index in 0..<100_000 where !isStopped.withLock({ $0 }) && !Task.isCancelled {
                do {
                    _ = try await session.insert("\(prefix)-\(index)", byteCount: 500)
                } catch let error as ServiceError where error.code == .serverRecordChanged {
                    // Nobody else inserts it: an attempt of this call did, and its answer was lost. The server
                    // remembers answers to 256 operations of a database, which the other writers need a moment for when
                    // this one comes back late.
                } catch {
                    return
                }
                names.withLock { $0.append("\(prefix)-\(index)") }
            }
        }
    }

    /// EIO is 5, ENOSPC 28: a sync that says that the disk is full has failed like any other.
    @Test(
        "ends with 74 and a sentence at the first failed write or sync, and no acknowledged save is lost",
        arguments: [("fdatasync", "5"), ("fdatasync", "28"), ("pwrite", "5"), ("fsync", "5")])
    func failingCall(call: String, number: String) async throws {
        let folder = try TestFolder()
        let server = try ServerProcess(folder: folder)
        let trigger = folder.path + "/trigger"
        try server.start(environment: [
            "LD_PRELOAD": try Self.shim(in: folder), "FAULT_CALL": call, "FAULT_TRIGGER": trigger,
            "FAULT_ERRNO": number,
        ])
        let token = try server.addAccount("ada")
        let session = try ClientSession.unshared(server.configuration(token: token))
        try await session.makeFaultZone()
        let writers = (0..<3).map { _ in Writer() }
        try await withThrowingTaskGroup { group in
            for (index, writer) in writers.enumerated() {
                let own = try ClientSession.unshared(server.configuration(token: token))
                group.addTask { await writer.run(own, prefix: "w\(index)") }
            }
            try await waitUntil("some saves are acknowledged") {
                writers.allSatisfy { $0.acknowledged.count >= 5 }
            }
            _ = try folder.write("trigger", "")
            #expect(try await server.end() == ExitCode.diskFailed.rawValue)
            #expect(server.log.contains("the journal can't be written"))
            try server.expectSound()
            try server.start()
            // The same writers go on, on the same connections as they see it.
            let counts = writers.map(\.acknowledged.count)
            try await waitUntil("saves are acknowledged again") {
                zip(writers, counts).allSatisfy { $0.acknowledged.count > $1 + 3 }
            }
            for writer in writers { writer.stop() }
            try await group.waitForAll()
        }
        let names = try await session.changes().names
        let acknowledged = Set(writers.flatMap(\.acknowledged))
        #expect(Set(names).isSuperset(of: acknowledged))
        #expect(Set(names).count == names.count && names.count <= acknowledged.count + writers.count)
        server.send(SIGTERM)
        #expect(try await server.end() == 0)
    }

    /// A journal that has nothing to do notes how far it is synced.
    @Test(
        "ends with 74 and the same sentence when the disk fails while nobody writes",
        arguments: ["fdatasync", "pwrite"])
    func failingPause(call: String) async throws {
        let folder = try TestFolder()
        let server = try ServerProcess(folder: folder)
        let trigger = folder.path + "/trigger"
        try server.start(environment: [
            "LD_PRELOAD": try Self.shim(in: folder), "FAULT_CALL": call, "FAULT_PATH": "/journal/extent",
            "FAULT_TRIGGER": trigger,
        ])
        let session = try ClientSession.unshared(server.configuration(token: server.addAccount("ada")))
        try await session.makeFaultZone()
        _ = try folder.write("trigger", "")
        // The pause may come before it or behind it.
        async let last = session.insert("last")
        #expect(try await server.end() == ExitCode.diskFailed.rawValue)
        #expect(server.log.contains("the journal can't be written"))
        try server.expectSound()
        try server.start()
        _ = try await last
        #expect(try await session.changes().names == ["last"])
        server.send(SIGTERM)
        #expect(try await server.end() == 0)
    }

    @Test(
        "does not start before the name of its data folder is durable: one that it makes, and one that stood there",
        arguments: [false, true])
    func unsyncedParent(stoodThere: Bool) async throws {
        let folder = try TestFolder()
        // Both have this name in their path. The parent is the first of them to be synced.
        let parent = folder.path + "/parent"
        let server = try ServerProcess(folder: folder, dataFolder: parent + "/data")
        try FileManager.default.createDirectory(
            atPath: stoodThere ? server.dataFolder : parent, withIntermediateDirectories: true)
        let trigger = try folder.write("trigger", "")
        let faults = [
            "LD_PRELOAD": try Self.shim(in: folder), "FAULT_CALL": "fsync", "FAULT_PATH": "/parent",
            "FAULT_TRIGGER": trigger,
        ]
        #expect(throws: TestFailure.self) { try server.start(environment: faults) }
        #expect(try await server.end() == ExitCode.failed.rawValue)
        #expect(server.log.contains("the data folder can't be made: fsync \(parent):"), "\(server.log)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: server.dataFolder).isEmpty, "nothing is written")
        try FileManager.default.removeItem(atPath: trigger)
        try server.start(environment: faults)
        server.send(SIGTERM)
        #expect(try await server.end() == 0)
    }

    @Test("that stands still for two seconds loses nothing, and who can't wait is told in time")
    func standstill() async throws {
        let server = try ServerProcess(folder: TestFolder())
        try server.start()
        let token = try server.addAccount("ada")
        let session = try ClientSession.unshared(server.configuration(token: token))
        try await session.makeFaultZone()
        let writer = Writer()
        let own = try ClientSession.unshared(server.configuration(token: token))
        let writing = Task { await writer.run(own, prefix: "w") }
        for round in 1...2 {
            let count = writer.acknowledged.count
            try await waitUntil("saves are acknowledged, round \(round)") { writer.acknowledged.count > count + 5 }
            server.send(SIGSTOP)
            try await waitUntil("every thread stands still") { server.isStopped }
            do throws(ServiceError) {
                _ = try await session.ping(timeoutNanoseconds: 2_000_000_000)
                Issue.record("a process that stands still answered")
            } catch {
                #expect(error.code == .networkFailure)
            }
            server.send(SIGCONT)
        }
        let count = writer.acknowledged.count
        try await waitUntil("saves are acknowledged at the end") { writer.acknowledged.count > count + 5 }
        writer.stop()
        await writing.value
        #expect(try await session.changes().names == writer.acknowledged)
        server.send(SIGTERM)
        #expect(try await server.end() == 0)
    }

    @Test("whose wall clock jumps by years keeps the order of changes, and its tokens hold")
    func clockJumps() async throws {
        let folder = try TestFolder()
        let server = try ServerProcess(folder: folder)
        let clock = try folder.write("clock", "0")
        let environment = ["LD_PRELOAD": try Self.shim(in: folder), "FAULT_CLOCK": clock]
        try server.start(environment: environment)
        let session = try ClientSession.unshared(server.configuration(token: server.addAccount("ada")))
        try await session.makeFaultZone()
        let year = 365 * 86_400
        var tokens: [[UInt8]] = [try await session.changes().token]
        var names: [String] = []
        for (index, offset) in [0, -year, 10 * year, -20 * year, 3_600].enumerated() {
            // Whole, so that nobody reads half a number.
            try Data(String(offset).utf8).write(to: URL(fileURLWithPath: clock), options: .atomic)
            for item in 0..<3 {
                names.append("r\(index)-\(item)")
                try await session.insert(names.last!)
            }
            tokens.append(try await session.changes(since: tokens.last!).token)
            if index == 2 {
                server.kill()
                try server.start(environment: environment)
            }
        }
        for (index, token) in tokens.enumerated() {
            #expect(try await session.changes(since: token).names == Array(names.dropFirst(index * 3)))
        }
        // The clock did jump where the tests see it: in the records' dates.
        let request = FetchRecordsRequest(
            database: .private, zones: [.init(zone: ClientSession.faultZone, names: ["r2-0", "r3-0"])])
        let dates = try await session.fetchRecords(request).flatMap { $0 }.compactMap { outcome -> Int64? in
            guard case .record(let record) = outcome else { return nil }
            return record.system.createdMilliseconds
        }
        try #require(dates.count == 2)
        #expect(dates[0] - dates[1] > Int64(29 * year) * 1_000)
        server.send(SIGTERM)
        #expect(try await server.end() == 0)
    }

    /// The clock is ahead all the time, by what it would be set back.
    @Test("one of whose loops stands still says so within seconds, also when the clock is set back meanwhile")
    func standingLoop() async throws {
        let folder = try TestFolder()
        let server = try ServerProcess(folder: folder)
        let stop = folder.path + "/stop"
        try server.start(
            environment: [
                "LD_PRELOAD": try Self.shim(in: folder), "FAULT_CLOCK": try folder.write("clock", "7200"),
                "FAULT_LOOP": stop,
            ], options: ["--metrics-listen", "127.0.0.1:0"])
        // It is logged behind the line that the start waits for.
        try await server.waitForLog("figures over HTTP")
        let line = try #require(server.log.split(separator: "\n").first { $0.contains("figures over HTTP") })
        let port = try #require(line.split(separator: ":").last)
        func answer() throws -> String {
            let file = folder.path + "/answer"
            let request = "GET /livez HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n"
            _ = try Tool.run([
                "bash", "-c",
                "exec 3<>/dev/tcp/127.0.0.1/\(port); printf '\(request)' >&3; timeout 60 cat <&3 >\(file)",
            ])
            return try String(contentsOfFile: file, encoding: .utf8)
        }
        #expect(try answer().hasPrefix("HTTP/1.1 200"))
        _ = try folder.write("stop", "")
        // The loop may come round once more.
        var last = try answer()
        if last.hasPrefix("HTTP/1.1 200") { last = try answer() }
        #expect(last.hasPrefix("HTTP/1.1 503"), "\(last)")
        try FileManager.default.removeItem(atPath: stop)
        #expect(try answer().hasPrefix("HTTP/1.1 200"))
        server.send(SIGTERM)
        #expect(try await server.end() == 0)
    }
}
