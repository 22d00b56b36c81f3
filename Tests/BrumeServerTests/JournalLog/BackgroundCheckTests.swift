import BrumeModel
import BrumeProtocol
import BrumeStore
import BrumeSystem
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

@Suite("A check of the snapshots behind the start")
struct BackgroundCheckTests {
    /// Two databases with a snapshot each; of the second the journal holds a commit more.
    private static func prepare(_ disk: SimulatedDisk, _ ids: [DatabaseID]) throws {
        let log = try ManualJournal(
            opening: disk, options: JournalWriter.Options(salt: 1, segmentBytes: 8192), newEpoch: 3)
        func makeZone(_ name: String, in database: Database) throws {
            let request = ModifyZonesRequest(database: .private, saves: [ZoneID(name: name)])
            let decision = database.modifyZones(
                request, caller: Caller(user: database.id.owner, isOwner: true), nowMilliseconds: 1)
            _ = try log.append(try #require(decision.commit).entry)
            try log.flush()
        }
        for id in ids {
            let database = try log.open(id)
            try makeZone("one", in: database)
            try log.writeSnapshot(database.capture())
            if id == ids.last {
                try log.trim()
                try makeZone("two", in: database)
            }
        }
    }

    @Test("logs what is damaged; a database that is in memory gets a new snapshot, the other stays as it is")
    func damage() throws {
        let ids = ["_a", "_b"].map {
            DatabaseID(container: "iCloud.test", environment: .development, scope: .private, owner: $0)
        }
        let disk = SimulatedDisk()
        try Self.prepare(disk, ids)
        disk.replace(AccountFile.path, with: AccountFile.encode([]))
        let lines = Lines()
        let server = try SteppedServer(disk: disk, run: 4, nowNanoseconds: 0, turnNanoseconds: 10_000_000) {
            $0.startCheck = .none
            $0.log = lines.log(minimum: .info)
        }
        let paths = disk.paths.filter { $0.hasSuffix(".snapshot") }
        #expect(paths.count == 2)
        for path in paths { disk.replace(path, with: disk.contents(of: path)!.dropLast()) }

        func isDone() -> Bool { lines.text.contains("snapshots checked") }
        while !isDone() || server.nowNanoseconds < 1_000_000_000 {
            server.turn()
            while server.stepwise.hasJournalWork { server.stepJournal() }
            try #require(server.nowNanoseconds < 60_000_000_000, "the check ends")
        }
        let found = lines.all.filter { $0.contains("can't be relied on") }
        #expect(found.count == 2 && zip(found, paths).allSatisfy { $0.contains($1) && $0.contains("at byte") })
        let verification = try Verification(of: disk)
        #expect(verification.problems.map(\.file) == [paths[0]], "the one in memory was written anew")
        #expect(server.stepwise.failure == nil)
    }
}
