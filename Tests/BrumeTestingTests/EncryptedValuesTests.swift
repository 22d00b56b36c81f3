import BrumeTesting
import CloudKit
import Testing

@Suite("Encrypted values on a test server's devices", .timeLimit(.minutes(1)))
struct EncryptedValuesTests {
    private func secret(_ name: String, _ text: String) -> CKRecord {
        let record = note(name)
        record.encryptedValues["secret"] = text
        return record
    }

    @Test("are read by a device that was let in, and by no other one of the account")
    func letIn() async throws {
        try await TestServer.run { server in
            let devices = try (0..<4).map { _ in try server.device(of: "ada") }
            let bob = try server.device(of: "bob")
            let (phone, laptop, tablet) = (devices[0], devices[1], devices[2])
            let record = secret("n", "milk")
            _ = try await phone.privateCloudDatabase.save(CKRecordZone(zoneID: record.recordID.zoneID))
            try await phone.privateCloudDatabase.save(record)
            try await phone.letIn(laptop)
            try await laptop.letIn(tablet)
            for (device, text) in zip(devices, ["milk", "milk", "milk", nil]) {
                let seen = try await device.privateCloudDatabase.record(for: record.recordID)
                #expect(seen.encryptedValues["secret"] == text)
                #expect(seen.unreadableFields == (text == nil ? ["secret": .noKeys] : [:]))
            }
            // The app takes the place of the code that the kit used.
            _ = try await phone.container.replaceRecoveryCode()
            try await phone.letIn(devices[3])
            #expect(try await devices[3].container.encryptionStatus() == .available)
            await #expect(throws: TestServerError.self) { try await phone.letIn(bob) }
            #expect(try await server.dump(of: "ada").contains("milk") == false)
        }
    }

    @Test("cost a save below others no call more, but once where what is above is no root and was not seen whole")
    func calls() async throws {
        try await TestServer.run { server in
            let phone = try server.device(of: "ada")
            let database = phone.privateCloudDatabase
            let (root, list, folder) = (note("root"), secret("list", "milk"), note("folder"))
            _ = try await database.save(CKRecordZone(zoneID: list.recordID.zoneID))
            list.setParent(root)
            folder.setParent(list)
            for record in [root, list] { try await database.save(record) }
            func fetches(saving name: String, below parent: CKRecord) async throws -> Int {
                let before = server.calls(.fetchRecords.from(phone)).count
                let record = secret(name, "bread")
                record.setParent(parent)
                try await database.save(record)
                return server.calls(.fetchRecords.from(phone)).count - before
            }
            #expect(try await fetches(saving: "a", below: list) == 0)
            try await database.save(folder)
            #expect(try await fetches(saving: "b", below: folder) == 1)
            #expect(try await fetches(saving: "c", below: folder) == 0)
        }
    }

    @Test("go through the sync engine, which keeps those of a device without keys until it is let in")
    func syncEngine() async throws {
        try await TestServer.run { server in
            let (phone, laptop) = (try server.device(of: "ada"), try server.device(of: "ada"))
            let (here, there) = (TestSyncEngineDelegate(), TestSyncEngineDelegate())
            let engine = here.makeEngine(on: phone, automaticallySync: false)
            here.save([secret("first", "milk")], with: engine)
            try await engine.sendChanges()

            let other = there.makeEngine(on: laptop, automaticallySync: false)
            try await other.fetchChanges()
            let fetched = try #require(there.records[note("first").recordID])
            #expect(fetched.unreadableFields == ["secret": .noKeys])
            there.save([secret("second", "bread"), note("plain")], with: other)
            await #expect(throws: CKError.self) { try await other.sendChanges() }
            #expect(other.state.pendingRecordZoneChanges == [.saveRecord(note("second").recordID)])
            try await engine.fetchChanges()
            #expect(here.records[note("plain").recordID] != nil && here.records[note("second").recordID] == nil)

            // What waits for keys stands behind what comes later.
            there.save([note("later")], with: other)
            await #expect(throws: CKError.self) { try await other.sendChanges() }
            #expect(other.state.pendingRecordZoneChanges == [.saveRecord(note("second").recordID)])
            try await phone.letIn(laptop)
            try await other.sendChanges()
            #expect(other.state.pendingRecordZoneChanges.isEmpty)
            try await engine.fetchChanges()
            #expect(here.records[note("second").recordID]?.encryptedValues["secret"] == "bread")
        }
    }

    @Test("are company for no plain files: those of an app without keys wait in its sync engine, and nothing else does")
    func plainFiles() async throws {
        var options = TestServer.Options()
        options.encryptsAssets = true
        try await TestServer.run(options: options) { server in
            let files = try AssetFiles()
            let (phone, laptop) = (try server.device(of: "ada"), try server.device(of: "ada"))
            let first = try files.note("first", 1_000)
            _ = try await phone.privateCloudDatabase.save(CKRecordZone(zoneID: first.recordID.zoneID))
            try await phone.privateCloudDatabase.save(first)

            let older = BrumeConfiguration(environmentVariables: laptop.environmentVariables)
            let container = CKContainer(identifier: options.containerIdentifier, configuration: older)
            let delegate = TestSyncEngineDelegate()
            var configuration = CKSyncEngine.Configuration(
                database: container.privateCloudDatabase, stateSerialization: nil, delegate: delegate)
            configuration.automaticallySync = false
            let engine = CKSyncEngine(configuration)
            server.forgetCalls()
            let photo = try files.note("photo", 2_000)
            for record in [note("plain"), note("later")] {
                delegate.save(record.recordID.recordName == "plain" ? [photo, record] : [record], with: engine)
                await #expect(throws: CKError.self) { try await engine.sendChanges() }
                #expect(engine.state.pendingRecordZoneChanges == [.saveRecord(photo.recordID)])
                _ = try await phone.privateCloudDatabase.record(for: record.recordID)
            }
            // Nothing is sent again by itself, and no file twice.
            let refused = server.calls(.modifyRecords).filter { $0.description.contains("1 of them failed") }
            #expect(refused.count == 2 && server.calls(.uploadAsset).count == 1, "\(server.calls())")
            let codes = delegate.events.flatMap { event -> [CKError.Code] in
                if case .sentRecordZoneChanges(let sent) = event {
                    sent.failedRecordSaves.map(\.error.code)
                } else {
                    []
                }
            }
            #expect(codes == [.accountTemporarilyUnavailable, .accountTemporarilyUnavailable])
        }
    }

    @Test("can be seeded, and are read by devices that are let in then")
    func seeded() async throws {
        try await TestServer.run { server in
            let (phone, laptop) = (try server.device(of: "ada"), try server.device(of: "ada"))
            try await server.seed([secret("n", "milk")], of: "ada")
            try await phone.letIn(laptop)
            try await laptop.letIn(phone)
            for device in [phone, laptop] {
                let seen = try await device.privateCloudDatabase.record(for: note("n").recordID)
                #expect(seen.encryptedValues["secret"] == "milk")
            }
            try await server.seed([note("n")], of: "ada")
            let seen = try await phone.privateCloudDatabase.record(for: note("n").recordID)
            #expect(seen.encryptedValues.allKeys().isEmpty && seen.unreadableFields.isEmpty)
            let bob = try server.device(of: "bob")
            _ = try await bob.container.recoveryCode()
            await #expect(throws: TestServerError.self) { try await server.seed([secret("n", "milk")], of: "bob") }
        }
    }

    @Test("are gone after a reset, which is told, and are saved again with new keys")
    func reset() async throws {
        try await TestServer.run { server in
            let phone = try server.device(of: "ada")
            let delegate = TestSyncEngineDelegate()
            let engine = delegate.makeEngine(on: phone, automaticallySync: false)
            delegate.save([secret("n", "milk")], with: engine)
            try await engine.sendChanges()
            try await engine.fetchChanges()
            _ = try await phone.container.resetEncryption()
            try await engine.fetchChanges()
            let told = delegate.events.compactMap { event in
                if case .fetchedDatabaseChanges(let changes) = event { changes.deletions.first?.reason } else { nil }
            }
            #expect(told == [.encryptedDataReset])
            delegate.save([secret("n", "milk")], with: engine)
            try await engine.sendChanges()
            let seen = try await phone.privateCloudDatabase.record(for: note("n").recordID)
            #expect(seen.encryptedValues["secret"] == "milk")
        }
    }
}
