import BrumeTesting
import CloudKit
import Testing

@Suite("A server's script of calls", .timeLimit(.minutes(1)))
struct ServerScriptCallTests {
    @Test("makes a call and a save fail with every code, as any server's error, with its text and time to come back")
    func everyCode() async throws {
        try await TestServer.run { server in
            let database = try server.device(of: "ada").privateCloudDatabase
            try await database.save(notes)
            for code in (1...37).compactMap(CKError.Code.init) {
                server.script.fail(.fetchRecords, with: code, retryAfterSeconds: 1.5, message: "call \(code)")
                let call = await failure { try await database.record(for: note("n").recordID) }
                #expect(call?.code == code)
                #expect(call?.retryAfterSeconds == 1.5)
                #expect(call?.localizedDescription == "call \(code)")
                server.script.failSaves(of: "Note", with: code, retryAfterSeconds: 0.25, message: "save \(code)")
                let save = await failure { try await database.save(note("n")) }
                #expect(save?.code == code)
                #expect(save?.retryAfterSeconds == 0.25)
                #expect(save?.localizedDescription == "save \(code)")
            }
            server.script.fail(.fetchRecords, with: .zoneBusy)
            let plain = await failure { try await database.record(for: note("n").recordID) }
            #expect(plain?.retryAfterSeconds == nil)
            #expect(plain?.localizedDescription.contains("script") == true)
        }
    }

    @Test("lets the next saves of a type fail, by the rules for batches, and those after them succeed")
    func saves() async throws {
        try await TestServer.run { server in
            let database = try server.device(of: "ada").privateCloudDatabase
            try await database.save(notes)
            let rule = server.script.failSaves(of: "Note", with: .serviceUnavailable, times: 2)
            let other = note("other", type: "Other")
            let atomic = try await database.modifyRecords(saving: [note("a"), other], deleting: [])
            #expect(code(atomic.saveResults[note("a").recordID]) == .serviceUnavailable)
            #expect(code(atomic.saveResults[other.recordID]) == .batchRequestFailed)
            let loose = try await database.modifyRecords(
                saving: [note("a"), other], deleting: [], atomically: false)
            #expect(code(loose.saveResults[note("a").recordID]) == .serviceUnavailable)
            #expect(try loose.saveResults[other.recordID]?.get().recordChangeTag != nil)
            #expect(rule.firedCount == 2 && rule.isDone)
            try await database.save(note("a"))
        }
    }

    @Test("makes the acceptance of a share fail, or break its connection after it, which changes nothing")
    func acceptance() async throws {
        try await TestServer.run { server in
            let (owner, bob) = (try server.device(of: "ada"), try server.device(of: "bob"))
            try await owner.privateCloudDatabase.save(notes)
            let share = CKShare(recordZoneID: notes.zoneID)
            share.publicPermission = .readWrite
            try await owner.privateCloudDatabase.save(share)
            let metadata = try await bob.container.shareMetadata(for: #require(share.url))
            server.script.fail(.acceptShare.from("bob"), with: .zoneBusy)
            #expect(await failure { try await bob.container.accept(metadata) }?.code == .zoneBusy)
            server.script.breakConnection(during: .acceptShare, .afterEffect)
            let accepted = try await bob.container.accept(metadata)
            #expect(accepted.currentUserParticipant?.acceptanceStatus == .accepted)
            #expect(server.calls(.acceptShare).count == 3)
        }
    }

    @Test("makes a conflict that has the server's record")
    func conflict() async throws {
        try await TestServer.run { server in
            let database = try server.device(of: "ada").privateCloudDatabase
            try await database.save(notes)
            let record = try await database.save(note("n", "base"))
            record["text"] = "mine"
            server.script.failSaves(named: "n", with: .serverRecordChanged)
            let error = await failure { try await database.save(record) }
            #expect(error?.code == .serverRecordChanged)
            #expect(error?.serverRecord?["text"] == "base")
            #expect(error?.clientRecord?["text"] == "mine")
            try await database.save(record)
            server.script.failSaves(named: "new", with: .serverRecordChanged)
            let bare = await failure { try await database.save(note("new")) }
            #expect(bare?.code == .serverRecordChanged && bare?.serverRecord == nil)
        }
    }

    @Test(
        "breaks the connection in the midst of a save, which has one effect and succeeds",
        arguments: [
            CallMoment.beforeEffect, .afterEffect,
        ])
    func brokenConnection(moment: CallMoment) async throws {
        try await TestServer.run { server in
            let database = try server.device(of: "ada").privateCloudDatabase
            try await database.save(notes)
            let rule = server.script.breakConnection(during: .modifyRecords, moment)
            let record = note("n")
            try await database.save(record)
            #expect(rule.firedCount == 1)
            #expect(try await database.record(for: record.recordID).recordChangeTag == record.recordChangeTag)
            // A second effect would have found the record, which would be a conflict, or have given it another tag.
            record["text"] = "more"
            try await database.save(record)
        }
    }

    @Test("loses an answer: the app is told that nobody knows the outcome, and the record is there")
    func lostAnswer() async throws {
        try await TestServer.run { server in
            let database = try server.device(of: "ada").privateCloudDatabase
            try await database.save(notes)
            server.script.fail(.modifyRecords, with: .serverResponseLost, .afterEffect)
            #expect(await failure { try await database.save(note("n")) }?.code == .serverResponseLost)
            #expect(try await database.record(for: note("n").recordID)["text"] == "text")
        }
    }

    @Test("holds a call, before its effect and after, until the test lets it go")
    func hold() async throws {
        try await TestServer.run { server in
            let phone = try server.device(of: "ada")
            let laptop = try server.device(of: "ada")
            try await phone.privateCloudDatabase.save(notes)
            let before = server.script.hold(.modifyRecords.from(phone))
            async let late = failure { try await phone.privateCloudDatabase.save(note("n", "late")) }
            try await before.waitUntilHeld()
            #expect(before.heldCount == 1)
            try await laptop.privateCloudDatabase.save(note("n", "early"))
            before.release()
            #expect(await late?.serverRecord?["text"] == "early")

            let after = server.script.hold(.modifyRecords.touchingRecord(named: "m"), .afterEffect)
            async let saved = phone.privateCloudDatabase.save(note("m"))
            try await after.waitUntilHeld()
            #expect(try await laptop.privateCloudDatabase.record(for: note("m").recordID)["text"] == "text")
            after.release()
            #expect(try await saved["text"] == "text")
        }
    }

    @Test("lets held calls fail, or break their connection, as the test wants")
    func holdEnds() async throws {
        try await TestServer.run { server in
            let database = try server.device(of: "ada").privateCloudDatabase
            let failing = server.script.hold(.modifyZones)
            async let failed = failure { try await database.save(notes) }
            try await failing.waitUntilHeld()
            failing.release(failingWith: .zoneBusy, retryAfterSeconds: 3)
            #expect(await failed?.retryAfterSeconds == 3)
            let breaking = server.script.hold(.modifyZones)
            async let saved = database.save(notes)
            try await breaking.waitUntilHeld()
            breaking.releaseBreakingConnections()
            // It was sent again.
            #expect(try await saved.zoneID == notes.zoneID)
        }
    }

    @Test("says what did not come when a call is waited for in vain")
    func holdInVain() async throws {
        try await TestServer.run { server in
            let held = server.script.hold(.fetchRecords)
            let error = await #expect(throws: TestServerError.self) {
                try await held.waitUntilHeld(timeout: .milliseconds(20))
            }
            #expect("\(error as Any)".contains("has happened 0 times and not 1"), "\(error as Any)")
            held.release()
            server.script.removeAll()
        }
    }

    @Test("expires the change tokens that devices have, and not those that they get afterwards")
    func tokens() async throws {
        try await TestServer.run { server in
            let phone = try server.device(of: "ada").privateCloudDatabase
            let laptop = try server.device(of: "ada").privateCloudDatabase
            try await phone.save(notes)
            try await phone.save(note("n"))
            let zone = notes.zoneID
            let old = try await phone.recordZoneChanges(inZoneWith: zone, since: nil).changeToken
            let oldOfDatabase = try await phone.databaseChanges(since: nil).changeToken
            let rule = server.script.expireChangeTokens()
            for _ in 0..<2 {
                #expect(
                    await failure { try await phone.recordZoneChanges(inZoneWith: zone, since: old) }?.code
                        == .changeTokenExpired)
            }
            #expect(
                await failure { try await laptop.recordZoneChanges(inZoneWith: zone, since: old) }?.code
                    == .changeTokenExpired)
            #expect(
                await failure { try await phone.databaseChanges(since: oldOfDatabase) }?.code == .changeTokenExpired)
            #expect(rule.firedCount == 4)
            let new = try await phone.recordZoneChanges(inZoneWith: zone, since: nil).changeToken
            try await phone.save(note("m"))
            let changes = try await phone.recordZoneChanges(inZoneWith: zone, since: new)
            #expect(changes.modificationResultsByID.keys.map(\.recordName) == ["m"])
        }
    }

    @Test("limits a private database to so many records; changes and deletions succeed when it is full")
    func quota() async throws {
        try await TestServer.run { server in
            let database = try server.device(of: "ada").privateCloudDatabase
            let stranger = try server.device(of: "ben").privateCloudDatabase
            try await database.save(notes)
            try await stranger.save(notes)
            let rule = server.script.limitRecords(to: 2, of: "ada")
            let first = try await database.save(note("1"))
            let results = try await database.modifyRecords(
                saving: [note("2"), note("3")], deleting: [], atomically: false)
            #expect(results.saveResults.values.count { code($0) == .quotaExceeded } == 1)
            first["text"] = "changed"
            try await database.save(first)
            #expect(await failure { try await database.save(note("4")) }?.code == .quotaExceeded)
            for number in 1...4 { try await stranger.save(note("\(number)")) }
            try await database.deleteRecord(withID: first.recordID)
            try await database.save(note("4"))
            #expect(rule.firedCount == 2)
        }
    }

    @Test("fails the deletion of one record; the rest goes on, or is innocent in an atomic batch")
    func deletions() async throws {
        try await TestServer.run { server in
            let database = try server.device(of: "ada").privateCloudDatabase
            try await database.save(notes)
            for name in ["a", "b"] { try await database.save(note(name)) }
            server.script.failDeletions(ofRecordNamed: "a", with: .zoneBusy, retryAfterSeconds: 0.5, times: 2)
            let (a, b) = (note("a").recordID, note("b").recordID)
            let atomic = try await database.modifyRecords(saving: [note("c")], deleting: [a, b])
            func code<Value>(_ result: Result<Value, any Error>?) -> CKError.Code? {
                if case .failure(let error)? = result { (error as? CKError)?.code } else { nil }
            }
            #expect(code(atomic.deleteResults[a]) == .zoneBusy)
            #expect(code(atomic.deleteResults[b]) == .batchRequestFailed)
            #expect(atomic.saveResults.values.map { code($0) } == [.batchRequestFailed])
            let each = try await database.modifyRecords(saving: [], deleting: [a, b], atomically: false)
            #expect(code(each.deleteResults[a]) == .zoneBusy)
            #expect(code(each.deleteResults[b]) == nil)
            try await database.deleteRecord(withID: a)
            #expect(try await database.records(for: [a, b]).values.allSatisfy { code($0) == .unknownItem })
        }
    }

    @Test("limits the public database to so many records, users' own aside")
    func publicQuota() async throws {
        try await TestServer.run { server in
            let ada = try server.device(of: "ada")
            let ben = try server.device(of: "ben")
            let rule = server.script.limitRecords(to: 2, in: .public)
            func record(_ name: String) -> CKRecord {
                CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name))
            }
            try await ada.publicCloudDatabase.save(record("1"))
            try await ben.publicCloudDatabase.save(record("2"))
            #expect(await failure { try await ada.publicCloudDatabase.save(record("3")) }?.code == .quotaExceeded)
            try await ada.privateCloudDatabase.save(notes)
            for number in 1...3 { try await ada.privateCloudDatabase.save(note("\(number)")) }
            try await ben.publicCloudDatabase.deleteRecord(withID: record("2").recordID)
            try await ada.publicCloudDatabase.save(record("3"))
            #expect(rule.firedCount == 1)
        }
    }

    @Test(
        "makes an account restricted or unavailable for a while, which its devices are told",
        arguments: [
            (CKAccountStatus.restricted, CKError.Code.managedAccountRestricted),
            (.temporarilyUnavailable, .accountTemporarilyUnavailable),
        ])
    func accountStatus(status: CKAccountStatus, code: CKError.Code) async throws {
        try await TestServer.run { server in
            let device = try server.device(of: "ada")
            let other = try server.device(of: "ben")
            try await device.privateCloudDatabase.save(notes)
            #expect(try await device.container.accountStatus() == .available)
            try await server.setAccountStatus(status, of: "ada")
            #expect(try await device.container.accountStatus() == status)
            #expect(await failure { try await device.privateCloudDatabase.allRecordZones() }?.code == code)
            #expect(try await other.container.accountStatus() == .available)
            try await server.setAccountStatus(.available, of: "ada")
            #expect(try await device.container.accountStatus() == .available)
            #expect(try await device.privateCloudDatabase.allRecordZones().count == 2)
        }
    }

    @Test("has a rule for one device, one account, one zone, one type, and leaves all else alone")
    func patterns() async throws {
        try await TestServer.run { server in
            let phone = try server.device(of: "ada")
            let laptop = try server.device(of: "ada")
            let stranger = try server.device(of: "ben")
            for device in [phone, stranger] { try await device.privateCloudDatabase.save(notes) }
            let elsewhere = CKRecordZone(zoneName: "Elsewhere")
            let rules = [
                server.script.fail(.any.from(phone), with: .zoneBusy, times: .max),
                server.script.fail(.modifyRecords.from("ben").savingRecords(of: "Other"), with: .limitExceeded),
                server.script.fail(.modifyZones.in(elsewhere.zoneID), with: .badDatabase),
            ]
            #expect(await failure { try await phone.privateCloudDatabase.allRecordZones() }?.code == .zoneBusy)
            try await laptop.privateCloudDatabase.save(note("n"))
            try await stranger.privateCloudDatabase.save(note("n"))
            try await laptop.privateCloudDatabase.save(note("o", type: "Other"))
            #expect(
                await failure { try await stranger.privateCloudDatabase.save(note("o", type: "Other")) }?.code
                    == .limitExceeded)
            #expect(await failure { try await laptop.privateCloudDatabase.save(elsewhere) }?.code == .badDatabase)
            #expect(rules.map(\.firedCount) == [1, 1, 1])
            rules[0].remove()
            try await phone.privateCloudDatabase.save(note("p"))
        }
    }

    @Test("fires as often as it was told, however many devices call at once on however many threads")
    func races() async throws {
        var options = TestServer.Options()
        options.loopCount = 4
        try await TestServer.run(options: options) { server in
            let databases = try (0..<8).map { try server.device(of: "account-\($0)").privateCloudDatabase }
            for database in databases { try await database.save(notes) }
            let rule = server.script.failSaves(of: "Note", with: .zoneBusy, times: 37)
            let calls = server.script.fail(.modifyRecords, with: .serviceUnavailable, times: 23)
            let codes = await withTaskGroup(of: CKError.Code?.self) { group in
                for (index, database) in databases.enumerated() {
                    for number in 0..<20 {
                        group.addTask { await failure { try await database.save(note("\(index)-\(number)")) }?.code }
                    }
                }
                return await group.reduce(into: [CKError.Code?: Int]()) { $0[$1, default: 0] += 1 }
            }
            #expect(codes == [.zoneBusy: 37, .serviceUnavailable: 23, nil: 100])
            #expect(rule.isDone && calls.isDone)
        }
    }

    @Test("names the rules that did not fire, and fails the run for them")
    func unfired() async throws {
        let server = try await TestServer.start()
        let database = try server.device(of: "ada").privateCloudDatabase
        server.script.fail(.query, with: .zoneBusy)
        server.script.fail(.modifyZones, with: .zoneBusy, times: 2)
        server.script.fail(.fetchZones, with: .zoneBusy, times: .max)
        server.script.expireChangeTokens()
        server.script.hold(.fetchRecords).release()
        server.script.losePushes().remove()
        _ = await failure { try await database.save(notes) }
        _ = await failure { try await database.allRecordZones() }
        #expect(
            server.script.unfired == [
                "query fails with zoneBusy beforeEffect: fired 0 of 1 times",
                "modifyZones fails with zoneBusy beforeEffect: fired 1 of 2 times",
                "change tokens expire: never fired",
                "fetchRecords is held beforeEffect: fired 0 of 1 times",
            ])
        server.script.removeAll()
        #expect(server.script.unfired.isEmpty)
        try await database.save(notes)
        await server.stop()
        let error = await #expect(throws: TestServerError.self) {
            try await TestServer.run { server in _ = server.script.hold(.any) }
        }
        #expect(error?.description.contains("any is held") == true)
    }

    @Test("lets go of what it holds when the server stops, without a wait")
    func stopWhileHeld() async throws {
        let server = try await TestServer.start()
        let database = try server.device(of: "ada").privateCloudDatabase
        let held = server.script.hold(.modifyZones)
        async let outcome = failure { try await database.save(notes) }
        try await held.waitUntilHeld()
        let clock = ContinuousClock()
        let started = clock.now
        await server.stop()
        #expect(await outcome != nil)
        #expect(clock.now - started < .seconds(20))
    }
}

private func code(_ result: Result<CKRecord, any Error>?) -> CKError.Code? {
    guard case .failure(let error) = result else { return nil }
    return (error as? CKError)?.code
}
