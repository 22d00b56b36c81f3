import BrumeTesting
import CloudKit
import Foundation
import Testing

/// A guest who writes to a share may take any name in the owner's zone that is free. What the owner's app encrypts in a
/// record of that name, or below it, goes to guests only where the app was shown the record in the share.
@Suite("What an app encrypts under a name that a guest has taken", .timeLimit(.minutes(2)))
struct TakenNamesTests {
    private static let root = CKRecord.ID(recordName: "root", zoneID: notes.zoneID)

    private func page(_ name: String, _ text: String?, zone: CKRecordZone.ID = notes.zoneID) -> CKRecord {
        let record = CKRecord(recordType: "Page", recordID: CKRecord.ID(recordName: name, zoneID: zone))
        record["title"] = name
        if let text { record.encryptedValues["secret"] = text }
        return record
    }

    private func below(_ record: CKRecord, _ parent: CKRecord.ID = root) -> CKRecord {
        record.parent = CKRecord.Reference(recordID: parent, action: .none)
        return record
    }

    private func seen(_ name: String, _ zone: CKRecordZone.ID, _ database: CKDatabase) async throws -> CKRecord {
        try await database.record(for: CKRecord.ID(recordName: name, zoneID: zone))
    }

    /// Who shares a record with everybody who has the URL, and who has accepted.
    private struct Scene {
        let server: TestServer
        let ada: TestDevice
        let bob: TestDevice
        /// Ada's zone, as Bob names it.
        let zone: CKRecordZone.ID

        var database: CKDatabase { ada.privateCloudDatabase }

        /// Bob makes a record in the share.
        func take(_ name: String) async throws {
            let record = CKRecord(recordType: "Page", recordID: CKRecord.ID(recordName: name, zoneID: zone))
            record["title"] = name
            let root = CKRecord.ID(recordName: "root", zoneID: zone)
            record.parent = CKRecord.Reference(recordID: root, action: .none)
            try await save([record], in: bob.sharedCloudDatabase)
        }

        /// What Bob reads of a record's encrypted value.
        func secret(_ name: String) async -> String? {
            let id = CKRecord.ID(recordName: name, zoneID: zone)
            return try? await bob.sharedCloudDatabase.record(for: id).encryptedValues["secret"]
        }
    }

    private func scene(_ others: [CKRecord] = [], _ body: (Scene) async throws -> Void) async throws {
        try await TestServer.run { server in
            let (ada, bob) = (try server.device(of: "ada"), try server.device(of: "bob"))
            let root = page("root", "r")
            _ = try await ada.privateCloudDatabase.save(notes)
            let share = CKShare(rootRecord: root)
            share.publicPermission = .readWrite
            try await save([root, share] + others, in: ada.privateCloudDatabase)
            let metadata = try await bob.container.shareMetadata(for: try #require(share.url))
            let zone = try await bob.container.accept(metadata).recordID.zoneID
            _ = try await ada.privateCloudDatabase.record(for: root.recordID)
            try await body(Scene(server: server, ada: ada, bob: bob, zone: zone))
        }
    }

    @Test(
        "is not encrypted for the guest below a new folder that turns out to be the guest's", arguments: [false, true])
    func folder(isDeep: Bool) async throws {
        try await scene { scene in
            try await scene.take("folder")
            let folder = page("folder", nil)
            var records = [folder]
            if isDeep { records.append(below(page("sub", nil), folder.recordID)) }
            let diary = below(page("diary", "private words"), records.last!.recordID)
            let results = try await scene.database.modifyRecords(
                saving: records + [diary], deleting: [], atomically: false)
            let error = await failure { try results.saveResults[diary.recordID]?.get() }
            // What is further below took the zone's own keys, and is saved with them.
            #expect(error?.encryptionProblem == (isDeep ? nil : .placeIsUnproven))
            #expect(await scene.secret("diary") == nil)
            // Also in another request, before the app has looked at what is in its way.
            diary.encryptedValues["secret"] = "more private words"
            #expect(await errorOfSaving(diary, in: scene.database)?.encryptionProblem == .placeIsUnproven)
            #expect(await scene.secret("diary") == nil)
            if isDeep { return }
            // The app has seen where the folder is, and puts the diary there all the same.
            _ = try await seen("folder", notes.zoneID, scene.database)
            diary.encryptedValues["secret"] = "words for all"
            try await save([diary], in: scene.database)
            #expect(await scene.secret("diary") == "words for all")
        }
    }

    @Test("nor in a request of its own, by an app that was started again and has encrypted nothing yet")
    func folderAfterRestart() async throws {
        try await scene { scene in
            try await scene.take("folder")
            let database = try scene.ada.relaunched().privateCloudDatabase
            let folder = page("folder", nil)
            #expect(await errorOfSaving(folder, in: database)?.code == .serverRecordChanged)
            let diary = below(page("diary", "private words"), folder.recordID)
            #expect(await errorOfSaving(diary, in: database)?.encryptionProblem == .placeIsUnproven)
            #expect(await scene.secret("diary") == nil)
        }
    }

    @Test("nor by an engine, which goes on once the app has merged the folder") func engine() async throws {
        try await scene { scene in
            try await scene.take("folder")
            let folder = page("folder", nil)
            let diary = below(page("diary", "private words"), folder.recordID)
            let delegate = TestSyncEngineDelegate()
            let engine = delegate.makeEngine(on: scene.ada, automaticallySync: false)
            delegate.save([folder, diary], with: engine)
            engine.state.remove(pendingDatabaseChanges: engine.state.pendingDatabaseChanges)
            try? await engine.sendChanges()
            #expect(await scene.secret("diary") == nil)
            let conflict = delegate.failedSaves.first { $0.error.code == .serverRecordChanged }
            let merged = try #require(conflict?.error.mergedRecord())
            #expect(merged.parent == nil, "the app's folder is in no share")
            delegate.save([merged], with: engine)
            engine.state.remove(pendingDatabaseChanges: engine.state.pendingDatabaseChanges)
            engine.state.add(pendingRecordZoneChanges: [.saveRecord(diary.recordID)])
            try? await engine.sendChanges()
            #expect(await scene.secret("diary") == nil)
            let now = try await seen("diary", notes.zoneID, scene.database)
            #expect(now.encryptedValues["secret"] == "private words")
        }
    }

    @Test(
        "nor where the app had the name in the share, and deleted it, here or on another device",
        arguments: [CKModifyRecordsOperation.RecordSavePolicy.changedKeys, .allKeys],
        ["here", "by the feed", "by a fetch"])
    func deleted(policy: CKModifyRecordsOperation.RecordSavePolicy, how: String) async throws {
        try await scene([below(page("settings", "s")), below(page("folder", nil))]) { scene in
            let database = scene.database
            let token = try await database.recordZoneChanges(inZoneWith: notes.zoneID, since: nil).changeToken
            let ids = ["settings", "folder"].map { page($0, nil).recordID }
            if how == "here" {
                _ = try await database.modifyRecords(saving: [], deleting: ids)
            } else {
                let laptop = try scene.server.device(of: "ada")
                try await scene.ada.letIn(laptop)
                _ = try await laptop.privateCloudDatabase.modifyRecords(saving: [], deleting: ids)
                if how == "by the feed" {
                    let changes = try await database.recordZoneChanges(inZoneWith: notes.zoneID, since: token)
                    #expect(changes.deletions.count == 2)
                } else {
                    for result in try await database.records(for: ids).values {
                        #expect(throws: CKError.self) { try result.get() }
                    }
                }
            }
            for name in ["settings", "folder"] { try await scene.take(name) }
            let error = await errorOfSaving(page("settings", "private words"), in: database, policy)
            #expect(error?.encryptionProblem == .placeIsUnproven)
            let folder = page("folder", nil)
            let diary = below(page("diary", "private words"), folder.recordID)
            let results = try await database.modifyRecords(
                saving: [folder, diary], deleting: [], savePolicy: policy, atomically: false)
            #expect(results.saveResults.count == 2)
            for name in ["settings", "diary"] { #expect(await scene.secret(name) == nil, "\(name)") }
        }
    }

    @Test("nor where the device has fetched the guest's record by itself") func listed() async throws {
        try await scene { scene in
            try await scene.take("settings")
            let settings = page("settings", "private words")
            let lie = try await scene.server.lie(.listsForReencryption([settings.recordID]), to: scene.ada)
            _ = try? await scene.database.reencryptRecords(in: notes.zoneID)
            lie.remove()
            let error = await errorOfSaving(settings, in: scene.database, .changedKeys)
            #expect(error?.encryptionProblem == .placeIsUnproven)
            #expect(await scene.secret("settings") == nil)
        }
    }

    @Test("nor where the app's new record is merged with the guest's: it keeps the parent that the app gave it")
    func merged() async throws {
        for policy in [CKRecord.MergePolicy.clientWins, .custom { $0.clientValue ?? $0.serverValue }, .serverWins] {
            try await scene { scene in
                try await scene.take("settings")
                let error = await errorOfSaving(page("settings", "private words"), in: scene.database)
                let merged = try #require(error?.mergedRecord(policy))
                try await save([merged], in: scene.database)
                #expect(await scene.secret("settings") == nil)
            }
        }
    }

    @Test("nor by a guest of two shares of one zone, before the guest's app has seen in which of them a record is")
    func twoShares() async throws {
        try await scene([page("other", "o")]) { scene in
            let other = try await seen("other", notes.zoneID, scene.database)
            let share = CKShare(rootRecord: other)
            share.publicPermission = .readWrite
            try await save([other, share, below(page("child", "c"), other.recordID)], in: scene.database)
            let metadata = try await scene.bob.container.shareMetadata(for: try #require(share.url))
            _ = try await scene.bob.container.accept(metadata)
            _ = try await scene.database.record(for: other.recordID)
            let database = scene.bob.sharedCloudDatabase
            for name in ["root", "other"] { _ = try await seen(name, scene.zone, database) }
            let child = page("child", "bob's", zone: scene.zone)
            #expect(await errorOfSaving(child, in: database, .changedKeys)?.encryptionProblem == .placeIsUnproven)
            _ = try await seen("child", scene.zone, database)
            try await save([child], in: database, .changedKeys)
            #expect(await scene.secret("child") == "bob's")
        }
    }

    @Test(
        "while what the app knew in the share before it was started again is saved there",
        arguments: [CKModifyRecordsOperation.RecordSavePolicy.changedKeys, .allKeys, .ifServerRecordUnchanged])
    func restarted(policy: CKModifyRecordsOperation.RecordSavePolicy) async throws {
        try await scene([below(page("child", "c"))]) { scene in
            let child = try await seen("child", notes.zoneID, scene.database)
            let data = try NSKeyedArchiver.archivedData(withRootObject: child, requiringSecureCoding: true)
            let again = try scene.ada.relaunched()
            let kept = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data))
            kept.encryptedValues["secret"] = "new"
            try await save([kept], in: again.privateCloudDatabase, policy)
            #expect(await scene.secret("child") == "new")
        }
    }
}
