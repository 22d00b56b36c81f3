import BrumeTesting
import CloudKit
import Testing

@Suite("The list of calls", .timeLimit(.minutes(1)))
struct CallLogTests {
    @Test("has each call that reached the server, with its device, what it named, and how it ended")
    func calls() async throws {
        try await TestServer.run { server in
            let phone = try server.device(of: "ada")
            let laptop = try server.device(of: "ada")
            let reader = try server.deviceWithoutAccount()
            let database = phone.privateCloudDatabase
            try await database.save(notes)
            let saved = try await database.save(note("a"))
            _ = try await database.modifyRecords(
                saving: [note("a"), note("b")], deleting: [note("c").recordID], atomically: false)
            _ = await failure { try await laptop.privateCloudDatabase.record(for: note("x").recordID) }
            _ = try await laptop.privateCloudDatabase.recordZoneChanges(inZoneWith: notes.zoneID, since: nil)
            server.script.fail(.fetchZones, with: .zoneBusy)
            _ = await failure { try await laptop.privateCloudDatabase.allRecordZones() }
            _ = await failure { try await reader.publicCloudDatabase.record(for: CKRecord.ID(recordName: "p")) }
            server.script.breakConnection(during: .modifyRecords, .afterEffect)
            saved["text"] = "more"
            try await database.save(saved)
            #expect(
                server.calls().map(\.description) == [
                    "ada-1 modifyZones in Notes, 1 save: answered",
                    "ada-1 modifyRecords in Notes, 1 save: answered",
                    "ada-1 modifyRecords in Notes, 2 saves, 1 deletion: answered, 1 of them failed (serverRecordChanged)",
                    "ada-2 fetchRecords in Notes: answered, 1 of them failed (unknownItem)",
                    "ada-2 fetchZoneChanges in Notes: answered with 2 items",
                    "ada-2 fetchZones: failed with zoneBusy",
                    "nobody-3 fetchRecords in _defaultZone: answered, 1 of them failed (unknownItem)",
                    "ada-1 modifyRecords in Notes, 1 save: no answer",
                    "ada-1 modifyRecords in Notes, 1 save: answered",
                ])
            let saves = server.calls(.modifyRecords.touchingRecord(named: "b").from(phone))
            #expect(saves.count == 1)
            #expect(saves.first?.saveCount == 2 && saves.first?.deletionCount == 1)
            #expect(saves.first?.recordNames == ["a", "b", "c"])
            #expect(saves.first?.outcome == .answered && saves.first?.itemFailures == [.serverRecordChanged])
            #expect(server.calls(.any.from(laptop)).count == 3)
            #expect(server.calls(.any.from("ada")).count == 8)
            #expect(server.calls(.fetchZones).first?.outcome == .failed(.zoneBusy))
            server.forgetCalls()
            #expect(server.calls().isEmpty)
            _ = try await database.allRecordZones()
            #expect(server.calls().count == 1)
        }
    }

    @Test("has calls that are under way, and streams, which are there when they are asked for")
    func pending() async throws {
        try await TestServer.run { server in
            let phone = try server.device(of: "ada")
            let held = server.script.hold(.modifyZones)
            async let saved = phone.privateCloudDatabase.save(notes)
            try await held.waitUntilHeld()
            #expect(server.calls().map(\.outcome) == [.pending])
            held.release()
            _ = try await saved
            #expect(server.calls().map(\.outcome) == [.answered])
            let listener = Task { for try await _ in phone.container.notifications {} }
            try await server.script.waitUntilListening(phone)
            #expect(server.calls(.listen).map(\.outcome) == [.pending])
            #expect(!server.calls().contains { $0.method == .listen })
            listener.cancel()
        }
    }

    @Test("knows a device after its app was started again, and after it signed in with another account")
    func identities() async throws {
        try await TestServer.run { server in
            let phone = try server.device(of: "ada")
            let relaunched = try phone.relaunched()
            _ = try await relaunched.privateCloudDatabase.allRecordZones()
            let ben = try server.account("ben")
            relaunched.container.signIn(token: ben.token)
            _ = try await relaunched.privateCloudDatabase.allRecordZones()
            #expect(server.calls().map(\.device) == ["ada-1", "ada-1"])
            #expect(server.calls().map(\.account) == ["ada", "ben"])
        }
    }

    @Test("is bounded: the oldest calls go")
    func bound() async throws {
        try await TestServer.run { server in
            let database = try server.device(of: "ada").privateCloudDatabase
            try await database.save(notes)
            for _ in 0..<101 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<100 { group.addTask { _ = try await database.recordZone(for: notes.zoneID) } }
                    try await group.waitForAll()
                }
            }
            let calls = server.calls()
            #expect(calls.count <= 10_000 && calls.count >= 9_000)
            #expect(calls.allSatisfy { $0.method == .fetchZones && $0.outcome == .answered })
        }
    }
}
