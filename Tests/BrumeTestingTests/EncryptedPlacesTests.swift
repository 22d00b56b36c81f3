import BrumeTesting
import CloudKit
import Foundation
import Testing

/// What is encrypted in a record takes the keys of where the record is, whatever the app's instance knows of that.
@Suite("What apps encrypt in records of shares", .timeLimit(.minutes(2)))
struct EncryptedPlacesTests {
    private static let root = CKRecord.ID(recordName: "root", zoneID: notes.zoneID)

    private func page(_ name: String, _ text: String?, zone: CKRecordZone.ID = notes.zoneID) -> CKRecord {
        let record = CKRecord(recordType: "Page", recordID: CKRecord.ID(recordName: name, zoneID: zone))
        record["title"] = name
        if let text { record.encryptedValues["secret"] = text }
        return record
    }

    private func accept(_ share: CKShare, _ guest: TestDevice) async throws -> CKRecordZone.ID {
        let metadata = try await guest.container.shareMetadata(for: try #require(share.url))
        return try await guest.container.accept(metadata).recordID.zoneID
    }

    private func seen(_ name: String, _ zone: CKRecordZone.ID, _ database: CKDatabase) async throws -> CKRecord {
        try await database.record(for: CKRecord.ID(recordName: name, zoneID: zone))
    }

    /// A record with others, which Ada shares with everybody who has the URL, and Bob, who has accepted and reads it.
    private func scene(
        _ others: [CKRecord],
        _ body: (
            _ server: TestServer, _ ada: TestDevice, _ bob: TestDevice, _ zone: CKRecordZone.ID
        ) async throws -> Void
    ) async throws {
        try await TestServer.run { server in
            let (ada, bob) = (try server.device(of: "ada"), try server.device(of: "bob"))
            let root = page("root", "r")
            _ = try await ada.privateCloudDatabase.save(notes)
            let share = CKShare(rootRecord: root)
            share.publicPermission = .readWrite
            try await save([root, share] + others, in: ada.privateCloudDatabase)
            let zone = try await accept(share, bob)
            _ = try await ada.privateCloudDatabase.record(for: root.recordID)
            try await body(server, ada, bob, zone)
        }
    }

    private func below(_ record: CKRecord, _ parent: CKRecord.ID = root) -> CKRecord {
        record.parent = CKRecord.Reference(recordID: parent, action: .none)
        return record
    }

    // MARK: Shares

    @Test("is in no share itself, where nothing stays of what was set and taken back") func inShare() async throws {
        try await scene([]) { _, ada, _, _ in
            let database = ada.privateCloudDatabase
            let reference = try #require(try await seen("root", notes.zoneID, database).share)
            let share = try #require(try await database.record(for: reference.recordID) as? CKShare)
            share.encryptedValues["secret"] = "s"
            #expect(await errorOfSaving(share, in: database)?.code == .invalidArguments)
            share.encryptedValues["secret"] = nil
            share[CKShare.SystemFieldKey.title] = "Title"
            try await save([share], in: database)
        }
    }

    @Test("is shared with all of a zone that is one tree, also by a device that has looked at nothing in it yet")
    func perZone() async throws {
        try await TestServer.run { server in
            let (ada, laptop) = (try server.device(of: "ada"), try server.device(of: "ada"))
            let zone = CKRecordZone(zoneID: notes.zoneID)
            zone.encryptionScope = .perZone
            _ = try await ada.privateCloudDatabase.save(zone)
            try await save([page("root", "r")], in: ada.privateCloudDatabase)
            try await ada.letIn(laptop)
            let root = page("root", nil)
            let share = CKShare(rootRecord: root)
            let results = try await laptop.privateCloudDatabase.modifyRecords(
                saving: [root, share], deleting: [], savePolicy: .changedKeys)
            let error = await failure { try results.saveResults[share.recordID]?.get() }
            #expect(error?.code == .invalidArguments, "\(String(describing: error))")
            try await save([CKShare(recordZoneID: notes.zoneID)], in: laptop.privateCloudDatabase)
        }
    }

    // MARK: Instances that do not know the parent

    @Test(
        "is saved with instances that know no parent, by the owner and by guests",
        arguments: [CKModifyRecordsOperation.RecordSavePolicy.changedKeys, .allKeys], [false, true])
    func upserts(policy: CKModifyRecordsOperation.RecordSavePolicy, isGuest: Bool) async throws {
        try await scene([below(page("child", "c"))]) { _, ada, bob, zone in
            let database = isGuest ? bob.sharedCloudDatabase : ada.privateCloudDatabase
            for text in ["one", "two"] {
                try await save([page("child", text, zone: isGuest ? zone : notes.zoneID)], in: database, policy)
                for (zone, database) in [(notes.zoneID, ada.privateCloudDatabase), (zone, bob.sharedCloudDatabase)] {
                    let record = try await seen("child", zone, database)
                    #expect(record.encryptedValues["secret"] == text && record.parent?.recordID.recordName == "root")
                }
            }
        }
    }

    @Test("comes to guests where it was saved by such an instance before the record was shared")
    func upsertBeforeShare() async throws {
        try await TestServer.run { server in
            let (ada, bob) = (try server.device(of: "ada"), try server.device(of: "bob"))
            let database = ada.privateCloudDatabase
            _ = try await database.save(notes)
            let root = page("root", "r")
            try await save([root, below(page("child", "c"))], in: database)
            try await save([page("child", "upsert")], in: database, .changedKeys)
            let share = CKShare(rootRecord: root)
            share.publicPermission = .readWrite
            try await save([root, share], in: database)
            let zone = try await accept(share, bob)
            let report = try await database.reencryptRecords(in: notes.zoneID)
            #expect(report.failures.isEmpty)
            let record = try await seen("child", zone, bob.sharedCloudDatabase)
            #expect(record.encryptedValues["secret"] == "upsert" && record.unreadableFields.isEmpty)
        }
    }

    @Test("has no key that guests have once the record has left the share, whatever the instance says")
    func staleAfterMoveOut() async throws {
        try await scene([below(page("child", "c"))]) { server, ada, bob, zone in
            let laptop = try server.device(of: "ada")
            try await ada.letIn(laptop)
            let stale = try await seen("child", notes.zoneID, ada.privateCloudDatabase)
            let shared = try trees(of: stale)
            let out = try await seen("child", notes.zoneID, laptop.privateCloudDatabase)
            out.parent = nil
            try await save([out], in: laptop.privateCloudDatabase)
            stale.encryptedValues["secret"] = "private words"
            try await save([stale], in: ada.privateCloudDatabase, .changedKeys)
            let now = try await seen("child", notes.zoneID, laptop.privateCloudDatabase)
            #expect(now.parent == nil && now.encryptedValues["secret"] == "private words")
            #expect(try !shared.isEmpty && trees(of: now).isDisjoint(with: shared))
        }
    }

    /// The trees that what is encrypted in a record is of, as its archive names them.
    private func trees(of record: CKRecord) throws -> Set<String> {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: archiver)
        archiver.finishEncoding()
        let reader = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
        reader.requiresSecureCoding = false
        return Set(reader.decodeObject(forKey: "EncryptedTrees") as? [String] ?? [])
    }

    @Test("is saved beside a plain change of what is above it, by an instance that does not know where that is")
    func besideUpsert() async throws {
        try await scene([below(page("folder", "f"))]) { _, ada, bob, zone in
            let renamed = page("folder", nil)
            renamed["title"] = "renamed"
            let child = below(page("child", "c"), renamed.recordID)
            try await save([renamed, child], in: ada.privateCloudDatabase, .changedKeys)
            #expect(try await seen("child", zone, bob.sharedCloudDatabase).encryptedValues["secret"] == "c")
            #expect(try await seen("folder", zone, bob.sharedCloudDatabase)["title"] == "renamed")
        }
    }

    @Test("is saved by an instance that sets nil for a parent that it did not know", arguments: [false, true])
    func noParent(isGuest: Bool) async throws {
        try await scene([below(page("child", "c"))]) { _, ada, bob, zone in
            let mine = page("child", "upsert", zone: isGuest ? zone : notes.zoneID)
            mine.parent = nil
            try await save([mine], in: isGuest ? bob.sharedCloudDatabase : ada.privateCloudDatabase, .changedKeys)
            let record = try await seen("child", zone, bob.sharedCloudDatabase)
            #expect(record.encryptedValues["secret"] == "upsert" && record.parent?.recordID.recordName == "root")
        }
    }

    @Test("is read by guests at once in a record that is shared, and below it, under any policy", arguments: [0, 1, 2])
    func sharedInTheMiddle(policy: Int) async throws {
        let policy = try #require(CKModifyRecordsOperation.RecordSavePolicy(rawValue: policy))
        try await TestServer.run { server in
            let (ada, bob) = (try server.device(of: "ada"), try server.device(of: "bob"))
            let database = ada.privateCloudDatabase
            _ = try await database.save(notes)
            let (top, sub, child) = (page("top", "t"), page("sub", "s"), page("child", "c"))
            try await save([top, below(sub, top.recordID), below(child, sub.recordID)], in: database)
            let share = CKShare(rootRecord: sub)
            share.publicPermission = .readWrite
            for record in [sub, child] { record.encryptedValues["secret"] = "new" }
            try await save([sub, share, child, below(page("last", "new"), sub.recordID)], in: database, policy)
            let zone = try await accept(share, bob)
            for name in ["sub", "child", "last"] {
                let record = try await seen(name, zone, bob.sharedCloudDatabase)
                #expect(record.encryptedValues["secret"] == "new", "\(name)")
            }
        }
    }

    // MARK: Places that the app has not seen

    @Test(
        "is shown to no guest who has taken the name of a record that the owner's app makes then",
        arguments: [CKModifyRecordsOperation.RecordSavePolicy.changedKeys, .allKeys])
    func takenName(policy: CKModifyRecordsOperation.RecordSavePolicy) async throws {
        try await scene([]) { _, ada, bob, zone in
            let root = CKRecord.ID(recordName: "root", zoneID: zone)
            try await save(
                [below(page("settings", nil, zone: zone), root), below(page("folder", nil, zone: zone), root)],
                in: bob.sharedCloudDatabase)
            for _ in 0..<2 {
                let error = await errorOfSaving(page("settings", "private"), in: ada.privateCloudDatabase, policy)
                #expect(error?.encryptionProblem == .placeIsUnproven)
                #expect(error?.unprovenRecordID?.recordName == "settings")
            }
            // A new folder of the owner's app, with what it puts there.
            let folder = page("folder", nil)
            let results = try await ada.privateCloudDatabase.modifyRecords(
                saving: [folder, below(page("diary", "private"), folder.recordID)], deleting: [], savePolicy: policy)
            #expect(throws: CKError.self) { try results.saveResults[page("diary", nil).recordID]?.get() }
            for name in ["settings", "diary"] {
                let record = try? await seen(name, zone, bob.sharedCloudDatabase)
                #expect(record?.encryptedValues["secret"] as String? == nil, "\(name)")
            }
            // Once the app has fetched it, it knows whose it is.
            let fetched = try await seen("settings", notes.zoneID, ada.privateCloudDatabase)
            #expect(fetched.parent != nil)
            try await save([page("settings", "for all")], in: ada.privateCloudDatabase, policy)
            #expect(try await seen("settings", zone, bob.sharedCloudDatabase).encryptedValues["secret"] == "for all")
        }
    }

    @Test("is no more for guests where the device has asked for the record's place before, for what is below it")
    func askedBefore() async throws {
        try await scene([]) { _, ada, bob, zone in
            let root = CKRecord.ID(recordName: "root", zoneID: zone)
            try await save([below(page("folder", nil, zone: zone), root)], in: bob.sharedCloudDatabase)
            let folder = page("folder", "private")
            try await save([below(page("child", "for all"), folder.recordID)], in: ada.privateCloudDatabase)
            let error = await errorOfSaving(folder, in: ada.privateCloudDatabase, .changedKeys)
            #expect(error?.encryptionProblem == .placeIsUnproven)
        }
    }

    @Test("takes no key of a share that the record has left, and the app has seen that, where a server shows it there")
    func replayedPlace() async throws {
        try await scene([below(page("child", "c"))]) { server, ada, _, _ in
            let laptop = try server.device(of: "ada")
            try await ada.letIn(laptop)
            let id = CKRecord.ID(recordName: "child", zoneID: notes.zoneID)
            let shared = try trees(of: try await ada.privateCloudDatabase.record(for: id))
            // What the server shows the laptop from now on: the place and the stamp as they were.
            let lies = [
                try await server.lie(.showsStamp(of: id, on: id), to: laptop),
                try await server.lie(.showsParent(Self.root, of: id), to: laptop),
            ]
            let out = try await ada.privateCloudDatabase.record(for: id)
            out.parent = nil
            try await save([out], in: ada.privateCloudDatabase)
            let now = try await ada.privateCloudDatabase.record(for: id)
            now.encryptedValues["secret"] = "private words"
            for _ in 0..<2 {
                let error = await errorOfSaving(now, in: laptop.privateCloudDatabase, .changedKeys)
                #expect(error?.encryptionProblem == .placeIsUnproven)
            }
            for lie in lies { lie.remove() }
            let saved = try await ada.privateCloudDatabase.record(for: id)
            #expect(try !shared.isEmpty && trees(of: saved).isDisjoint(with: shared))
        }
    }

    @Test("is for the tree of a folder also after a plain change of that by its name alone")
    func belowPlainUpsert() async throws {
        try await TestServer.run { server in
            let database = try server.device(of: "ada").privateCloudDatabase
            _ = try await database.save(notes)
            let (root, folder) = (page("root", "r"), page("folder", "f"))
            try await save([root, below(folder)], in: database)
            try await save([page("folder", nil)], in: database, .changedKeys)
            try await save([below(page("child", "c"), folder.recordID)], in: database)
            // The three are of one tree, which no share has changed yet.
            var ids: [Set<String>] = []
            for name in ["root", "folder", "child"] {
                ids.append(try trees(of: try await seen(name, notes.zoneID, database)))
            }
            #expect(Set(ids).count == 1 && ids[0].count == 1)
        }
    }

    // MARK: A device that was let in, and has opened nothing yet

    @Test(
        "comes to guests with a record that a device moves there which has opened nothing of the zone yet",
        arguments: ["partial", "archive", "fetched before", "plain with a child", "whole"])
    func movedByNewDevice(how: String) async throws {
        let moving = page("moving", how == "plain with a child" ? nil : "m")
        let child = below(page("child", "c"), moving.recordID)
        try await scene([moving, child]) { server, ada, bob, zone in
            let laptop = try server.device(of: "ada")
            let database = laptop.privateCloudDatabase
            let early = how == "fetched before" ? try await database.record(for: moving.recordID) : nil
            try await ada.letIn(laptop)
            let mine: CKRecord
            switch how {
            case "partial":
                let results = try await database.records(for: [moving.recordID], desiredKeys: ["title"])
                mine = try #require(try results[moving.recordID]?.get())
            case "archive":
                let archiver = NSKeyedArchiver(requiringSecureCoding: true)
                moving.encodeSystemFields(with: archiver)
                archiver.finishEncoding()
                let reader = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
                mine = try #require(CKRecord(coder: reader))
            case "fetched before": mine = try #require(early)
            default: mine = try await database.record(for: moving.recordID)
            }
            try await save([below(mine)], in: database)
            let report = try await database.reencryptRecords(in: notes.zoneID)
            #expect(report.failures.isEmpty)
            for name in ["moving", "child"] {
                #expect(try await seen(name, zone, bob.sharedCloudDatabase).unreadableFields.isEmpty, "\(name)")
            }
        }
    }

    @Test("keeps nothing of other zones back where a zone is missing, for an engine and without one")
    func missingZone() async throws {
        try await TestServer.run { server in
            let ada = try server.device(of: "ada")
            _ = try await ada.container.recoveryCode()
            let database = ada.privateCloudDatabase
            _ = try await database.save(notes)
            let gone = CKRecordZone.ID(zoneName: "Gone")
            func lost() -> CKRecord {
                below(page("lost", nil, zone: gone), CKRecord.ID(recordName: "p", zoneID: gone))
            }
            let results = try await database.modifyRecords(saving: [page("fine", nil), lost()], deleting: [])
            #expect((try? results.saveResults[page("fine", nil).recordID]?.get()) != nil)
            #expect(throws: CKError.self) { try results.saveResults[lost().recordID]?.get() }
            let delegate = TestSyncEngineDelegate()
            let engine = delegate.makeEngine(on: ada, automaticallySync: false)
            try await engine.fetchChanges()
            delegate.save([page("other", nil), lost()], with: engine)
            engine.state.remove(pendingDatabaseChanges: engine.state.pendingDatabaseChanges)
            try? await engine.sendChanges()
            #expect(try await seen("other", notes.zoneID, database)["title"] == "other")
        }
    }

    @Test("is for where the app has put a record, also in an archive of its system fields", arguments: [false, true])
    func archivedParent(isNew: Bool) async throws {
        func archived(_ record: CKRecord) throws -> CKRecord {
            let archiver = NSKeyedArchiver(requiringSecureCoding: true)
            record.encodeSystemFields(with: archiver)
            archiver.finishEncoding()
            return try #require(CKRecord(coder: try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)))
        }
        try await scene([page("old", "c")]) { _, ada, bob, zone in
            let name = isNew ? "new" : "old"
            let fetched = isNew ? page("new", nil) : try await seen("old", notes.zoneID, ada.privateCloudDatabase)
            let mine = try archived(below(fetched))
            mine.encryptedValues["secret"] = "moved"
            try await save([mine], in: ada.privateCloudDatabase)
            #expect(try await seen(name, zone, bob.sharedCloudDatabase).encryptedValues["secret"] == "moved")
        }
    }

    // MARK: Guests' records that are nowhere

    @Test("fails with permissionFailure, as what is plain does, in a guest's record that is below none of the share's")
    func outside() async throws {
        try await scene([]) { _, _, bob, zone in
            let database = bob.sharedCloudDatabase
            for parent in [nil, "nobody"] as [String?] {
                func placed(_ record: CKRecord) -> CKRecord {
                    parent.map { below(record, CKRecord.ID(recordName: $0, zoneID: zone)) } ?? record
                }
                let plain = placed(page("plain", nil, zone: zone))
                #expect(await errorOfSaving(plain, in: database)?.code == .permissionFailure)
                let error = await errorOfSaving(placed(page("secret", "s", zone: zone)), in: database)
                #expect(error?.code == .permissionFailure && error?.encryptionProblem == nil)
                let delegate = TestSyncEngineDelegate()
                var configuration = CKSyncEngine.Configuration(
                    database: database, stateSerialization: nil, delegate: delegate)
                configuration.automaticallySync = false
                let engine = CKSyncEngine(configuration)
                try await engine.fetchChanges()
                delegate.save([placed(page("engine", "s", zone: zone))], with: engine)
                engine.state.remove(pendingDatabaseChanges: engine.state.pendingDatabaseChanges)
                try? await engine.sendChanges()
                #expect(engine.state.pendingRecordZoneChanges.isEmpty)
            }
        }
    }

    @Test("meets a record that is there already, for a guest as for the owner") func conflict() async throws {
        try await scene([below(page("child", "c"))]) { _, ada, bob, zone in
            let owners = await errorOfSaving(page("child", "new"), in: ada.privateCloudDatabase)
            #expect(owners?.code == .serverRecordChanged)
            let guests = await errorOfSaving(page("child", "new", zone: zone), in: bob.sharedCloudDatabase)
            #expect(guests?.code == .serverRecordChanged)
            #expect(guests?.serverRecord?.encryptedValues["secret"] == "c")
        }
    }

    @Test("waits for the owner where all of the zone is shared, and its keys are not here yet")
    func waitsInZone() async throws {
        try await TestServer.run { server in
            let (ada, bob) = (try server.device(of: "ada"), try server.device(of: "bob"))
            _ = try await ada.privateCloudDatabase.save(notes)
            let share = CKShare(recordZoneID: notes.zoneID)
            share.publicPermission = .readWrite
            try await save([share, page("one", "1")], in: ada.privateCloudDatabase)
            // Without what stands behind the #, which is a key.
            let bare = try #require(share.url?.absoluteString.components(separatedBy: "#").first)
            let url = try #require(URL(string: bare))
            let metadata = try await bob.container.shareMetadata(for: url)
            let zone = try await bob.container.accept(metadata).recordID.zoneID
            let error = await errorOfSaving(page("two", "2", zone: zone), in: bob.sharedCloudDatabase)
            #expect(error?.encryptionProblem == .waitsForOwner || error?.encryptionProblem == .deviceHasNoKeys)
        }
    }
}
