import CloudKit
import Testing

// Names, defaults and conformances that apps use, as CloudKit's interface for Swift declares them.

@Suite("An app finds, as CloudKit declares them,")
struct CloudKitNamesTests {
    @Test("a batch without arguments, and an account change to compare")
    func syncEngine() {
        let batch = CKSyncEngine.RecordZoneChangeBatch()
        #expect(batch.recordsToSave.isEmpty && batch.recordIDsToDelete.isEmpty && !batch.atomicByZone)
        let id = CKRecord.ID(recordName: "x")
        #expect(CKSyncEngine.RecordZoneChangeBatch(recordIDsToDelete: [id]).recordIDsToDelete == [id])
        let change = CKSyncEngine.Event.AccountChange.ChangeType.signIn(currentUser: id)
        #expect(change == .signIn(currentUser: id) && change != .signOut(previousUser: id))
        let values: [any CustomStringConvertible] = [
            batch, CKSyncEngine.PendingRecordZoneChange.saveRecord(id),
            CKSyncEngine.PendingDatabaseChange.deleteZone(.default), CKSyncEngine.SyncReason.manual,
            CKSyncEngine.FetchChangesOptions(), CKSyncEngine.SendChangesOptions(scope: .recordIDs([id])),
        ]
        #expect(values.allSatisfy { !$0.description.isEmpty })
        #expect("\(CKSyncEngine.SendChangesOptions.Scope.recordIDs([id]))" == "recordIDs([\"x\"])")
        #expect("\(CKSyncEngine.PendingRecordZoneChange.saveRecord(id))" == "saveRecord(x)")
    }

    @Test("an optional record type and default options of a query subscription, and subscriptions to compare")
    func subscriptions() throws {
        let predicate = NSPredicate(format: "pages > 1")
        func make(_ id: String, options: CKQuerySubscription.Options = .firesOnRecordCreation) -> CKQuerySubscription {
            CKQuerySubscription(recordType: "Note", predicate: predicate, subscriptionID: id, options: options)
        }
        let recordType: CKRecord.RecordType? = make("s").recordType
        #expect(recordType == "Note")
        let all = CKQuerySubscription(recordType: "Note", predicate: predicate, subscriptionID: "s")
        #expect(all.querySubscriptionOptions.contains(.firesOnRecordDeletion))
        #expect(make("s") == make("s") && make("s").hash == make("s").hash)
        #expect(make("s") != make("t") && make("s") != make("s", options: .firesOnRecordUpdate))
        let other = make("s")
        other.notificationInfo = CKSubscription.NotificationInfo(alertBody: "x")
        #expect(make("s") != other)
        #expect(CKDatabaseSubscription(subscriptionID: "s") != make("s"))
        #expect(CKDatabaseSubscription(subscriptionID: "s") == CKDatabaseSubscription(subscriptionID: "s"))
    }

    @Test("errors made of any NSError")
    func errors() {
        let error = CKError(_nsError: NSError(domain: CKErrorDomain, code: 26))
        #expect(error.code == .zoneNotFound && error._nsError.domain == CKErrorDomain)
        let foreign = CKError(_nsError: NSError(domain: "Other", code: 3))
        #expect(foreign.code == .internalError)
        #expect((foreign.userInfo[NSUnderlyingErrorKey] as? NSError)?.code == 3)
    }

    @Test("values as CloudKit's Objective-C protocol has them, and assets in archives")
    func values() throws {
        let record = CKRecord(recordType: "Note")
        let value: any __CKRecordObjCValue = "text"
        record["a"] = value
        record.setObject(value, forKey: "b")
        let found: (any __CKRecordObjCValue)? = record.object(forKey: "a")
        let same: (any CKRecordValue)? = record["b"]
        #expect(found as? String == "text" && same as? String == "text")
        let asset = CKAsset(fileURL: URL(fileURLWithPath: "/tmp/file"))
        let data = try NSKeyedArchiver.archivedData(withRootObject: asset, requiringSecureCoding: true)
        #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKAsset.self, from: data) == asset)
    }

    @Test("a configuration's group, where an operation or a call has none")
    func group() {
        let operation = CKFetchRecordsOperation(recordIDs: [])
        let group = CKOperationGroup()
        operation.configuration.group = group
        #expect(operation.group === group)
        let own = CKOperationGroup()
        operation.group = own
        #expect(operation.group === own)
    }

    @available(*, deprecated)
    @Test("a zone's owner who may be nil, and users to look up who may not")
    func olderForms() {
        func zone(of owner: String?) -> CKRecordZone.ID { CKRecordZone.ID(zoneName: "Notes", ownerName: owner) }
        #expect(zone(of: nil) == CKRecordZone.ID(zoneName: "Notes", ownerName: CKOwnerDefaultName))
        #expect(zone(of: "_ada").ownerName == "_ada")
        #expect(CKRecordZone.ID(ownerName: nil as String?) == .default)
        let infos: [CKUserIdentity.LookupInfo] = CKDiscoverUserIdentitiesOperation().userIdentityLookupInfos
        #expect(infos.isEmpty)
    }
}

@available(*, deprecated)
private func older(
    _ permission: CKShare.Participant.Permission, _ role: CKShare.Participant.Role,
    _ status: CKShare.Participant.AcceptanceStatus, _ type: CKShare.Participant.ParticipantType,
    _ permissions: CKContainer.Application.Permissions, _ answer: CKContainer.Application.PermissionStatus
) -> CKContainer.Application.PermissionBlock? { nil }

@available(*, deprecated)
private func transitional(
    _ permission: CKShare_Participant_Permission, _ role: CKShare_Participant_Role,
    _ status: CKShare_Participant_AcceptanceStatus, _ action: CKRecord_Reference_Action,
    _ permissions: CKContainer_Application_Permissions, _ answer: CKContainer_Application_PermissionStatus,
    _ block: CKContainer.ApplicationPermissionBlock
) -> CKContainer_Application_PermissionBlock? { nil }
