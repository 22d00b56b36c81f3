import BrumeKit
import BrumeModel
import Foundation
import Testing

@Suite("An archive under secure coding")
struct ArchiveTests {
    private func roundTrip<Object: NSObject & NSSecureCoding>(_ object: Object, as type: Object.Type = Object.self)
        throws -> Object
    {
        let data = try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: true)
        return try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: type, from: data))
    }

    static let zoneID = CKRecordZone.ID(zoneName: "Notes", ownerName: "_owner")

    @Test("keeps ids, references, zones, tokens and locations")
    func values() throws {
        let recordID = CKRecord.ID(recordName: "n1", zoneID: Self.zoneID)
        #expect(try roundTrip(Self.zoneID) == Self.zoneID)
        #expect(try roundTrip(recordID) == recordID)
        let reference = CKRecord.Reference(recordID: recordID, action: .deleteSelf)
        #expect(try roundTrip(reference) == reference)
        let zone = CKRecordZone(zoneID: Self.zoneID, capabilities: [.atomic, .fetchChanges])
        #expect(try roundTrip(zone).zoneID == Self.zoneID)
        #expect(try roundTrip(zone).capabilities == [.atomic, .fetchChanges])
        let token = CKServerChangeToken(bytes: [0, 1, 255])
        #expect(try roundTrip(token) == token)
        let place = CLLocation(
            coordinate: CLLocationCoordinate2D(latitude: 1.5, longitude: -2.5), altitude: 3, horizontalAccuracy: 4,
            verticalAccuracy: 5, course: 6, speed: 7, timestamp: Date(timeIntervalSinceReferenceDate: 0.1))
        #expect(try roundTrip(place) == place)
    }

    @Test("keeps subscriptions of both kinds with all that they say")
    func subscriptions() throws {
        let info = SubscriptionTests.fullInfo()
        #expect(try roundTrip(info) == info)
        let zone = CKRecordZoneSubscription(zoneID: Self.zoneID, subscriptionID: "z")
        zone.recordType = "Note"
        zone.notificationInfo = info
        let zoneAgain = try roundTrip(zone)
        #expect(zoneAgain.subscriptionID == "z" && zoneAgain.subscriptionType == .recordZone)
        #expect(zoneAgain.zoneID == Self.zoneID && zoneAgain.recordType == "Note")
        #expect(zoneAgain.notificationInfo == info)
        let database = CKDatabaseSubscription(subscriptionID: "d")
        let databaseAgain = try roundTrip(database)
        #expect(databaseAgain.subscriptionID == "d" && databaseAgain.subscriptionType == .database)
        #expect(databaseAgain.recordType == nil && databaseAgain.notificationInfo == nil)
        #expect(try roundTrip(zone as CKSubscription) is CKRecordZoneSubscription)
    }

    @Test("keeps a whole record: fields of every kind, changed keys, and the ancestor")
    func wholeRecord() throws {
        let place = Location(latitude: 1, longitude: 2, timestamp: 3)
        let reference = Reference(recordName: "r", deletesSelf: true)
        let fields: [String: FieldValue] = [
            "string": .string("ä\u{0}"), "int": .int64(.min), "big": .int64(.max), "whole": .double(2),
            "half": .double(0.5),
            "bytes": .bytes([0, 255]), "date": .date(0.1 + 0.2), "place": .location(place),
            "ref": .reference(reference),
            "strings": .strings(["a", ""]), "ints": .int64s([1, .max]), "doubles": .doubles([1, 2]),
            "datas": .bytesList([[], [1]]), "dates": .dates([0.5]), "places": .locations([place]),
            "refs": .references([reference]), "empty": .emptyList,
        ]
        let record = try CKRecordTests.fetched(fields, parent: "p")
        record["string"] = "edited"
        record["half"] = nil
        let again = try roundTrip(record)
        #expect(again.recordID == record.recordID && again.recordType == record.recordType)
        #expect(again.recordChangeTag == "1-a" && again.parent == record.parent)
        #expect(again.creationDate == record.creationDate && again.modificationDate == record.modificationDate)
        #expect(again.creatorUserRecordID == record.creatorUserRecordID)
        #expect(again.lastModifiedUserRecordID == record.lastModifiedUserRecordID)
        #expect(again.changedKeys() == ["half", "string"])
        #expect(again.outgoing().save(policy: .allKeys) == record.outgoing().save(policy: .allKeys))
        #expect(again.outgoing().save(policy: .changedKeys) == record.outgoing().save(policy: .changedKeys))
        let ancestor = try #require(again.outgoing().ancestorRecord())
        var kept = ancestor.outgoing().save(policy: .allKeys).fields
        #expect(kept.removeValue(forKey: "half") == .double(0.5))
        #expect(kept == (fields as DecodedFields).filter { $0.key != "half" })
    }

    @Test("of a new record keeps what is set")
    func newRecord() throws {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n"))
        record["title"] = "x"
        record.setParent(CKRecord.ID(recordName: "p"))
        let again = try roundTrip(record)
        #expect(again.recordChangeTag == nil && again.changedKeys() == ["title"])
        #expect(again.outgoing().save(policy: .changedKeys) == record.outgoing().save(policy: .changedKeys))
        #expect(again.outgoing().ancestorRecord() == nil)
    }

    @Test("of the system fields holds no field, no changed key and no ancestor")
    func systemFields() throws {
        let record = try CKRecordTests.fetched(["secretkey": .string("secretvalue")], parent: "p")
        record["edited"] = "secretedit"
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: archiver)
        archiver.finishEncoding()
        let data = archiver.encodedData
        for secret in ["secretkey", "secretvalue", "edited", "secretedit"] {
            #expect(data.range(of: Data(secret.utf8)) == nil, "\(secret)")
        }
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
        unarchiver.requiresSecureCoding = true
        let restored = try #require(CKRecord(coder: unarchiver))
        #expect(restored.recordID == record.recordID && restored.recordType == "Note")
        #expect(restored.recordChangeTag == "1-a" && restored.parent == record.parent)
        #expect(restored.creationDate == record.creationDate)
        #expect(restored.creatorUserRecordID == record.creatorUserRecordID)
        #expect(restored.allKeys().isEmpty && restored.changedKeys().isEmpty)
        #expect(restored.outgoing().ancestorRecord() == nil)
        restored["title"] = "again"
        let save = restored.outgoing().save(policy: .ifServerRecordUnchanged)
        #expect(save.changeTag == "1-a" && save.fields == ["title": .string("again")] && save.parent == .unchanged)
    }

    @Test("without what makes a record, an id or a token gives none")
    func emptyArchive() throws {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        archiver.encode("x" as NSString, forKey: "Unrelated")
        archiver.finishEncoding()
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
        unarchiver.requiresSecureCoding = true
        #expect(CKRecord(coder: unarchiver) == nil)
        #expect(CKRecord.ID(coder: unarchiver) == nil)
        #expect(CKRecordZone.ID(coder: unarchiver) == nil)
        #expect(CKRecordZone(coder: unarchiver) == nil)
        #expect(CKRecord.Reference(coder: unarchiver) == nil)
        #expect(CKServerChangeToken(coder: unarchiver) == nil)
        #expect(CKDatabaseSubscription(coder: unarchiver) == nil)
        #expect(CKRecordZoneSubscription(coder: unarchiver) == nil)
        #expect(CLLocation(coder: unarchiver) == nil)
        #expect(CKNotification.ID(coder: unarchiver) == nil)
    }

    @Test("keeps the kinds of equal numbers apart")
    func equalNumbers() throws {
        let record = CKRecord(recordType: "Note")
        record["a"] = 2
        record["b"] = 2.0
        record["c"] = true
        record["d"] = Date(timeIntervalSinceReferenceDate: 2)
        let fields = try roundTrip(record).outgoing().save(policy: .allKeys).fields
        #expect(fields == ["a": .int64(2), "b": .double(2), "c": .int64(1), "d": .date(2)])
    }

    @Test("with damaged fields gives no record, rather than one that lost them")
    func damagedFields() throws {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        CKRecord(recordType: "Note").encodeSystemFields(with: archiver)
        archiver.encode(Data([0x7A, 0x05, 0xFF]) as NSData, forKey: "Fields")
        archiver.finishEncoding()
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
        unarchiver.requiresSecureCoding = true
        #expect(CKRecord(coder: unarchiver) == nil)
    }

    @Test("with names that nothing can have gives none")
    func hostileArchive() throws {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        archiver.encode("_hidden" as NSString, forKey: "ZoneName")
        archiver.encode("o" as NSString, forKey: "OwnerName")
        archiver.encode("" as NSString, forKey: "RecordName")
        archiver.encode(Self.zoneID, forKey: "ZoneID")
        archiver.finishEncoding()
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
        unarchiver.requiresSecureCoding = true
        #expect(CKRecordZone.ID(coder: unarchiver) == nil)
        #expect(CKRecord.ID(coder: unarchiver) == nil)
    }
}
