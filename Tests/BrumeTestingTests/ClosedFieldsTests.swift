import BrumeTesting
import CloudKit
import Foundation
import Testing

@Suite("What a device without keys can't read", .timeLimit(.minutes(2)))
struct ClosedFieldsTests {
    private func secretPage(_ name: String, _ text: String, zone: CKRecordZone.ID = notes.zoneID) -> CKRecord {
        let record = CKRecord(recordType: "Page", recordID: CKRecord.ID(recordName: name, zoneID: zone))
        record["title"] = name
        record.encryptedValues["secret"] = text
        return record
    }

    private func accept(_ url: URL?, _ guest: TestDevice) async throws -> CKRecordZone.ID {
        let metadata = try await guest.container.shareMetadata(for: try #require(url))
        return try await guest.container.accept(metadata).recordID.zoneID
    }

    private func secret(_ id: CKRecord.ID, _ database: CKDatabase) async throws -> String? {
        try await database.record(for: id).encryptedValues["secret"]
    }

    private static let sharedID = CKRecord.ID(recordName: "n", zoneID: notes.zoneID)

    /// A note of Ada's with an encrypted file, which she shares: with everybody who has the URL, or with Bob alone.
    private func sharedNote(
        isPrivate: Bool = false,
        _ body: (
            _ server: TestServer, _ files: AssetFiles, _ ada: TestDevice, _ bob: TestDevice, _ share: CKShare
        ) async throws -> Void
    ) async throws {
        var options = TestServer.Options()
        options.encryptsAssets = true
        try await TestServer.run(options: options) { server in
            let files = try AssetFiles()
            let (ada, bob) = (try server.device(of: "ada"), try server.device(of: "bob"))
            let record = try files.note("n", 1_000)
            _ = try await ada.privateCloudDatabase.save(notes)
            let share = CKShare(rootRecord: record)
            if isPrivate {
                let participant = try await bob.container.shareParticipant(
                    forUserRecordID: try await bob.container.userRecordID())
                participant.permission = .readWrite
                share.addParticipant(participant)
            } else {
                share.publicPermission = .readWrite
            }
            try await save([record, share], in: ada.privateCloudDatabase)
            try await body(server, files, ada, bob, share)
        }
    }

    @Test("is removed from a record of others by no guest who waits for the keys")
    func removedByGuest() async throws {
        try await sharedNote { server, files, ada, bob, share in
            let zone = try await accept(share.bareURL, bob)
            let id = CKRecord.ID(recordName: "n", zoneID: zone)
            let seen = try await bob.sharedCloudDatabase.record(for: id)
            #expect(seen.content() == nil && seen.unreadableFields["photo"] != nil)
            seen["photo"] = nil
            let error = await errorOfSaving(seen, in: bob.sharedCloudDatabase, .changedKeys)
            #expect(error?.code == .accountTemporarilyUnavailable)
            #expect(try await ada.privateCloudDatabase.record(for: Self.sharedID).content() != nil)
        }
    }

    @Test("is replaced by no plain file, and nothing is uploaded for that", arguments: [false, true])
    func replacedByGuest(hasAccountKeys: Bool) async throws {
        try await sharedNote { server, files, ada, bob, share in
            if hasAccountKeys { _ = try await bob.container.recoveryCode() }
            // The guest's app leaves BrumeConfiguration.encryptsAssets as it is.
            let container = CKContainer(
                identifier: server.options.containerIdentifier,
                configuration: BrumeConfiguration(environmentVariables: bob.environmentVariables))
            let metadata = try await container.shareMetadata(for: try #require(share.bareURL))
            let zone = try await container.accept(metadata).recordID.zoneID
            let database = container.sharedCloudDatabase
            let seen = try await database.record(for: CKRecord.ID(recordName: "n", zoneID: zone))
            #expect(seen.unreadableFields["photo"] != nil)
            server.forgetCalls()
            seen["photo"] = try files.asset(Data(repeating: 77, count: 5_000))
            #expect(await errorOfSaving(seen, in: database)?.code == .accountTemporarilyUnavailable)
            #expect(server.calls(.uploadAsset).isEmpty)
        }
    }

    @Test("is removed by no engine of a guest's, with a fetched record")
    func removedByGuestsEngine() async throws {
        try await sharedNote(isPrivate: true) { server, files, ada, bob, share in
            // With the whole link: the owner's device has not handed on the keys yet.
            let zone = try await accept(share.url, bob)
            let delegate = TestSyncEngineDelegate()
            var configuration = CKSyncEngine.Configuration(
                database: bob.sharedCloudDatabase, stateSerialization: nil, delegate: delegate)
            configuration.automaticallySync = false
            let engine = CKSyncEngine(configuration)
            try await engine.fetchChanges()
            let seen = try #require(delegate.records[CKRecord.ID(recordName: "n", zoneID: zone)])
            #expect(seen.unreadableFields["photo"] != nil)
            seen["photo"] = nil
            seen["text"] = "edited"
            delegate.save([seen], with: engine)
            engine.state.remove(pendingDatabaseChanges: engine.state.pendingDatabaseChanges)
            try? await engine.sendChanges()
            #expect(try await ada.privateCloudDatabase.record(for: Self.sharedID).content() != nil)
        }
    }

    @Test("stays where the app first sets a plain value of its name, which is refused, and then removes it")
    func removedAfterRefusal() async throws {
        try await TestServer.run { server in
            let (phone, laptop) = (try server.device(of: "ada"), try server.device(of: "ada"))
            let record = secretPage("n", "milk")
            _ = try await phone.privateCloudDatabase.save(notes)
            try await save([record], in: phone.privateCloudDatabase)
            let database = laptop.privateCloudDatabase
            let mine = try await database.record(for: record.recordID)
            mine["secret"] = "plain"
            #expect(await errorOfSaving(mine, in: database)?.code == .invalidArguments)
            mine["secret"] = nil
            #expect(await errorOfSaving(mine, in: database, .changedKeys)?.encryptionProblem == .deviceHasNoKeys)
            #expect(try await secret(record.recordID, phone.privateCloudDatabase) == "milk")
        }
    }

    /// An instance of a record of which the app does not know all.
    private func unknowing(
        _ id: CKRecord.ID, _ type: String, isPartial: Bool, desiredKeys: [String], _ database: CKDatabase
    ) async throws -> CKRecord {
        if !isPartial { return CKRecord(recordType: type, recordID: id) }
        return try #require(try await database.records(for: [id], desiredKeys: desiredKeys)[id]).get()
    }

    @Test("is removed by no instance that does not know of it", arguments: [false, true])
    func removedUnknown(isPartial: Bool) async throws {
        try await TestServer.run { server in
            let (phone, laptop) = (try server.device(of: "ada"), try server.device(of: "ada"))
            let record = secretPage("n", "milk")
            _ = try await phone.privateCloudDatabase.save(notes)
            try await save([record], in: phone.privateCloudDatabase)
            let database = laptop.privateCloudDatabase
            for policy in [CKModifyRecordsOperation.RecordSavePolicy.changedKeys, .allKeys] {
                let mine = try await unknowing(
                    record.recordID, "Page", isPartial: isPartial, desiredKeys: ["title"], database)
                mine["secret"] = nil
                #expect(await errorOfSaving(mine, in: database, policy)?.encryptionProblem == .deviceHasNoKeys)
                #expect(try await secret(record.recordID, phone.privateCloudDatabase) == "milk")
            }
            // With the keys the same is what the app means.
            try await phone.letIn(laptop)
            let mine = try await unknowing(
                record.recordID, "Page", isPartial: isPartial, desiredKeys: ["title"], database)
            mine["secret"] = nil
            mine["title"] = "new"
            try await save([mine], in: database, .changedKeys)
            #expect(!mine.encryptedValues.allKeys().contains("secret") && mine.unreadableFields.isEmpty)
            let seen = try await phone.privateCloudDatabase.record(for: record.recordID)
            #expect(seen.encryptedValues["secret"] == nil as String? && seen["title"] == "new")
        }
    }

    @Test("is removed by no instance that does not know of the file", arguments: [false, true])
    func removedUnknownFile(isPartial: Bool) async throws {
        var options = TestServer.Options()
        options.encryptsAssets = true
        try await TestServer.run(options: options) { server in
            let files = try AssetFiles()
            let (phone, laptop) = (try server.device(of: "ada"), try server.device(of: "ada"))
            let record = try files.note("n", 1_000)
            _ = try await phone.privateCloudDatabase.save(notes)
            try await save([record], in: phone.privateCloudDatabase)
            let database = laptop.privateCloudDatabase
            for isEmpty in [false, true] {
                let mine = try await unknowing(
                    record.recordID, "Note", isPartial: isPartial, desiredKeys: ["text"], database)
                mine["photo"] = isEmpty ? [CKAsset]() : nil
                let error = await errorOfSaving(mine, in: database, .changedKeys)
                #expect(error?.encryptionProblem == .deviceHasNoKeys || isEmpty && error?.code == .invalidArguments)
                #expect(try await phone.privateCloudDatabase.record(for: record.recordID).content() != nil)
            }
        }
    }

    @Test("is removed in one call where the device has opened it") func removedOpen() async throws {
        var options = TestServer.Options()
        options.encryptsAssets = true
        try await TestServer.run(options: options) { server in
            let files = try AssetFiles()
            let database = try server.device(of: "ada").privateCloudDatabase
            _ = try await database.save(notes)
            try await save([try files.note("n", 1_000)], in: database)
            let fetched = try await database.record(for: Self.sharedID)
            #expect(fetched.content() != nil)
            server.forgetCalls()
            fetched["photo"] = nil
            try await save([fetched], in: database)
            #expect(server.calls(.modifyRecords).count == 1)
            #expect(try await database.record(for: Self.sharedID)["photo"] == nil as CKAsset?)
        }
    }

    @Test("is removed by an engine once its device is let in, and not before") func removedByEngine() async throws {
        var options = TestServer.Options()
        options.encryptsAssets = true
        try await TestServer.run(options: options) { server in
            let files = try AssetFiles()
            let (phone, laptop) = (try server.device(of: "ada"), try server.device(of: "ada"))
            let id = try files.note("n", 1_000).recordID
            _ = try await phone.privateCloudDatabase.save(notes)
            try await save([try files.note("n", 1_000)], in: phone.privateCloudDatabase)
            let delegate = TestSyncEngineDelegate()
            let engine = delegate.makeEngine(on: laptop, automaticallySync: false)
            try await engine.fetchChanges()
            let fetched = try #require(delegate.records[id])
            fetched["photo"] = nil
            delegate.save([fetched], with: engine)
            engine.state.remove(pendingDatabaseChanges: engine.state.pendingDatabaseChanges)
            try? await engine.sendChanges()
            #expect(!engine.state.pendingRecordZoneChanges.isEmpty)
            #expect(try await phone.privateCloudDatabase.record(for: id).content() != nil)
            try await phone.letIn(laptop)
            try await engine.sendChanges()
            #expect(engine.state.pendingRecordZoneChanges.isEmpty)
            #expect(try await phone.privateCloudDatabase.record(for: id)["photo"] == nil as CKAsset?)
        }
    }

    @Test("is removed by no guest who waits for the keys, by the record's id alone")
    func removedByGuestUnknown() async throws {
        try await sharedNote { server, files, ada, bob, share in
            let zone = try await accept(share.bareURL, bob)
            let mine = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n", zoneID: zone))
            mine["photo"] = nil
            mine["text"] = "edited"
            let error = await errorOfSaving(mine, in: bob.sharedCloudDatabase, .changedKeys)
            #expect(error?.encryptionProblem == .waitsForOwner || error?.encryptionProblem == .deviceHasNoKeys)
            let seen = try await ada.privateCloudDatabase.record(for: Self.sharedID)
            #expect(seen.content() != nil && seen["text"] != "edited")
        }
    }

    @Test("has a guest with the keys remove it by the record's id, below the one that is shared")
    func removedByGuestWithKeys() async throws {
        try await TestServer.run { server in
            let (ada, bob) = (try server.device(of: "ada"), try server.device(of: "bob"))
            let (root, child) = (secretPage("root", "r"), secretPage("child", "c"))
            child.setParent(root)
            _ = try await ada.privateCloudDatabase.save(notes)
            let share = CKShare(rootRecord: root)
            share.publicPermission = .readWrite
            try await save([root, child, share], in: ada.privateCloudDatabase)
            let zone = try await accept(share.url, bob)
            let id = CKRecord.ID(recordName: "child", zoneID: zone)
            #expect(try await secret(id, bob.sharedCloudDatabase) == "c")
            // Hands on the keys.
            _ = try await ada.privateCloudDatabase.record(for: root.recordID)
            let mine = CKRecord(recordType: "Page", recordID: id)
            mine["secret"] = nil
            try await save([mine], in: bob.sharedCloudDatabase, .changedKeys)
            #expect(try await secret(child.recordID, ada.privateCloudDatabase) == nil)
        }
    }

    @Test("is no fault of a record beside one that another device has changed, in one atomic request")
    func besideConflict() async throws {
        try await TestServer.run { server in
            let database = try server.device(of: "ada").privateCloudDatabase
            _ = try await database.save(notes)
            let (first, second) = (secretPage("a", "a"), secretPage("b", "b"))
            try await save([first, second], in: database)
            let stale = try await database.record(for: first.recordID)
            first["title"] = "newer"
            try await save([first], in: database)
            stale["title"] = "older"
            let partial = try await unknowing(
                second.recordID, "Page", isPartial: true, desiredKeys: ["title"], database)
            partial["secret"] = nil
            let results = try await database.modifyRecords(saving: [stale, partial], deleting: []).saveResults
            func code(_ record: CKRecord) -> CKError.Code? {
                do { _ = try results[record.recordID]?.get() } catch { return (error as? CKError)?.code }
                return nil
            }
            #expect(code(stale) == .serverRecordChanged && code(partial) == .batchRequestFailed)
        }
    }

    @Test("is a server's word, by which no device makes keys that no app asked for") func madeUpField() async throws {
        try await TestServer.run { server in
            let ada = try server.device(of: "ada")
            let database = ada.privateCloudDatabase
            _ = try await database.save(notes)
            let lie = try await server.lie(.showsFieldsEncrypted(in: notes.zoneID), to: ada)
            let plain = CKRecord(recordType: "Page", recordID: CKRecord.ID(recordName: "n", zoneID: notes.zoneID))
            plain["title"] = "plain"
            let error = await errorOfSaving(plain, in: database, .changedKeys)
            #expect(error?.encryptionProblem == .deviceHasNoKeys)
            #expect(try await ada.container.encryptionStatus() == .notSetUp)
            lie.remove()
            try await save([plain], in: database, .changedKeys)
        }
    }

    @Test("is compared by no query, and by no subscription, also in development")
    func subscription() async throws {
        try await TestServer.run { server in
            let database = try server.device(of: "ada").privateCloudDatabase
            _ = try await database.save(notes)
            try await save([secretPage("n", "milk")], in: database)
            let predicate = NSPredicate(format: "secret == %@", "milk")
            let query = await failure {
                try await database.records(matching: CKQuery(recordType: "Page", predicate: predicate))
            }
            #expect(query?.code == .invalidArguments)
            let subscription = CKQuerySubscription(
                recordType: "Page", predicate: predicate, subscriptionID: "s", options: [.firesOnRecordCreation])
            let info = CKSubscription.NotificationInfo()
            info.shouldSendContentAvailable = true
            subscription.notificationInfo = info
            let error = await failure { try await database.save(subscription) }
            #expect(error?.code == .invalidArguments)
        }
    }
}

extension CKShare {
    /// Its URL without what stands behind the #, which is a key.
    fileprivate var bareURL: URL? { url.flatMap { URL(string: $0.absoluteString.components(separatedBy: "#")[0]) } }
}
