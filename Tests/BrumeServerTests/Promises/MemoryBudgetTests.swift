import BrumeModel
import BrumeStore
import BrumeWire
import Foundation
import Testing

@testable import BrumeServer

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

    private static func loaded(_ owner: String) -> LoadedDatabase {
        let id = DatabaseID(container: "iCloud.x", environment: .development, scope: .private, owner: owner)
        let database = Database(id: id, epoch: 1)
        return LoadedDatabase(
            database: database,
            hub: NotificationHub(
                database: database, head: .start, sealer: TokenSealer(key: [UInt8](repeating: 1, count: 32)),
                coder: MessageCoder()),
            snapshotSequence: 0)
    }

    @Test("what nobody uses is dropped above the budget, and comes back whole")
    func comesBack() async throws {
        try await HostileServer.running(adjust: { $0.memoryBudgetBytes = 1 }) { server in
            let zone = HostileRequests.zone("Notes")
            var clients: [(token: String, changeToken: [UInt8])] = []
            for name in ["alice", "bob", "carol"] { clients.append((try await server.addAccount(name), [])) }
            for round in 0..<4 {
                for index in clients.indices {
                    let peer = try await HostilePeer.welcomed(server, token: clients[index].token)
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
                try await MemoryBudgetTests.until { server.server.databaseBytes == 0 }
            }
            #expect(server.logText.contains("databases dropped from memory"))
        }
    }

    @Test("a database that is dropped while a run of snapshots goes on loses nothing")
    func besideSnapshots() async throws {
        try await HostileServer.running(adjust: {
            $0.memoryBudgetBytes = 1
            $0.journalSegmentBytes = 64 * 1024
            $0.snapshotJournalBytes = 128 * 1024
        }) { server in
            let zone = HostileRequests.zone("Notes")
            let token = try await server.addAccount("alice")
            let field = HostileRequests.field("text", text: [UInt8](repeating: 0x61, count: 20_000))
            for round in 0..<12 {
                let peer = try await HostilePeer.welcomed(server, token: token)
                if round == 0 { try await peer.makeZone("Notes") }
                for number in 0..<5 {
                    try await peer.take(
                        HostileRequests.modifyRecords(
                            zone: zone, [HostileRequests.save("r\(round)-\(number)", fields: [field])]))
                }
                peer.abort()
            }
            try await server.waitForLog("snapshots written")
            try await MemoryBudgetTests.until { server.server.databaseBytes == 0 }
            let peer = try await HostilePeer.welcomed(server, token: token)
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

    /// `BRUME_LARGE_FOLDER_FILES` makes the folder larger: 100,000 gives the figures.
    @Test("a start does not look at the databases on disk, and only those that are used are in memory")
    func largeFolder() async throws {
        let files = ProcessInfo.processInfo.environment["BRUME_LARGE_FOLDER_FILES"].flatMap { Int($0) } ?? 3_000
        let inUse = files < 10_000 ? 10 : 100
        nonisolated(unsafe) var started = ContinuousClock.now
        nonisolated(unsafe) var residentBefore = 0
        try await HostileServer.running(adjust: { configuration in
            configuration.memoryBudgetBytes = 1 << 40
            do {
                try MemoryBudgetTests.fill(configuration, files: files)
            } catch {
                Issue.record("\(error)")
            }
            residentBefore = HostileServer.residentBytes()
            started = .now
        }) { server in
            let startTime = started.duration(to: .now)
            let residentAtStart = HostileServer.residentBytes()
            #expect(startTime < .seconds(1))
            var peers: [HostilePeer] = []
            for number in 0..<inUse {
                let token = try await server.addAccount("user\(number)")
                let peer = try await HostilePeer.welcomed(server, token: token)
                try await peer.makeZone("Notes")
                try await peer.mustSave("r", in: HostileRequests.zone("Notes"))
                peers.append(peer)
            }
            let bytes = server.server.databaseBytes
            #expect(bytes < (inUse + 1) * 16 * 1024)
            print(
                "\(files) databases on disk: serving after \(startTime), resident +\((residentAtStart - residentBefore) >> 10)",
                "KiB; with \(inUse) in use they count \(bytes >> 10) KiB, and resident is",
                "+\((HostileServer.residentBytes() - residentBefore) >> 10) KiB with their clients")
            for peer in peers { peer.abort() }
        }
    }

    /// A folder that a server made, with snapshots of databases beside it that nobody asks for.
    private static func fill(_ configuration: ServerConfiguration, files: Int) throws {
        let first = try Server(configuration)
        try first.start()
        first.drain()
        first.wait()
        func id(_ number: Int) -> DatabaseID {
            DatabaseID(
                container: HostileRequests.container, environment: .development, scope: .private,
                owner: "_user\(number)")
        }
        let database = Database(id: id(0), epoch: 1)
        _ = database.ensureUserRecord(named: "_user0", nowMilliseconds: 0)
        let disk = RealDisk(folder: configuration.dataFolder)
        try SnapshotWriter.write(database.capture(), to: disk)
        let folder = configuration.dataFolder + "/snapshots/"
        let name = try #require(try disk.list("snapshots").first { $0.contains("_user0") })
        let template = try Data(contentsOf: URL(fileURLWithPath: folder + name))
        for number in 1..<files {
            try template.write(
                to: URL(fileURLWithPath: folder + name.replacingOccurrences(of: "_user0", with: "_user\(number)")))
        }
    }

    private static func until(_ isTrue: () -> Bool) async throws {
        while !isTrue() {
            try Task.checkCancellation()
            try await Task.sleep(for: .milliseconds(5))
        }
    }
}
