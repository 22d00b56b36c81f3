import BrumeTesting
import CloudKit
import Foundation
import Testing

/// An app's delegate, as one that is unit-tested.
private final class AppDelegate: CKSyncEngineDelegate {
    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        switch event {
        case .sentRecordZoneChanges(let sent):
            for failed in sent.failedRecordSaves where failed.error.code == .serverRecordChanged {
                failed.error.serverRecord?["text"] = failed.record["text"] as? String
                syncEngine.state.add(pendingRecordZoneChanges: [.saveRecord(failed.record.recordID)])
            }
        case .fetchedDatabaseChanges(let changes):
            for deletion in changes.deletions where deletion.reason == .encryptedDataReset {
                syncEngine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: deletion.zoneID))])
            }
        default: break
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let changes = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { id in note(id.recordName) }
    }
}

@Suite("What only servers and engines make", .timeLimit(.minutes(1)))
struct MakingTests {
    @Test("a record as a server gives it shows its encrypted values, without edits")
    func encryptedValues() {
        let record = note("n")
        record.encryptedValues["secret"] = "word"
        let saved = record.asSaved()
        #expect(saved.encryptedValues["secret"] == "word" && saved.encryptedValues.changedKeys().isEmpty)
        #expect(saved.unreadableFields.isEmpty)
    }

    @Test("a delegate is tested with events and an engine that have no server")
    func delegate() async throws {
        let delegate = AppDelegate()
        let engine = CKSyncEngine.unconnected(delegate: delegate)
        let server = note("n", "theirs").asSaved(changeTag: "7")
        let conflict = CKError.conflict(client: note("n", "mine"), server: server)
        await delegate.handleEvent(
            .sentRecordZoneChanges(.init(failedRecordSaves: [(note("n", "mine"), conflict)])), syncEngine: engine)
        #expect(engine.state.pendingRecordZoneChanges == [.saveRecord(note("n").recordID)])
        #expect(server["text"] == "mine")
        await delegate.handleEvent(
            .fetchedDatabaseChanges(.init(deletions: [.init(zoneID: notes.zoneID, reason: .encryptedDataReset)])),
            syncEngine: engine)
        #expect(engine.state.pendingDatabaseChanges.map(\.zoneID) == [notes.zoneID])
        let batch = await delegate.nextRecordZoneChangeBatch(
            .init(options: .init(scope: .zoneIDs([notes.zoneID]))), syncEngine: engine)
        #expect(batch?.recordsToSave.map(\.recordID.recordName) == ["n"])
        let other = await delegate.nextRecordZoneChangeBatch(
            .init(reason: .scheduled, options: .init(scope: .zoneIDs([.default]))), syncEngine: engine)
        #expect(other == nil)
        let error = await failure { try await engine.sendChanges() }
        #expect(error?.code == .networkUnavailable)
    }

    @Test("every event can be made, and describes itself as an engine's")
    func events() {
        let user = CKRecord.ID(recordName: "_ada")
        let events: [CKSyncEngine.Event] = [
            .stateUpdate(.init()), .accountChange(.init(.signIn(currentUser: user))),
            .fetchedDatabaseChanges(.init(zoneIDs: [notes.zoneID])),
            .fetchedRecordZoneChanges(
                .init(
                    records: [note("a").asSaved()],
                    deletions: [.init(recordID: note("b").recordID, recordType: "Note")])),
            .sentDatabaseChanges(
                .init(savedZones: [notes.asSaved()], failedZoneSaves: [(notes, CKError(.quotaExceeded))])),
            .sentRecordZoneChanges(
                .init(
                    savedRecords: [note("a").asSaved()], failedRecordDeletes: [note("b").recordID: CKError(.zoneBusy)])),
            .willFetchChanges(.init()), .didFetchChanges(.init(context: .init(reason: .scheduled))),
            .willFetchRecordZoneChanges(.init(zoneID: notes.zoneID)),
            .didFetchRecordZoneChanges(.init(zoneID: notes.zoneID, error: CKError(.zoneBusy))),
            .willSendChanges(.init()), .didSendChanges(.init()),
        ]
        #expect(
            events.map(\.description) == [
                "stateUpdate", "accountChange(signIn(_ada))",
                "fetchedDatabaseChanges(modifications: [\"Notes\"], deletions: [])",
                "fetchedRecordZoneChanges(modifications: [\"a\"], deletions: [\"b\"])",
                "sentDatabaseChanges(saved: [\"Notes\"], failedSaves: [\"Notes: quotaExceeded\"], deleted: [], failedDeletes: [])",
                "sentRecordZoneChanges(saved: [\"a\"], failedSaves: [], deleted: [], failedDeletes: [\"b: zoneBusy\"])",
                "willFetchChanges(manual)", "didFetchChanges(scheduled)", "willFetchRecordZoneChanges(Notes)",
                "didFetchRecordZoneChanges(Notes, error: zoneBusy)", "willSendChanges(manual)",
                "didSendChanges(manual)",
            ])
    }

    @Test("a record has the system fields of a saved one, and no changed keys")
    func record() throws {
        let original = note("n")
        original.setParent(note("list"))
        let modified = Date(timeIntervalSince1970: 1_900_000_000.125)
        let other = CKRecord.ID(recordName: "_ben")
        let saved = original.asSaved(changeTag: "3", modified: modified, modifier: other)
        #expect(saved !== original && original.recordChangeTag == nil)
        #expect(saved.recordChangeTag == "3" && saved["text"] == "text")
        #expect(saved.creationDate == Date(timeIntervalSinceReferenceDate: 0) && saved.modificationDate == modified)
        #expect(saved.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
        #expect(saved.lastModifiedUserRecordID == other)
        #expect(saved.parent?.recordID == note("list").recordID)
        #expect(saved.changedKeys().isEmpty)
        #expect(notes.asSaved().capabilities.contains(.atomic))
        // It goes through an app's archive.
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        saved.encodeSystemFields(with: archiver)
        archiver.finishEncoding()
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
        #expect(CKRecord(coder: unarchiver)?.recordChangeTag == "3")
    }

    @Test("a share has the URL, the owner and the participants of a saved one, and goes through an app's archive")
    func share() throws {
        let root = note("list")
        let share = CKShare(rootRecord: root)
        share[CKShare.SystemFieldKey.title] = "Groceries"
        share.addParticipant(.oneTimeURLParticipant())
        share.participants[1].permission = .readWrite
        let saved = try #require(share.asSaved(changeTag: "3") as? CKShare)
        #expect(root.asSaved().share?.recordID == share.recordID)
        #expect(share.url == nil && saved.url?.fragment == "Groceries")
        #expect(saved.oneTimeURL(for: saved.participants[1].participantID) != saved.url)
        #expect(saved.participants.map(\.permission) == [.readWrite, .readWrite])
        #expect(saved.currentUserParticipant === saved.owner)
        let archive = try NSKeyedArchiver.archivedData(withRootObject: saved, requiringSecureCoding: true)
        let read = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKShare.self, from: archive))
        #expect(read.url == saved.url && read.participants == saved.participants && read.recordChangeTag == "3")
    }

    @Test("notifications of each kind say what they were given, and are read again from their payload")
    func notifications() throws {
        let query = CKNotification.query(
            "s", recordID: note("n").recordID, reason: .recordUpdated, fields: ["text": "milk"], isPruned: true)
        #expect(query.subscriptionID == "s" && query.recordID == note("n").recordID && query.isPruned)
        #expect(query.queryNotificationReason == .recordUpdated && query.recordFields?["text"] as? String == "milk")
        let zone = CKNotification.recordZone("z", zoneID: notes.zoneID)
        #expect(zone.recordZoneID == notes.zoneID && zone.databaseScope == .private && !zone.isPruned)
        let database = CKNotification.database("d", scope: .public)
        #expect(database.databaseScope == .public && database.subscriptionID == "d")
        #expect(CKNotification.database(nil, isPruned: true).isPruned)
        let read = CKNotification(fromRemoteNotificationDictionary: query.userInfo) as? CKQueryNotification
        #expect(read?.recordID == query.recordID)
    }

    @Test("tokens of one text are equal, and a container without a server says that it has none")
    func tokens() async {
        #expect(CKServerChangeToken.made("a") == .made("a") && CKServerChangeToken.made("a") != .made("b"))
        let database = CKContainer.unconnected().privateCloudDatabase
        #expect(await failure { try await database.allRecordZones() }?.code == .networkUnavailable)
    }
}
