import BrumeTesting
import CloudKit
import Foundation
import Testing

@Suite("A server's contents", .timeLimit(.minutes(1)))
struct TestServerContentsTests {
    @Test("are dumped as sorted text, with all kinds of values and without what differs from run to run")
    func dump() async throws {
        try await TestServer.run { server in
            let database = try server.device(of: "ada").privateCloudDatabase
            #expect(try await server.dump(of: "ada") == "")
            try await database.save(CKRecordZone(zoneName: "Empty"))
            try await database.save(notes)
            let record = note("b", "says \"hi\"\n")
            record["count"] = 3
            record["ratio"] = 0.5
            record["data"] = Data([0, 1, 255])
            record["long"] = Data(repeating: 7, count: 40)
            record["when"] = Date(timeIntervalSinceReferenceDate: 1.25)
            record["where"] = CLLocation(latitude: 48.5, longitude: -2)
            record["list"] = ["x", "y"]
            record["owner"] = CKRecord.Reference(recordID: note("a").recordID, action: .deleteSelf)
            record.parent = CKRecord.Reference(recordID: note("a").recordID, action: .none)
            _ = try await database.modifyRecords(saving: [note("a"), record, note("z", type: "Area")], deleting: [])
            let settings = CKRecord(recordType: "Settings", recordID: CKRecord.ID(recordName: "mine"))
            try await database.save(settings)
            #expect(
                try await server.dump(of: "ada") == """
                    zone Empty
                    zone Notes
                      Area z
                        text: "text"
                      Note a
                        text: "text"
                      Note b
                        parent -> a
                        count: 3
                        data: <0001ff>
                        list: ["x", "y"]
                        long: <0707070707070707070707070707070707070707070707070707070707070707… of 40 bytes>
                        owner: -> a, deleted with it
                        ratio: 0.5
                        text: "says \\"hi\\"\\n"
                        when: 2001-01-01T00:00:01.250Z
                        where: (48.5, -2.0)
                    zone _defaultZone
                      Settings mine
                    """)
            #expect(try await server.dump(of: "ben") == "")
        }
    }

    @Test("are overwritten by what is seeded, fields and parents that are not given included")
    func overwritten() async throws {
        try await TestServer.run { server in
            let child = note("child", "old")
            child["color"] = "red"
            child.setParent(note("parent"))
            try await server.seed([note("parent"), child], of: "ada")
            try await server.seed([note("child", "new")], of: "ada")
            #expect(
                try await server.dump(of: "ada") == """
                    zone Notes
                      Note child
                        text: "new"
                      Note parent
                        text: "text"
                    """)
        }
    }

    @Test("of the public database are dumped with their users' names")
    func publicDump() async throws {
        try await TestServer.run { server in
            let ada = try server.device(of: "ada")
            let user = try await ada.publicCloudDatabase.record(for: ada.container.userRecordID())
            user["nickname"] = "countess"
            try await ada.publicCloudDatabase.save(user)
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n"))
            try await server.device(of: "ben").publicCloudDatabase.save(record)
            #expect(
                try await server.publicDump(showing: .users) == """
                    zone _defaultZone
                      Note n [created by ben, modified by ben]
                      Users ada [created by ada, modified by ada]
                        nickname: "countess"
                    """)
        }
    }

    @Test(
        "are seeded as from another device: pushed, fetched, overwritten and deleted, past the script and the list of calls"
    )
    func seed() async throws {
        try await TestServer.run { server in
            let phone = try server.device(of: "ada", clock: TestClock())
            let delegate = TestSyncEngineDelegate()
            let engine = delegate.makeEngine(on: phone)
            try await delegate.waitUntilIdle(engine)
            try await server.script.waitUntilListening(phone)
            let rule = server.script.fail(.modifyRecords, with: .zoneBusy)
            let quota = server.script.limitRecords(to: 0)
            let child = note("child")
            child.setParent(note("parent"))
            let saved = try await server.seed([child, note("parent", "first")], of: "ada")
            #expect(saved.allSatisfy { $0.recordChangeTag != nil })
            #expect(child.recordChangeTag == nil)
            // By the push: nothing is asked of the engine.
            try await delegate.waitUntil { "\($0)".contains("child") }
            try await server.seed([note("parent", "second")], deleting: [child.recordID], of: "ada")
            try await delegate.waitUntil { "\($0)".contains("deletions: [\"child\"]") }
            #expect(delegate.records.mapValues { $0["text"] as? String } == [note("parent").recordID: "second"])
            #expect(try await server.dump(of: "ada").contains("second"))
            #expect(server.calls(.modifyRecords).isEmpty && server.calls(.modifyZones).isEmpty)
            #expect(await failure { try await phone.privateCloudDatabase.save(note("x")) }?.code == .zoneBusy)
            #expect(rule.firedCount == 1 && quota.firedCount == 0)
            quota.remove()
            // More than one request takes, in the public database too.
            let many = (0..<450).map { CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "\($0)")) }
            try await server.seed(many, of: "ben", in: .public)
            #expect(try await server.publicDump().split(separator: "\n").count == 451)
        }
    }

    @Test("are limited in bytes by an account's quota; changes that take no more and deletions succeed")
    func quota() async throws {
        try await TestServer.run { server in
            let ada = try server.device(of: "ada").privateCloudDatabase
            let ben = try server.device(of: "ben").privateCloudDatabase
            for database in [ada, ben] { try await database.save(notes) }
            let first = try await ada.save(note("1", String(repeating: "a", count: 1_000)))
            let used = try await server.storedBytes(of: "ada")
            #expect(used > 1_000)
            try server.setQuota(used + 500, of: "ada")
            let second = note("2", String(repeating: "b", count: 1_000))
            #expect(await failure { try await ada.save(second) }?.code == .quotaExceeded)
            try await ben.save(second)
            first["text"] = String(repeating: "c", count: 900)
            try await ada.save(first)
            try await ada.deleteRecord(withID: first.recordID)
            try await ada.save(note("2", String(repeating: "b", count: 1_000)))
            #expect(await failure { try await ada.save(note("3", String(repeating: "b", count: 1_000))) } != nil)
            try server.setQuota(nil, of: "ada")
            try await ada.save(note("3", String(repeating: "b", count: 1_000)))
        }
    }
}
