internal import BrumeKit
internal import BrumeModel
internal import BrumeSystem
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

/// `brume serve` as a process that is hurt from outside: a small disk, calls that fail, a clock that jumps, signals.
final class FaultyServer {
    private static let startMilliseconds = 60_000

    let folder: TestFolder
    let dataFolder: String
    let caPath: String
    private let certificates: Certificates
    private let logPath: String
    private var process: ChildProcess?
    private(set) var address = "127.0.0.1:0"

    /// - Parameter dataFolder: Where its data is; nil: in the test's folder.
    init(folder: TestFolder, dataFolder: String? = nil) throws {
        self.folder = folder
        self.dataFolder = dataFolder ?? folder.path + "/data"
        logPath = folder.path + "/server.log"
        certificates = Certificates(folder: folder.path + "/certificates")
        caPath = certificates.caPath
        try certificates.issue(names: Certificates.localNames)
    }

    /// Starts it where it listened before.
    func start(environment: [String: String] = [:], options: [String] = []) throws {
        let process = try ChildProcess(
            executable: CommandRun.executable,
            arguments: [
                "serve", "--data", dataFolder, "--listen", address, "--certificate", certificates.certificatePath,
                "--key", certificates.keyPath, "--ca", caPath, "--with-parent", "--journal-segment-bytes", "1048576",
            ] + (options.contains("--config") ? [] : ["--log-level", "info"]) + options,
            environment: CommandRun.clean(environment), errors: .file(logPath))
        self.process = process
        let deadline = MonotonicClock.nowNanoseconds + UInt64(Self.startMilliseconds) * 1_000_000
        while true {
            if let file = try ServerFile(dataFolder: dataFolder), file.pid == process.pid {
                address = file.server
                return
            }
            if process.hasEnded || MonotonicClock.nowNanoseconds > deadline {
                throw CommandError(.failed, "the server did not start: \(log.suffix(500))")
            }
            usleep(1_000)
        }
    }

    /// Puts another certificate, of the same authority, and its key in the place of those that it has.
    func renewCertificate() throws { try certificates.issue(names: Certificates.localNames) }

    var pid: Int32 { process?.pid ?? 0 }
    var log: String { FileManager.default.contents(atPath: logPath).map { String(decoding: $0, as: UTF8.self) } ?? "" }

    func send(_ signal: Int32) { process?.send(signal) }

    /// Whether the kernel has stopped all of its threads: a signal is on its way for a moment.
    var isStopped: Bool {
        let folder = "/proc/\(pid)/task"
        guard let tasks = try? FileManager.default.contentsOfDirectory(atPath: folder), !tasks.isEmpty else {
            return false
        }
        return tasks.allSatisfy { task in
            let status = (try? String(contentsOfFile: "\(folder)/\(task)/stat", encoding: .utf8)) ?? ""
            // The state stands behind the name, which is in parentheses and may hold anything.
            return status.split(separator: ")").last?.hasPrefix(" T") ?? false
        }
    }

    /// Waits for its end: its exit code, or 128 and the signal that ended it.
    func end() async throws -> Int32 {
        guard let process else { return -1 }
        try await Deadline.wait("the server ends") { process.hasEnded }
        self.process = nil
        return process.wait()
    }

    func kill() {
        send(SIGKILL)
        _ = process?.wait()
        process = nil
    }

    /// Makes an account; gives its token.
    func token(_ account: String) throws -> String {
        try #require(try run("account", "add", account, "--json").json()["token"]?.text)
    }

    func run(_ words: String...) throws -> CommandRun {
        try CommandRun(words + ["--data", dataFolder], in: folder)
    }

    /// What a client needs; `server` when it is to go another way.
    func configuration(token: String, server: String? = nil) -> BrumeConfiguration {
        BrumeConfiguration(
            server: server ?? address, caPath: caPath, token: token, container: "iCloud.faults",
            stateFolder: folder.path + "/state-" + UUID().uuidString)
    }

    /// The folder is sound, as the command sees it that needs no server.
    func expectSound(sourceLocation: SourceLocation = #_sourceLocation) throws {
        let verified = try CommandRun(["verify", dataFolder], in: folder)
        #expect(verified.status == 0, "\(verified.output) \(verified.errors)", sourceLocation: sourceLocation)
    }

    /// Waits for a line of the log.
    func waitForLog(_ text: String) async throws {
        try await Deadline.wait("the log says \"\(text)\"") { self.log.contains(text) }
    }
}

/// Waits for what another process does.
enum Deadline {
    struct Missed: Error, CustomStringConvertible {
        let description: String
    }

    static func wait(_ what: String, seconds: Int = 60, _ condition: () throws -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while try !condition() {
            guard ContinuousClock.now < deadline else { throw Missed(description: "not in \(seconds) s: \(what)") }
            try await Task.sleep(for: .milliseconds(5))
        }
    }
}

extension ClientSession {
    static let faultZone = ZoneID(name: "Faults")

    static func faulty(_ configuration: BrumeConfiguration) throws -> ClientSession {
        try ClientSession.unshared(configuration)
    }

    nonisolated func makeFaultZone() async throws {
        let request = ModifyZonesRequest(database: .private, saves: [Self.faultZone])
        for result in try await modifyZones(request).saves { _ = try result.get() }
    }

    /// Makes a record that must not be there yet, so that a second effect would be a conflict. Gives its change tag.
    @discardableResult
    nonisolated func insert(_ name: String, byteCount: Int = 100) async throws -> String {
        let save = RecordSave<DecodedFields>(
            name: name, type: "T", fields: ["filler": .bytes([UInt8](repeating: 7, count: byteCount))])
        let request = ModifyRecordsRequest<DecodedFields>(
            database: .private, savePolicy: .ifServerRecordUnchanged,
            operationID: withUnsafeBytes(of: UUID().uuid) { Array($0) },
            zones: [ZoneModification(zone: Self.faultZone, saves: [save])])
        guard let outcome = try await modifyRecords(request).first?.saves.first?.outcome else {
            throw Deadline.Missed(description: "a save had no outcome")
        }
        switch outcome {
        case .record(let record): return record.system.changeTag
        case .failure(let error): throw error
        case .deferred: throw Deadline.Missed(description: "a save was deferred")
        }
    }

    /// The zone's records in the order of their changes, behind a token, and the token behind them.
    nonisolated func changes(since token: [UInt8] = []) async throws -> (
        names: [String], tags: [String], token: [UInt8]
    ) {
        var (names, tags, token): ([String], [String], [UInt8]) = ([], [], token)
        while true {
            let page = try await zoneChanges(
                ZoneChangesRequest(database: .private, zone: Self.faultZone, token: token, desiredKeys: []))
            names += page.records.map(\.system.name)
            tags += page.records.map(\.system.changeTag)
            token = page.token
            if !page.moreComing { return (names, tags, token) }
        }
    }
}

/// What `body` comes to, or nil when that takes longer; it is cancelled then.
func within<Value: Sendable>(
    milliseconds: Int, _ body: @escaping @Sendable () async throws -> Value
) async -> Result<Value, any Error>? {
    await withTaskGroup(of: Result<Value, any Error>?.self) { group in
        group.addTask {
            do { return .success(try await body()) } catch { return .failure(error) }
        }
        group.addTask {
            try? await Task.sleep(for: .milliseconds(milliseconds))
            return nil
        }
        let first = await group.next() ?? nil
        group.cancelAll()
        return first
    }
}
