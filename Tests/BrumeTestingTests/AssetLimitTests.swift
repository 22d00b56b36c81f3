import BrumeTesting
import CloudKit
import Foundation
import Testing

@Suite("A server's limits of assets", .timeLimit(.minutes(1)))
struct AssetLimitTests {
    private let files: AssetFiles

    init() throws { files = try AssetFiles() }

    @Test("refuse an asset that is too large before anything of it is sent")
    func assetLimit() async throws {
        var options = TestServer.Options()
        options.assetLimitBytes = 1_000
        try await TestServer.run(options: options) { server in
            let database = try server.device(of: "ada").privateCloudDatabase
            try await database.save(notes)
            try await database.save(try files.note("fits", 1_000))
            server.forgetCalls()
            let error = await failure { try await database.save(try files.note("large", 1_001)) }
            #expect(error?.code == .limitExceeded)
            let calls = server.calls().map(\.description)
            #expect(calls == ["ada-1 uploadAsset in Notes, 0 bytes: failed with limitExceeded"])
        }
    }

    @Test("of nothing make a server that keeps no assets")
    func noAssets() async throws {
        var options = TestServer.Options()
        options.assetLimitBytes = 0
        try await TestServer.run(options: options) { server in
            let database = try server.device(of: "ada").privateCloudDatabase
            try await database.save(notes)
            let unsaved = await failure { try await database.save(try files.note("n", 1)) }
            #expect(unsaved?.code == .serverRejectedRequest)
            try await database.save(note("n"))
        }
    }

    @Test("count assets into an account's quota, each content once, and give their room back")
    func quota() async throws {
        try await TestServer.run { server in
            let database = try server.device(of: "ada").privateCloudDatabase
            try await database.save(notes)
            let first = try files.note("1", 100_000)
            try await database.save(first)
            let used = try await server.storedBytes(of: "ada")
            #expect(used > 100_000)
            try server.setQuota(used + 50_000, of: "ada")
            server.forgetCalls()
            let second = try files.note("2", 60_000)
            let unsaved = await failure { try await database.save(second) }
            #expect(unsaved?.code == .quotaExceeded)
            #expect(server.calls(.uploadAsset).map(\.byteCount) == [0])
            try await database.deleteRecord(withID: first.recordID)
            try await database.save(second)
            #expect(try await server.storedBytes(of: "ada") < 70_000)
        }
    }

    @Test("hold for the public database, too")
    func publicQuota() async throws {
        var options = TestServer.Options()
        options.publicQuotaBytes = 1_000_000
        try await TestServer.run(options: options) { server in
            let database = try server.device(of: "ada").publicCloudDatabase
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n"))
            record["photo"] = try files.asset(1_000_001)
            let unsaved = await failure { try await database.save(record) }
            #expect(unsaved?.code == .quotaExceeded)
            record["photo"] = try files.asset(1_000)
            try await database.save(record)
        }
    }

    @Test("let an upload be named for a day of the server's clock, and it is uploaded anew after that")
    func receipts() async throws {
        try await TestServer.run(options: .predictable) { server in
            let phone = try server.device(of: "ada").privateCloudDatabase
            try await phone.save(notes)
            let note = try files.note("n", 1_000)
            let content = note.content()
            let held = server.script.hold(.modifyRecords)
            async let saved = phone.save(note)
            try await held.waitUntilHeld()
            server.clock.advance(by: .seconds(25 * 3_600))
            held.release()
            _ = try await saved
            #expect(server.calls(.uploadAsset).count == 2)
            #expect(server.calls(.modifyRecords).map(\.itemFailures) == [[.assetNotAvailable], []])
            let read = try await server.device(of: "ada").privateCloudDatabase.record(for: note.recordID)
            #expect(read.content() == content)
        }
    }
}
