@testable import BrumeKit
import BrumeModel
import BrumeTestKit
import Foundation
import Testing

@Suite("An encrypted value that is not open here")
struct SealedFieldTests {
    private static let sealed = EncryptedSamples.value()
    private static let list = EncryptedSamples.value(.strings)

    private static func fetched() throws -> CKRecord {
        try CKRecordTests.fetched(["title": .string("x"), "secret": sealed, "secrets": list])
    }

    private func archived(_ record: CKRecord) throws -> CKRecord {
        let data = try NSKeyedArchiver.archivedData(withRootObject: record, requiringSecureCoding: true)
        return try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data))
    }

    @Test("is no field of the record, whichever way an app looks")
    func absent() throws {
        let record = try Self.fetched()
        #expect(record.allKeys() == ["title"] && record.changedKeys() == [])
        #expect(record["secret"] == nil && record.object(forKey: "secrets") == nil)
        #expect(record.encryptedValues.allKeys() == [] && record.encryptedValues["secret"] == nil)
        #expect(record.allTokens() == ["x"])
    }

    @Test("is not sent, and not removed, by a save of other fields", arguments: [SavePolicy.changedKeys, .allKeys])
    func saves(policy: SavePolicy) throws {
        let record = try Self.fetched()
        record["title"] = "y"
        #expect(record.outgoing().save(policy: policy).fields == ["title": .string("y")])
        // To remove it by the name of a plain field takes the keys as well.
        record["secret"] = nil
        let outgoing = record.outgoing()
        #expect(outgoing.save(policy: policy).fields == ["title": .string("y")] && outgoing.needsKeys(policy))
        #expect(record.sealedFields.keys.sorted() == ["secret", "secrets"])
    }

    @Test("is kept by an archive, a copy, and an answer that leaves the fields out")
    func kept() throws {
        let record = try Self.fetched()
        let expected: [String: FieldValue] = ["secret": Self.sealed, "secrets": Self.list]
        for other in [try archived(record), try #require(record.copy() as? CKRecord)] {
            #expect(other.sealedFields.mapValues { FieldValue.encrypted($0) } == expected)
            #expect(other.allKeys() == ["title"])
        }
        record["title"] = "y"
        let outgoing = record.outgoing()
        let saved = Record(system: SystemFields(name: "n1", type: "Note", changeTag: "2-a"))
        record.applySaved(saved, fieldsOmitted: true, of: outgoing, context: AnswerContext(currentUser: "_me"))
        #expect(record.sealedFields.mapValues { FieldValue.encrypted($0) } == expected)
        // One that came with the answer takes its place.
        let newer = EncryptedSamples.value(contentBytes: 100)
        let answer = Record(system: saved.system, fields: ["title": .string("z"), "secret": newer])
        record.applySaved(
            answer, fieldsOmitted: false, of: record.outgoing(), context: AnswerContext(currentUser: "_me"))
        #expect(record.sealedFields.mapValues { FieldValue.encrypted($0) } == ["secret": newer])
        #expect(record["title"] == "z")
    }

    @Test("is an encrypted asset as well: no asset, and no encrypted value, and kept by saves, archives and copies")
    func assets() throws {
        let asset = RecordSamples.asset(1, byteCount: 136)
        let sealed = ["file": EncryptedSamples.asset(asset), "files": EncryptedSamples.assets([asset, asset])]
        let record = try CKRecordTests.fetched(sealed.merging(["title": .string("x")]) { $1 })
        #expect(record.allKeys() == ["title"] && record["file"] == nil && record["files"] == nil)
        #expect(record.encryptedValues.allKeys() == [] && record.unreadableFields.keys.sorted() == ["file", "files"])
        record["title"] = "y"
        for policy in [SavePolicy.changedKeys, .allKeys] {
            #expect(record.outgoing().save(policy: policy).fields == ["title": .string("y")])
        }
        for other in [try archived(record), try #require(record.copy() as? CKRecord)] {
            #expect(other.sealedFields.mapValues { FieldValue.encrypted($0) } == sealed)
            #expect(other.allKeys() == ["title"] && other["file"] == nil)
        }
        // An app that sets the field decides that it is another one from now on.
        record["file"] = "a text"
        #expect(record.outgoing().save(policy: .changedKeys).fields["file"] == .string("a text"))
        #expect(record.unreadableFields.keys.sorted() == ["files"])
    }

    @Test("in a place of an archive where none belongs makes the archive unreadable")
    func hostileArchive() throws {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n"))
        record.updateState { $0.set(Self.sealed, forKey: "title") }
        let data = try NSKeyedArchiver.archivedData(withRootObject: record, requiringSecureCoding: true)
        #expect((try? NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data)) == nil)
    }

    @Test("in a notification, where no server of ours puts one, is left out")
    func notification() throws {
        let change = RecordChange(
            database: .private, zone: ZoneID(name: "Notes"), recordName: "n", reason: .created,
            fields: ["title": .string("x"), "secret": Self.sealed])
        var info = NotificationInfo()
        info.desiredKeys = ["title", "secret"]
        let event = NotificationEvent(
            position: [1], notificationID: "n", subscriptionID: "s", notificationInfo: info,
            kind: .recordChanged(change), committedMilliseconds: 0)
        let notification = try #require(
            CKNotification(event, containerIdentifier: "iCloud.a", currentUser: "_me") as? CKQueryNotification)
        #expect(notification.recordFields?.keys.sorted() == ["title"])
        #expect(CKNotification(fromRemoteNotificationDictionary: notification.userInfo) == notification)
    }
}
