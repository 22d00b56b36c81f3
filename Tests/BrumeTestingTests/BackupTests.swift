import BrumeTesting
import CloudKit
import Testing

@Suite("Backups of a test server", .timeLimit(.minutes(1)))
struct BackupTests {
    @Test("bring back what there was, and nothing that came later, to devices that sync from the start")
    func restoring() async throws {
        try await TestServer.run { server in
            let database = try server.device(of: "ada").privateCloudDatabase
            try await database.save(notes)
            let former = try await database.save(note("n"))
            let token = try await database.recordZoneChanges(inZoneWith: notes.zoneID, since: nil).changeToken
            let backup = try await server.backUp()
            try await database.save(note("later"))
            former["text"] = "newer"
            try await database.save(former)
            let newest = try await database.recordZoneChanges(inZoneWith: notes.zoneID, since: nil).changeToken
            _ = try server.device(of: "ben")

            for _ in 0..<2 {
                try await server.restore(backup)
                #expect(try await database.record(for: note("n").recordID)["text"] == "text")
                #expect(await failure { try await database.record(for: note("later").recordID) }?.code == .unknownItem)
                let known = try await database.recordZoneChanges(inZoneWith: notes.zoneID, since: token)
                #expect(known.modificationResultsByID.isEmpty)
                #expect(
                    await failure { try await database.recordZoneChanges(inZoneWith: notes.zoneID, since: newest) }?
                        .code == .changeTokenExpired)
                former["text"] = "of a version that is gone"
                #expect(await failure { try await database.save(former) }?.code == .serverRecordChanged)
                try await database.save(note("later"))
            }
            // An account that the backup does not have is another one.
            let ben = try server.device(of: "ben")
            #expect(try await ben.container.userRecordID() == server.account("ben").userRecordID)
        }
    }

    @Test("bring back the accounts of their time, those too that an earlier backup lacked")
    func accounts() async throws {
        try await TestServer.run(accounts: ["ada"]) { server in
            let first = try await server.backUp()
            let ben = try server.device(of: "ben")
            try await server.seed([note("n")], of: "ben")
            let second = try await server.backUp()
            try await server.restore(first)
            #expect(await failure { try await ben.privateCloudDatabase.allRecordZones() }?.code == .notAuthenticated)
            try await server.seed([note("m")], of: "ben")
            try await server.restore(second)
            let database = try server.device(of: "ben").privateCloudDatabase
            #expect(try await database.record(for: note("n").recordID)["text"] == "text")
            #expect(await failure { try await database.record(for: note("m").recordID) }?.code == .unknownItem)
            try await server.seed([note("m")], of: "ben")
            #expect(try await ben.privateCloudDatabase.record(for: note("m").recordID)["text"] == "text")
            try await ben.privateCloudDatabase.save(note("k"))
            #expect(server.isRunning)
        }
    }

    @Test("of another server are refused, and the server goes on")
    func others() async throws {
        try await TestServer.run { server in
            try await TestServer.run { other in
                let backup = try await other.backUp()
                await #expect(throws: TestServerError.self) { try await server.restore(backup) }
            }
            try await server.device(of: "ada").privateCloudDatabase.save(notes)
        }
    }
}
