import BrumeModel
import BrumeRecord
import BrumeStore
import BrumeTestKit
import Foundation
import Testing

@testable import BrumeServer
@testable import BrumeService

@Suite("The memory budget", .timeLimit(.minutes(4)))
struct MemoryBudgetTests {
    @Test("databases stand in the order of their use, and their bytes add up")
    func order() {
        var databases = LoadedDatabases()
        let all = (0..<5).map { MemoryBudgetTests.loaded("_\($0)") }
        func names() -> [String] { databases.leastRecentlyUsed(9).map { $0.database.id.owner } }
        var bytes = 0
        for loaded in all {
            databases.insert(loaded)
            bytes += databases.measure(loaded)
        }
        #expect(databases.count == 5 && databases.bytes == bytes && bytes > 0)
        #expect(databases.measure(all[0]) == 0)
        #expect(names() == ["_0", "_1", "_2", "_3", "_4"])
        #expect(databases.use(all[0].database.id) === all[0])
        #expect(databases.use(all[0].database.id) === all[0])
        #expect(databases.use(all[3].database.id) === all[3])
        #expect(names() == ["_1", "_2", "_4", "_0", "_3"])
        databases.remove(all[4])
        databases.remove(all[1])
        databases.remove(all[3])
        #expect(names() == ["_2", "_0"])
        #expect(databases.use(all[1].database.id) == nil && databases.known(all[2].database.id) === all[2])
        databases.remove(all[2])
        databases.remove(all[0])
        #expect(names() == [] && databases.count == 0 && databases.bytes == 0)
        databases.insert(all[1])
        #expect(names() == ["_1"])
    }

    @Test("events that are kept for devices count, up to their limit, and go with their database")
    func backlog() {
        var databases = LoadedDatabases()
        let loaded = MemoryBudgetTests.loaded("_0")
        databases.insert(loaded)
        let empty = databases.measure(loaded)
        let zone = ZoneID(name: "Notes")
        func publish(_ sequences: ClosedRange<UInt64>) -> Int {
            for sequence in sequences {
                loaded.hub.publish(
                    NotificationHub.Publication(
                        sequence: sequence, origin: .server, committedMilliseconds: 0,
                        hints: [KeptSubscription(Subscription(id: "s", kind: .zone(zone, recordType: "")))],
                        matches: CommitMatches()))
            }
            return databases.measureBacklog(loaded)
        }
        let one = publish(1...1)
        #expect(one > 100)
        #expect(publish(2...100) > 99 * 100)
        _ = publish(101...UInt64(4 * ServiceLimits.backlogEvents))
        // What has fallen out counts no more, but for its places.
        #expect(databases.bytes - empty < 3 * one * ServiceLimits.backlogEvents)
        #expect(databases.bytes == loaded.entry.bytes && databases.measure(loaded) == 0)
        databases.remove(loaded)
        #expect(databases.bytes == 0)
    }

    private static func loaded(_ owner: String) -> LoadedDatabase {
        let id = DatabaseID(container: "iCloud.x", environment: .development, scope: .private, owner: owner)
        let database = Database(id: id, epoch: 1)
        return LoadedDatabase(
            database: database,
            hub: NotificationHub(database: database, head: .start, coder: EventCoder()),
            storage: nil, savedSequence: 0)
    }

    @Test("what nobody uses is dropped above the budget, and comes back whole")
    func comesBack() async throws {
        try await RunningServer.running(adjust: { $0.memoryBudgetBytes = 1 }) { server in
            let zone = HostileRequests.zone("Notes")
            var clients: [(token: String, changeToken: [UInt8])] = []
            for name in ["alice", "bob", "carol"] { clients.append((try server.addAccount(name), [])) }
            for round in 0..<4 {
                for index in clients.indices {
                    let peer = try await FrameClient.welcomed(server, token: clients[index].token)
                    if round == 0 { try await peer.makeZone("Notes") }
                    try await peer.mustSave("r\(round)", in: zone)
                    // Whoever is connected stays.
                    #expect(server.server.databaseBytes > 0)
                    // The token of the time before still stands for the same place.
                    let page = try await peer.succeed(
                        HostileRequests.Method.recordsChanges,
                        HostileRequests.changes(zone: zone, token: clients[index].changeToken))
                    #expect(page.messages(1).map { $0.text(1) } == ["r\(round)"])
                    clients[index].changeToken = page.bytes(3)
                    let all = try await peer.succeed(
                        HostileRequests.Method.recordsChanges, HostileRequests.changes(zone: zone))
                    #expect(all.messages(1).map { $0.text(1) } == (0...round).map { "r\($0)" })
                    peer.abort()
                }
                try await waitUntil("no database is in memory") { server.server.databaseBytes == 0 }
            }
            #expect(server.log.text.contains("databases dropped from memory"))
        }
    }

    @Test("a database that is dropped while a run of snapshots goes on loses nothing")
    func besideSnapshots() async throws {
        try await RunningServer.running(adjust: {
            $0.memoryBudgetBytes = 1
            $0.journalSegmentBytes = 64 * 1024
            $0.snapshotJournalBytes = 128 * 1024
        }) { server in
            let zone = HostileRequests.zone("Notes")
            let token = try server.addAccount("alice")
            let field = HostileRequests.field("text", text: [UInt8](repeating: 0x61, count: 20_000))
            for round in 0..<12 {
                let peer = try await FrameClient.welcomed(server, token: token)
                if round == 0 { try await peer.makeZone("Notes") }
                for number in 0..<5 {
                    try await peer.take(
                        HostileRequests.modifyRecords(
                            zone: zone, [HostileRequests.save("r\(round)-\(number)", fields: [field])]))
                }
                peer.abort()
            }
            try await server.log.wait(for: "snapshots written")
            try await waitUntil("no database is in memory") { server.server.databaseBytes == 0 }
            let peer = try await FrameClient.welcomed(server, token: token)
            var names: Set<String> = []
            var changeToken: [UInt8] = []
            var page: ProtobufReader
            repeat {
                page = try await peer.succeed(
                    HostileRequests.Method.recordsChanges, HostileRequests.changes(zone: zone, token: changeToken))
                names.formUnion(page.messages(1).map { $0.text(1) })
                changeToken = page.bytes(3)
            } while page.varint(4) == 1
            #expect(names.count == 60)
            peer.abort()
        }
    }

    /// `BRUME_LARGE_FOLDER_FILES` makes the folder larger: 100,000, in a release build, gives the figures. The time is
    /// looked at then only: on a busy machine it says nothing.
    @Test("a start does not look at the databases on disk, and only those that are used are in memory")
    func largeFolder() async throws {
        let givenFiles = ProcessInfo.processInfo.environment["BRUME_LARGE_FOLDER_FILES"].flatMap { Int($0) }
        let files = givenFiles ?? 3_000
        let inUse = files < 10_000 ? 10 : 100
        nonisolated(unsafe) var started = ContinuousClock.now
        nonisolated(unsafe) var residentBefore = 0
        nonisolated(unsafe) var gate: GatedDisk?
        try await RunningServer.running(
            adjust: { configuration in
                configuration.memoryBudgetBytes = 1 << 40
                // A small folder would be read whole.
                configuration.startCheck = .none
                do {
                    try MemoryBudgetTests.fill(configuration, files: files)
                } catch {
                    Issue.record("\(error)")
                }
                residentBefore = ResidentMemory.byteCount
                started = .now
            },
            disk: {
                let disk = GatedDisk(folder: $0)
                gate = disk
                return disk
            },
            { server in
                let startTime = started.duration(to: .now)
                let residentAtStart = ResidentMemory.byteCount
                #expect(gate?.snapshotsOpened == 0)
                if givenFiles != nil { #expect(startTime < .seconds(1)) }
                var peers: [FrameClient] = []
                for number in 0..<inUse {
                    let token = try server.addAccount("user\(number)")
                    let peer = try await FrameClient.welcomed(server, token: token)
                    try await peer.makeZone("Notes")
                    try await peer.mustSave("r", in: HostileRequests.zone("Notes"))
                    peers.append(peer)
                }
                let bytes = server.server.databaseBytes
                #expect(bytes < (inUse + 1) * 16 * 1024)
                print(
                    "\(files) databases on disk: serving after \(startTime), resident +\((residentAtStart - residentBefore) >> 10)",
                    "KiB; with \(inUse) in use they count \(bytes >> 10) KiB, and resident is",
                    "+\((ResidentMemory.byteCount - residentBefore) >> 10) KiB with their clients")
                for peer in peers { peer.abort() }
            })
    }

    /// A folder that a server made, with snapshots of databases beside it that nobody asks for.
    private static func fill(_ configuration: ServerConfiguration, files: Int) throws {
        try RunningServer { $0 = configuration }.stop()
        // Not synced: that would take all the time there is.
        let disk = GatedDisk(folder: configuration.dataFolder, syncs: false)
        DispatchQueue.concurrentPerform(iterations: files) { number in
            let owner = "_user\(number)"
            let database = Database(
                id: DatabaseID(
                    container: RunningServer.container, environment: .development, scope: .private, owner: owner),
                epoch: 1)
            _ = database.ensureUserRecord(named: owner, nowMilliseconds: 0)
            do {
                // Made in memory, so that the real one has one name to make for each and none to change.
                let memory = SimulatedDisk()
                try memory.makeDirectory("snapshots")
                try SnapshotWriter.write(database.capture(), to: memory)
                for path in memory.paths {
                    let file = try disk.create(path)
                    try disk.write(memory.contents(of: path) ?? [], to: file, at: 0)
                    disk.close(file)
                }
            } catch {
                Issue.record("\(error)")
            }
        }
    }
}
