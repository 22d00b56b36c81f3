import BrumeTesting
import CloudKit
import Foundation
import Testing

@Suite("A server's assets", .timeLimit(.minutes(1)))
struct AssetContentsTests {
    private let files: AssetFiles

    init() throws { files = try AssetFiles() }

    enum Loss: CaseIterable {
        case damaged, removed
    }

    private func lose(
        _ loss: Loss, _ key: String = "photo", at index: Int = 0, of id: CKRecord.ID, on server: TestServer
    ) async throws {
        switch loss {
        case .damaged: try await server.damageAsset(key, at: index, ofRecord: id, of: "ada")
        case .removed: try await server.removeAsset(key, at: index, ofRecord: id, of: "ada")
        }
    }

    @Test("that are lost fail the fetch of their record, and of no other", arguments: Loss.allCases)
    func lost(loss: Loss) async throws {
        try await TestServer.run { server in
            let (first, second) = (try files.note("1", 300_000), try files.note("2", 300_000))
            try await server.seed([first, second], of: "ada")
            try await lose(loss, of: first.recordID, on: server)
            let database = try server.device(of: "ada").privateCloudDatabase
            for _ in 0..<2 {
                let results = try await database.records(for: [first.recordID, second.recordID])
                let lost = await failure { try results[first.recordID]?.get() }
                #expect(lost?.code == .assetNotAvailable)
                #expect(try results[second.recordID]?.get().content() == second.content())
            }
            let changes = try await database.recordZoneChanges(inZoneWith: notes.zoneID, since: nil)
            let unread = await failure { try changes.modificationResultsByID[first.recordID]?.get() }
            #expect(unread?.code == .assetNotAvailable && !changes.moreComing)
            #expect(try changes.modificationResultsByID[second.recordID]?.get().record.content() != nil)
            // Without the field there is nothing to miss.
            let text = try await database.records(for: [first.recordID], desiredKeys: ["text"])
            #expect(try text[first.recordID]?.get()["text"] == "text")
        }
    }

    @Test(
        "that are lost leave a sync engine with a record without its file, and with all others",
        arguments: Loss.allCases)
    func lostForEngine(loss: Loss) async throws {
        try await TestServer.run { server in
            let (first, second) = (try files.note("1", 1_000), try files.note("2", 1_000))
            try await server.seed([first, second], of: "ada")
            try await lose(loss, of: first.recordID, on: server)
            let delegate = TestSyncEngineDelegate()
            let engine = delegate.makeEngine(on: try server.device(of: "ada"), automaticallySync: false)
            try await engine.fetchChanges()
            #expect(delegate.records.count == 2)
            #expect(delegate.records[first.recordID]?["photo"] is CKAsset)
            #expect(delegate.records[first.recordID]?.content() == nil)
            #expect(delegate.records[second.recordID]?.content() == second.content())
        }
    }

    @Test("are lost one by one in a list", arguments: Loss.allCases)
    func list(loss: Loss) async throws {
        try await TestServer.run { server in
            let note = note("n")
            note["pages"] = try (1...3).map { try files.asset($0 * 1_000) }
            try await server.seed([note], of: "ada")
            try await lose(loss, "pages", at: 1, of: note.recordID, on: server)
            let database = try server.device(of: "ada").privateCloudDatabase
            let error = await failure { try await database.record(for: note.recordID) }
            #expect(error?.code == .assetNotAvailable)
            let sizes = server.calls(.downloadAsset).filter { $0.outcome == .answered }.map(\.byteCount)
            #expect(sizes == [1_000])
        }
    }

    @Test("are whole again once they are saved anew, after the server has found out", arguments: Loss.allCases)
    func healed(loss: Loss) async throws {
        try await TestServer.run { server in
            let phone = try server.device(of: "ada").privateCloudDatabase
            try await phone.save(notes)
            let note = try files.note("n", 300_000)
            let content = try #require(note.content())
            try await phone.save(note)
            try await lose(loss, of: note.recordID, on: server)
            let laptop = try server.device(of: "ada").privateCloudDatabase
            let unread = await failure { try await laptop.record(for: note.recordID) }
            #expect(unread?.code == .assetNotAvailable)
            note["photo"] = try files.asset(content)
            try await phone.save(note)
            #expect(try await laptop.record(for: note.recordID).content() == content)
        }
    }

    @Test("that are damaged further on break a download midway, before what is damaged")
    func damagedLater() async throws {
        try await TestServer.run { server in
            let note = try files.note("n", 2_500_000)
            try await server.seed([note], of: "ada")
            try await server.damageAsset("photo", ofRecord: note.recordID, of: "ada", byte: 2_499_999)
            let database = try server.device(of: "ada").privateCloudDatabase
            let unread = await failure { try await database.record(for: note.recordID) }
            #expect(unread?.code == .assetNotAvailable)
            #expect(server.calls(.downloadAsset).map(\.byteCount) == [19 * 128 * 1024])
        }
    }

    @Test("of the public database are lost as well, and stay lost when the server starts again")
    func publicDatabase() async throws {
        try await TestServer.run { server in
            let records = try ["1", "2"].map { name in
                let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name))
                record["photo"] = try files.asset(1_000)
                return record
            }
            try await server.seed(records, of: "ada", in: .public)
            try await server.damageAsset("photo", ofRecord: records[0].recordID)
            try await server.removeAsset("photo", ofRecord: records[1].recordID)
            try await server.restart()
            let database = try server.device(of: "ben").publicCloudDatabase
            for record in records {
                let unread = await failure { try await database.record(for: record.recordID) }
                #expect(unread?.code == .assetNotAvailable)
            }
        }
    }

    @Test("that are not there can't be lost: a sentence says what is missing")
    func notThere() async throws {
        try await TestServer.run { server in
            let note = try files.note("n", 1_000)
            try await server.seed([note], of: "ada")
            let id = note.recordID
            func expectFailure(saying text: String, _ body: () async throws -> Void) async {
                do {
                    try await body()
                    Issue.record("nothing said \(text)")
                } catch {
                    #expect((error as? TestServerError)?.description.contains(text) == true, "\(error)")
                }
            }
            await expectFailure(saying: "has 1000 bytes") {
                try await server.damageAsset("photo", ofRecord: id, of: "ada", byte: 1_000)
            }
            await expectFailure(saying: "names no asset") {
                try await server.removeAsset("text", ofRecord: id, of: "ada")
            }
            await expectFailure(saying: "names no asset at 1") {
                try await server.removeAsset("photo", at: 1, ofRecord: id, of: "ada")
            }
            await expectFailure(saying: "no record n in the zone Notes") {
                try await server.removeAsset("photo", ofRecord: id, of: "ben")
            }
            try await server.removeAsset("photo", ofRecord: id, of: "ada")
            await expectFailure(saying: "can't be changed") {
                try await server.removeAsset("photo", ofRecord: id, of: "ada")
            }
        }
    }
}
