import BrumeTesting
import CloudKit
import Foundation
import Testing

@Suite("A server's script of the network", .timeLimit(.minutes(1)))
struct ServerScriptNetworkTests {
    @Test("delays calls until the clock is turned, before their effect and after, beside what else happens to them")
    func delay() async throws {
        try await TestServer.run { server in
            let phone = try server.device(of: "ada").privateCloudDatabase
            let laptop = try server.device(of: "ada").privateCloudDatabase
            try await phone.save(notes)
            let rule = server.script.delay(.modifyRecords, by: .seconds(3))
            async let first = phone.save(note("1"))
            await server.clock.waitUntilScheduled()
            #expect(await failure { try await laptop.record(for: note("1").recordID) }?.code == .unknownItem)
            server.clock.advance(by: .milliseconds(2_999))
            #expect(server.clock.scheduleCount == 1)
            server.clock.advance(by: .milliseconds(1))
            #expect(try await first.recordChangeTag != nil)
            rule.remove()

            server.script.delay(.modifyRecords, by: .seconds(1), .afterEffect, times: 1)
            server.script.fail(.modifyRecords, with: .zoneBusy, .afterEffect)
            async let second = failure { try await phone.save(note("2")) }
            await server.clock.waitUntilScheduled()
            #expect(try await laptop.record(for: note("2").recordID)["text"] == "text")
            server.clock.advance(by: .seconds(1))
            #expect(await second?.code == .zoneBusy)
            #expect(rule.firedCount == 1)
        }
    }

    @Test("lets go of delayed calls when its rules are removed, and when the server stops, without a wait")
    func delayEnds() async throws {
        let server = try await TestServer.start()
        let database = try server.device(of: "ada").privateCloudDatabase
        server.script.delay(.modifyZones, by: .seconds(3_600))
        async let saved = database.save(notes)
        await server.clock.waitUntilScheduled()
        server.script.removeAll()
        _ = try await saved
        server.script.delay(.modifyZones, by: .seconds(3_600))
        async let lost = failure { try await database.save(CKRecordZone(zoneName: "More")) }
        await server.clock.waitUntilScheduled()
        let clock = ContinuousClock()
        let started = clock.now
        await server.stop()
        #expect(await lost != nil)
        #expect(clock.now - started < .seconds(20))
    }

    @Test(
        "takes a device's network away in the midst of a save: the request is lost, or the answer",
        arguments: [
            CallMoment.beforeEffect, .afterEffect,
        ])
    func loseNetwork(moment: CallMoment) async throws {
        try await TestServer.run { server in
            let phone = try server.device(of: "ada")
            let laptop = try server.device(of: "ada").privateCloudDatabase
            try await phone.privateCloudDatabase.save(notes)
            let rule = server.script.loseNetwork(during: .modifyRecords.from(phone), moment)
            let record = note("n")
            let lost = await saveFailure(record, on: phone)
            #expect(lost == .serverResponseLost)
            #expect(!phone.isOnline && rule.firedCount == 1)
            let found = await failure { try await laptop.record(for: record.recordID) }
            #expect(found?.code == (moment == .beforeEffect ? .unknownItem : nil))
            let offline = await failure { try await phone.privateCloudDatabase.allRecordZones() }
            #expect(offline?.code == .networkUnavailable)
            phone.goOnline()
            let again = await saveFailure(record, on: phone)
            #expect(again == (moment == .beforeEffect ? nil : .serverRecordChanged))
        }
    }

    private func saveFailure(_ record: CKRecord, on device: TestDevice) async -> CKError.Code? {
        await failure { try await device.privateCloudDatabase.save(record) }?.code
    }

    @Test(
        "sends a patient call again when the network is back, with one effect",
        arguments: [
            CallMoment.beforeEffect, .afterEffect,
        ])
    func loseNetworkPatiently(moment: CallMoment) async throws {
        try await TestServer.run { server in
            let phone = try server.device(of: "ada")
            try await phone.privateCloudDatabase.save(notes)
            let rule = server.script.loseNetwork(during: .modifyRecords, moment)
            let configuration = CKOperation.Configuration()
            configuration.qualityOfService = .utility
            let record = note("n")
            async let saved: Void = phone.privateCloudDatabase.configuredWith(configuration: configuration) {
                database in
                _ = try await database.save(record)
            }
            try await rule.waitUntilFired()
            phone.goOnline()
            try await saved
            #expect(record.recordChangeTag != nil)
            #expect(server.calls(.modifyRecords).map(\.outcome) == [.unanswered, .answered])
        }
    }

    @Test("makes the server unreachable for all devices: urgent calls fail at once, patient ones wait")
    func unreachable() async throws {
        try await TestServer.run { server in
            let phone = try server.device(of: "ada")
            try await phone.privateCloudDatabase.save(notes)
            server.goUnreachable()
            let later = try server.device(of: "ada")
            #expect(phone.isOnline && !server.isReachable)
            for device in [phone, later] {
                let error = await failure { try await device.privateCloudDatabase.save(note("n")) }
                #expect(error?.code == .networkUnavailable)
                #expect(error?.localizedDescription.contains("unreachable") == true)
            }
            let configuration = CKOperation.Configuration()
            configuration.qualityOfService = .background
            async let zones = later.privateCloudDatabase.configuredWith(configuration: configuration) { database in
                try await database.allRecordZones().count
            }
            // Nor does a device that was offline besides come through.
            phone.goOffline()
            server.goReachable()
            #expect(try await zones == 2)
            #expect(await failure { try await phone.privateCloudDatabase.allRecordZones() } != nil)
            phone.goOnline()
            try await phone.privateCloudDatabase.save(note("n"))
        }
    }

    @Test("limits pages of changes and of queries, and nothing else")
    func pages() async throws {
        try await TestServer.run { server in
            let database = try server.device(of: "ada").privateCloudDatabase
            try await server.seed((1...5).map { note("\($0)") }, of: "ada")
            let rule = server.script.limitPages(to: 2)
            let first = try await database.recordZoneChanges(inZoneWith: notes.zoneID, since: nil)
            #expect(first.modificationResultsByID.count == 2 && first.moreComing)
            let one = try await database.recordZoneChanges(
                inZoneWith: notes.zoneID, since: first.changeToken, resultsLimit: 1)
            #expect(one.modificationResultsByID.count == 1 && one.moreComing)
            let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
            let (matches, cursor) = try await database.records(
                matching: query, inZoneWith: notes.zoneID, desiredKeys: nil)
            #expect(matches.count == 2)
            let rest = try await database.records(continuingMatchFrom: try #require(cursor))
            #expect(rest.matchResults.count == 2 && rest.queryCursor != nil)
            try await database.save(CKRecordZone(zoneName: "A"))
            try await database.save(CKRecordZone(zoneName: "B"))
            let zones = try await database.databaseChanges(since: nil)
            #expect(zones.modifications.count == 2 && zones.moreComing)
            #expect(try await database.records(for: (1...5).map { note("\($0)").recordID }).count == 5)
            // A page that was asked for to be smaller is not limited.
            #expect(rule.firedCount == 4)
            rule.remove()
            let all = try await database.recordZoneChanges(inZoneWith: notes.zoneID, since: nil)
            #expect(all.modificationResultsByID.count == 5)
        }
    }

    @Test("gives children before their parents, within a page and over pages, each record once")
    func childrenFirst() async throws {
        try await TestServer.run { server in
            let list = note("list", type: "List")
            let items = (1...3).map { number in
                let item = note("item-\(number)")
                item["list"] = CKRecord.Reference(recordID: list.recordID, action: .deleteSelf)
                return item
            }
            let detail = note("detail")
            detail.setParent(items[0])
            try await server.seed([list] + items + [detail], of: "ada")
            let rule = server.script.giveChildrenFirst(in: notes.zoneID)
            func fetch() async throws -> [String] {
                let delegate = TestSyncEngineDelegate()
                let engine = delegate.makeEngine(on: try server.device(of: "ada"), automaticallySync: false)
                try await engine.fetchChanges()
                #expect(delegate.records.count == 5)
                return delegate.fetchedRecords.map(\.recordID.recordName)
            }
            #expect(try await fetch() == ["detail", "item-1", "item-2", "item-3", "list"])
            #expect(rule.firedCount == 1)
            server.script.limitPages(to: 2)
            #expect(try await fetch().last == "list")
            // What is withheld comes also when the rule is gone meanwhile, and in its latest version.
            let database = try server.device(of: "ada").privateCloudDatabase
            let first = try await database.recordZoneChanges(inZoneWith: notes.zoneID, since: nil)
            #expect(first.modificationResultsByID.keys.map(\.recordName) == ["item-1"])
            server.script.removeAll()
            let rest = try await database.recordZoneChanges(inZoneWith: notes.zoneID, since: first.changeToken)
            #expect(
                Set(rest.modificationResultsByID.keys.map(\.recordName)) == ["detail", "item-2", "item-3", "list"])
        }
    }

    @Test("gives what came last for its children's sake in pages of the size that the script wants")
    func childrenFirstInPages() async throws {
        try await TestServer.run { server in
            let lists = (1...5).map { note("list-\($0)", type: "List") }
            let item = note("item")
            item["list"] = CKRecord.Reference(recordID: lists[0].recordID, action: .deleteSelf)
            try await server.seed(lists + [item], of: "ada")
            server.script.giveChildrenFirst(in: notes.zoneID)
            server.script.limitPages(to: 2)
            let database = try server.device(of: "ada").privateCloudDatabase
            var (names, token, isMore) = ([[String]](), CKServerChangeToken?.none, true)
            while isMore, names.count < 20 {
                let page = try await database.recordZoneChanges(inZoneWith: notes.zoneID, since: token)
                names.append(page.modificationResultsByID.keys.map(\.recordName))
                (token, isMore) = (page.changeToken, page.moreComing)
            }
            #expect(names.allSatisfy { $0.count <= 2 })
            #expect(names.joined().sorted() == ["item", "list-1", "list-2", "list-3", "list-4", "list-5"])
            #expect(names.first { !$0.isEmpty }?.contains("item") == true)
        }
    }

    @Test("keeps what was just saved from queries, until the clock is turned")
    func indexLag() async throws {
        try await TestServer.run(options: .predictable) { server in
            let database = try server.device(of: "ada").privateCloudDatabase
            try await server.seed([note("old")], of: "ada")
            server.clock.advance(by: .seconds(60))
            let rule = server.script.delayIndexes(by: .seconds(10))
            func found() async throws -> [String] {
                let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
                return try await database.records(matching: query).matchResults.map(\.0.recordName).sorted()
            }
            #expect(try await found() == ["old"])
            #expect(rule.firedCount == 0)
            try await database.save(note("new"))
            #expect(try await found() == ["old"])
            #expect(try await database.record(for: note("new").recordID)["text"] == "text")
            let changes = try await database.recordZoneChanges(inZoneWith: notes.zoneID, since: nil)
            #expect(changes.modificationResultsByID.count == 2)
            server.clock.advance(by: .milliseconds(9_999))
            #expect(try await found() == ["old"])
            server.clock.advance(by: .milliseconds(1))
            #expect(try await found() == ["new", "old"])
            #expect(rule.firedCount == 2)
        }
    }

    @Test("expires the change tokens of one device, and of no other")
    func tokensOfDevice() async throws {
        try await TestServer.run { server in
            let phone = try server.device(of: "ada")
            let laptop = try server.device(of: "ada")
            try await server.seed([note("n")], of: "ada")
            let token = try await phone.privateCloudDatabase.databaseChanges(since: nil).changeToken
            let rule = server.script.expireChangeTokens(on: phone)
            #expect(
                await failure { try await phone.privateCloudDatabase.databaseChanges(since: token) }?.code
                    == .changeTokenExpired)
            _ = try await laptop.privateCloudDatabase.databaseChanges(since: token)
            let new = try await phone.privateCloudDatabase.databaseChanges(since: nil).changeToken
            _ = try await phone.privateCloudDatabase.databaseChanges(since: new)
            #expect(rule.firedCount == 1)
        }
    }
}
