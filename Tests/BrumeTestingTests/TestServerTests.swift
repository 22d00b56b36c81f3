import BrumeTesting
import CloudKit
import Testing

@Suite("A test server", .timeLimit(.minutes(2)))
struct TestServerTests {
    @Test("gives accounts that see nothing of each other, and devices that share their account's data")
    func accountsAndDevices() async throws {
        try await TestServer.run(accounts: ["ada", "ben"]) { server in
            let phone = try server.device(of: "ada")
            let laptop = try server.device(of: "ada")
            let stranger = try server.device(of: "ben")
            #expect(phone.stateFolder != laptop.stateFolder)
            #expect(try await phone.container.userRecordID() == server.account("ada").userRecordID)
            #expect(try await stranger.container.userRecordID() == server.account("ben").userRecordID)
            try await phone.privateCloudDatabase.save(notes)
            try await phone.privateCloudDatabase.save(note("n"))
            #expect(try await laptop.privateCloudDatabase.record(for: note("n").recordID)["text"] == "text")
            #expect(
                await failure { try await stranger.privateCloudDatabase.record(for: note("n").recordID) }?.code
                    == .zoneNotFound)
        }
    }

    @Test("lets a device without an account read the public database")
    func withoutAccount() async throws {
        try await TestServer.run { server in
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "p"))
            try await server.device(of: "ada").publicCloudDatabase.save(record)
            let nobody = try server.deviceWithoutAccount()
            #expect(try await nobody.publicCloudDatabase.record(for: record.recordID).recordID == record.recordID)
            #expect(try await nobody.container.accountStatus() == .noAccount)
        }
    }

    @Test("keeps its data over a restart, and its devices come back")
    func restart() async throws {
        try await TestServer.run { server in
            let device = try server.device(of: "ada").privateCloudDatabase
            try await device.save(notes)
            try await device.save(note("n"))
            let token = try await device.recordZoneChanges(inZoneWith: notes.zoneID, since: nil).changeToken
            try await server.restart()
            try await device.save(note("m"))
            let changes = try await device.recordZoneChanges(inZoneWith: notes.zoneID, since: token)
            #expect(changes.modificationResultsByID.keys.map(\.recordName) == ["m"])
        }
    }

    @Test("takes the schema that is checked in, with production's rules")
    func schema() async throws {
        var options = TestServer.Options()
        options.environment = .production
        options.schema = "DEFINE SCHEMA RECORD TYPE Note (text STRING QUERYABLE);"
        try await TestServer.run(options: options) { server in
            let database = try server.device(of: "ada").privateCloudDatabase
            try await database.save(notes)
            try await database.save(note("n"))
            #expect(await failure { try await database.save(note("x", type: "Other")) } != nil)
        }
        options.schema = "DEFINE SCHEMA RECORD"
        let error = await #expect(throws: TestServerError.self) { try await TestServer.start(options: options) }
        #expect(error?.description.contains("line 1, column") == true)
    }

    @Test("fails the calls of its devices at once when it was stopped, also twice")
    func stopped() async throws {
        let server = try await TestServer.start()
        let device = try server.device(of: "ada")
        try await device.privateCloudDatabase.save(notes)
        async let first: Void = server.stop()
        async let second: Void = server.stop()
        _ = await (first, second)
        await server.stop()
        #expect(!server.isRunning)
        let error = await failure { try await device.privateCloudDatabase.save(note("n")) }
        #expect(error?.code == .internalError)
        #expect(error?.localizedDescription.contains("was stopped") == true)
        #expect(throws: TestServerError.self) { try server.device(of: "ada") }
        #expect(throws: TestServerError.self) { try server.account("ben") }
        await #expect(throws: TestServerError.self) { try await server.restart() }
        #expect(!FileManager.default.fileExists(atPath: server.caPath))
    }

    @Test("goes, with its folder, when nobody refers to it or its devices any more")
    func forgotten() async throws {
        var server: TestServer? = try await TestServer.start()
        let path = server!.caPath
        var device: TestDevice? = try server!.device(of: "ada")
        server = nil
        // The device keeps it.
        try await device!.privateCloudDatabase.save(notes)
        device = nil
        // The folder's end can't be waited for otherwise; the suite's time limit ends a wait in vain.
        while FileManager.default.fileExists(atPath: path) { await Task.yield() }
    }

    @Test("says what is wrong with an account's name")
    func badName() async throws {
        try await TestServer.run { server in
            let error = #expect(throws: TestServerError.self) { try server.account("") }
            #expect(error?.description.contains("no account") == true)
        }
    }

    @Test("stops after a body that throws, and passes its error on")
    func throwingBody() async throws {
        struct Failure: Error {}
        var path = ""
        await #expect(throws: Failure.self) {
            try await TestServer.run { server in
                path = server.caPath
                throw Failure()
            }
        }
        #expect(!path.isEmpty && !FileManager.default.fileExists(atPath: path))
    }

    @Test("runs a hundred times in one process, and leaves no folder behind")
    func hundred() async throws {
        let servers = try await withThrowingTaskGroup(of: TestServer.self) { group in
            for _ in 0..<100 { group.addTask { try await TestServer.start(accounts: ["ada"]) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for server in servers {
                group.addTask { try await server.device(of: "ada").privateCloudDatabase.save(notes) }
            }
            try await group.waitForAll()
        }
        #expect(Set(servers.map(\.address)).count == 100)
        await withTaskGroup(of: Void.self) { group in
            for server in servers { group.addTask { await server.stop() } }
        }
        for server in servers { #expect(!FileManager.default.fileExists(atPath: server.caPath)) }
    }
}
