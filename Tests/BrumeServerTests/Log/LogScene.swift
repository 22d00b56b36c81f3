import BrumeModel
import BrumeStore
import BrumeSystem
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// The commit logs that there are.
enum LogKind: CaseIterable {
    case journal
    case scripted
}

/// What a log keeps from one server to the next.
final class LogGround {
    let disk = SimulatedDisk()
    let storage = ScriptedLogStorage()
    fileprivate(set) var servers: UInt32 = 0
}

/// A commit log, and a host that writes down what it is told, on loops that the test steps.
final class LogScene {
    /// Opens a database, or is about to.
    final class Opening {
        fileprivate(set) var work: (@Sendable () -> Void)?
        fileprivate(set) var result: Result<OpenedDatabase, StoreError>?
    }

    let logs: any CommitLogs
    let log: any CommitLog
    let host: RecordingHost
    let loops: ServerLoops
    private let ground: LogGround
    private var now: UInt64 = 1_000_000_000

    /// The next server on the same ground.
    ///
    /// - Parameter opensAtOnce: False for a log that takes long to open what it has saved.
    init(_ kind: LogKind, on ground: LogGround = LogGround(), opensAtOnce: Bool = true) throws {
        self.ground = ground
        ground.servers += 1
        loops = try ServerLoops(shards: 1)
        switch kind {
        case .journal:
            var configuration = ServerConfiguration(dataFolder: "", certificatePath: "", keyPath: "")
            configuration.log = .none
            configuration.startCheck = .none
            if !opensAtOnce { configuration.shortLoadBytes = 0 }
            logs = JournalLogs(
                of: try Recovery(
                    opening: ground.disk,
                    options: JournalWriter.Options(salt: UInt64(ground.servers), segmentBytes: 4_096),
                    newEpoch: ground.servers),
                on: ground.disk, configuration: configuration, loops: loops, diskFullPauseMilliseconds: 0,
                failStop: { Issue.record("the journal stopped: \($0)") })
        case .scripted:
            let scripted = ScriptedCommitLogs(loops, storage: ground.storage)
            scripted.savesAtOnce = false
            scripted.opening = opensAtOnce ? .atOnce : .inBackground
            logs = scripted
        }
        log = logs.log(ofShard: 0)
        host = RecordingHost(log)
        log.host = host
    }

    deinit { logs.release() }

    func step(_ times: Int = 10) {
        for _ in 0..<times {
            now += 1_000_000
            for loop in loops.all { loop.step(nowNanoseconds: now, wallClockMilliseconds: 0) }
        }
    }

    /// The turn ends, and the log does all that it can.
    func settle() {
        log.submit()
        for _ in 0..<10 {
            if let journal = logs as? JournalLogs { journal.groupCommit.step { _ in } }
            (logs as? ScriptedCommitLogs).map { if !$0.isFull { $0.makeDurable() } }
            step()
        }
    }

    // MARK: Databases

    static func id(_ owner: String) -> DatabaseID {
        DatabaseID(container: "iCloud.log", environment: .development, scope: .private, owner: owner)
    }

    func open(_ id: DatabaseID) -> Opening {
        let opening = Opening()
        log.open(id) {
            opening.work = $0
        } _: {
            #expect(opening.result == nil, "a database is opened twice")
            opening.result = $0
        }
        return opening
    }

    /// Opens a database, however long it takes, and has the host keep it.
    func opened(_ id: DatabaseID) throws -> OpenedDatabase {
        let opening = open(id)
        opening.work?()
        step()
        let opened = try #require(opening.result).get()
        host.databases[id] = opened.database
        return opened
    }

    /// Commits a new zone, and returns its position.
    @discardableResult
    func makeZone(_ name: String, in database: Database, movedRecords: Int = 0) throws -> UInt64 {
        let decision = database.modifyZones(
            ModifyZonesRequest(database: .private, saves: [ZoneID(name: name)]),
            caller: Caller(user: database.id.owner, isOwner: true), nowMilliseconds: 1)
        let appended = try log.append(try #require(decision.commit).entry, movedRecords: movedRecords)
        #expect(appended.byteCount > 0)
        host.appendedPosition = appended.position
        host.unsaved.insert(database.id)
        return appended.position
    }

    func close(_ id: DatabaseID) {
        host.databases[id] = nil
        log.close(id)
    }

    // MARK: Faults

    /// From now on there is no room for what is committed.
    func fill() {
        (logs as? ScriptedCommitLogs)?.isFull = true
        ground.disk.faults.capacityBytes = ground.disk.paths.reduce(0) {
            $0 + (ground.disk.contents(of: $1)?.count ?? 0)
        }
    }

    func makeRoom() {
        (logs as? ScriptedCommitLogs)?.isFull = false
        ground.disk.faults.capacityBytes = nil
    }

    /// The next opening can't read what was saved.
    func failReading() {
        (logs as? ScriptedCommitLogs)?.openingErrors = [
            .disk(DiskError(call: "read", path: "the log", message: "the test wants it so"))
        ]
        ground.disk.faults.unreadablePart = "snapshots/"
    }

    func stopFailing() { ground.disk.faults.unreadablePart = nil }
}

/// A shard, as far as a log knows it.
final class RecordingHost: CommitLogHost {
    private unowned let log: any CommitLog
    private let gate = DurabilityGate()
    var databases: [DatabaseID: Database] = [:]
    var unsaved: Set<DatabaseID> = []
    var appendedPosition: UInt64 = 0
    /// What it was told, in order.
    private(set) var durable: [UInt64] = []
    private(set) var saved: [DatabaseID: UInt64] = [:]

    init(_ log: any CommitLog) { self.log = log }

    func becameDurable(upTo position: UInt64) {
        durable.append(position)
        gate.open(upTo: position)
    }

    func saved(_ id: DatabaseID, upTo sequence: UInt64) { saved[id] = sequence }
    func lost(_ id: DatabaseID) { Issue.record("\(id) is told lost though nobody else took it") }
    var databaseIDs: [DatabaseID] { databases.keys.sorted { $0.owner < $1.owner } }

    func takeUnsaved() -> [DatabaseID] {
        defer { unsaved = [] }
        return unsaved.sorted { $0.owner < $1.owner }
    }

    func listUnsaved() { unsaved.formUnion(databases.keys) }

    /// One at a time.
    func capture(
        _ ids: ArraySlice<DatabaseID>, _ done: @escaping @Sendable (_ captures: [DatabaseCapture], _ taken: Int) -> Void
    ) {
        log.submit()
        let captures = ids.prefix(1).compactMap { databases[$0]?.capture() }
        gate.whenDurable(appendedPosition) { done(captures, 1) }
    }

    func lostSaved(_ id: DatabaseID) -> Bool { databases[id] != nil }
}

/// Whether something was called back.
final class Flag: @unchecked Sendable {
    var outcomes: [Bool] = []
}
