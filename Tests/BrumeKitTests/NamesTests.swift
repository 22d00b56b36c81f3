import BrumeKit
import BrumeModel
import Foundation
import Testing

@Suite("Names")
struct NamesTests {
    @Test("of the system are CloudKit's")
    func constants() {
        #expect(CKCurrentUserDefaultName == "__defaultOwner__")
        #expect(CKRecordZoneDefaultName == "_defaultZone")
        #expect(CKRecordZone.ID.defaultZoneName == "_defaultZone")
        #expect(CKRecord.SystemType.userRecord == "Users")
        #expect(CKRecord.SystemFieldKey.recordID == "recordID")
        #expect(CKRecord.SystemFieldKey.creatorUserRecordID == "creatorUserRecordID")
        #expect(CKRecord.SystemFieldKey.creationDate == "creationDate")
        #expect(CKRecord.SystemFieldKey.lastModifiedUserRecordID == "lastModifiedUserRecordID")
        #expect(CKRecord.SystemFieldKey.modificationDate == "modificationDate")
        #expect(CKRecord.SystemFieldKey.parent == "parent")
    }

    @Test("of enumerations have CloudKit's raw values")
    func rawValues() {
        #expect(CKRecord.ReferenceAction.none.rawValue == 0 && CKRecord.ReferenceAction.deleteSelf.rawValue == 1)
        #expect(CKRecordZone.Capabilities.fetchChanges.rawValue == 1)
        #expect(CKRecordZone.Capabilities.atomic.rawValue == 2)
        #expect(CKRecordZone.Capabilities.sharing.rawValue == 4)
        #expect(CKRecordZone.Capabilities.zoneWideSharing.rawValue == 8)
        #expect(CKDatabaseScope.public.rawValue == 1 && CKDatabaseScope.private.rawValue == 2)
        #expect(CKDatabaseScope.shared.rawValue == 3)
        #expect(CKAccountStatus.couldNotDetermine.rawValue == 0 && CKAccountStatus.available.rawValue == 1)
        #expect(CKAccountStatus.restricted.rawValue == 2 && CKAccountStatus.noAccount.rawValue == 3)
        #expect(CKAccountStatus.temporarilyUnavailable.rawValue == 4)
        #expect(CKSubscription.SubscriptionType.query.rawValue == 1)
        #expect(CKSubscription.SubscriptionType.recordZone.rawValue == 2)
        #expect(CKSubscription.SubscriptionType.database.rawValue == 3)
        #expect(CKNotification.NotificationType.query.rawValue == 1)
        #expect(CKNotification.NotificationType.recordZone.rawValue == 2)
        #expect(CKNotification.NotificationType.readNotification.rawValue == 3)
        #expect(CKNotification.NotificationType.database.rawValue == 4)
    }

    @Test("make ids equal, and each part of them tells ids apart")
    func equality() {
        let zone = CKRecordZone.ID(zoneName: "Z", ownerName: "_o")
        let id = CKRecord.ID(recordName: "r", zoneID: zone)
        let same = CKRecord.ID(recordName: "r", zoneID: CKRecordZone.ID(zoneName: "Z", ownerName: "_o"))
        #expect(id == same && id.hashValue == same.hashValue && Set([id, same]).count == 1)
        #expect(id != CKRecord.ID(recordName: "s", zoneID: zone))
        #expect(id != CKRecord.ID(recordName: "r", zoneID: CKRecordZone.ID(zoneName: "Y", ownerName: "_o")))
        #expect(id != CKRecord.ID(recordName: "r", zoneID: CKRecordZone.ID(zoneName: "Z")))
        #expect(CKRecordZone.ID() == CKRecordZone.ID.default)
        #expect(id.copy() as? CKRecord.ID == id)
        let none = CKRecord.Reference(recordID: id, action: .none)
        #expect(none == CKRecord.Reference(recordID: same, action: .none))
        #expect(none != CKRecord.Reference(recordID: id, action: .deleteSelf))
    }

    @Test("of users may start with an underscore, so that their records can be fetched")
    func userRecordName() {
        #expect(CKRecord.ID(recordName: "_a1b2").recordName == "_a1b2")
        #expect(CKRecord.ID(recordName: CKCurrentUserDefaultName).recordName == "__defaultOwner__")
    }

    @Test("of the current user's zones are shown with the default owner")
    func zonesOfAnswers() throws {
        let own = try #require(CKRecordZone.ID(ZoneID(name: "Z", owner: "_me"), currentUser: "_me"))
        #expect(own == CKRecordZone.ID(zoneName: "Z"))
        #expect(CKRecordZone.ID(ZoneID(name: "Z"), currentUser: "_me") == own)
        #expect(CKRecordZone.ID(ZoneID(name: "Z", owner: "_you"), currentUser: "_me")?.ownerName == "_you")
        #expect(CKRecordZone.ID(ZoneID(name: "_x"), currentUser: nil) == nil)
        #expect(CKRecordZone.ID(.defaultZone, currentUser: nil) == .default)
        #expect(own.modelID == ZoneID(name: "Z", owner: "__defaultOwner__"))
        let zone = try #require(CKRecordZone(Zone(id: ZoneID(name: "Z"), capabilities: .custom), currentUser: nil))
        #expect(zone.capabilities == [.fetchChanges, .atomic, .sharing, .zoneWideSharing])
        #expect(CKRecordZone(zoneName: "Z").capabilities == [])
        #expect(zone.share == nil && CKRecordZone(zoneName: "Z").share == nil)
    }

    @Test("of a zone that is shared as a whole lead to its share, in copies and archives, too")
    func sharedZone() throws {
        let model = Zone(id: ZoneID(name: "Z"), capabilities: .custom, isShared: true)
        let zone = try #require(CKRecordZone(model, currentUser: nil))
        for zone in [zone, try #require(zone.copy() as? CKRecordZone), try archived(zone, as: CKRecordZone.self)] {
            #expect(zone.share?.recordID == CKShare(recordZoneID: zone.zoneID).recordID)
            #expect(zone.share?.action == CKRecord.ReferenceAction.none)
        }
    }

    @Test("of tokens say nothing of their bytes")
    func tokens() {
        let token = CKServerChangeToken(bytes: [1, 2])
        #expect(token == CKServerChangeToken(bytes: [1, 2]) && token != CKServerChangeToken(bytes: [1, 3]))
        #expect(token.copy() as? CKServerChangeToken == token)
        #expect(token.description == "<CKServerChangeToken: 2 bytes>")
    }
}
