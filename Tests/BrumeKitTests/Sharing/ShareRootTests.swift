@testable import BrumeKit
import BrumeModel
import Testing

@Suite("The root of a share")
struct ShareRootTests {
    private static let zone = ShareSamples.zone

    private static func saved(_ tag: String, share: String?) -> Record {
        Record(system: SystemFields(name: "l", type: "List", changeTag: tag), share: share)
    }

    private static func fetched(share: String?) throws -> CKRecord {
        try #require(CKRecord.make(saved("1", share: share), zoneID: zone, context: ShareSamples.context))
    }

    private static func answer(_ record: CKRecord, _ tag: String, share: String?, of outgoing: OutgoingRecord? = nil) {
        record.applySaved(
            saved(tag, share: share), fieldsOmitted: true, of: outgoing ?? record.outgoing(),
            context: ShareSamples.context)
    }

    @Test("is what the server says, until it says otherwise")
    func server() throws {
        let root = try Self.fetched(share: "share")
        #expect(root.share?.recordID == CKRecord.ID(recordName: "share", zoneID: Self.zone))
        #expect(try archived(root, as: CKRecord.self).share == root.share)
        #expect(root.outgoing().ancestorRecord()?.share == root.share)
        #expect(root.outgoing().clientRecord().share == root.share)
        Self.answer(root, "2", share: nil)
        #expect(root.share == nil, "the share was deleted")
        let read = try archived(try Self.fetched(share: "share"), as: CKRecord.self)
        Self.answer(read, "2", share: nil)
        #expect(read.share == nil, "an archive tells what the server said from what was made here")
    }

    @Test("keeps a share that was made here until the share has been saved")
    func local() throws {
        let root = try Self.fetched(share: nil)
        let share = CKShare(rootRecord: root)
        root["title"] = "Groceries"
        Self.answer(root, "2", share: nil)
        #expect(root.share?.recordID == share.recordID, "the root was saved alone")
        let read = try archived(root, as: CKRecord.self)
        Self.answer(read, "3", share: nil)
        #expect(read.share?.recordID == share.recordID, "archives know that it is not saved")
        Self.answer(root, "3", share: share.recordID.recordName)
        #expect(root.share?.recordID == share.recordID)
        Self.answer(root, "4", share: nil)
        #expect(root.share == nil, "it was saved, and then deleted")
    }

    @Test("keeps a share that was made while an older save was on its way, whatever that one's answer says")
    func overtaken() throws {
        let root = try Self.fetched(share: "old")
        let outgoing = root.outgoing()
        let share = CKShare(rootRecord: root)
        Self.answer(root, "2", share: "old", of: outgoing)
        #expect(root.share?.recordID == share.recordID)
        Self.answer(root, "3", share: share.recordID.recordName)
        #expect(root.share?.recordID == share.recordID)
    }

    @Test("shows the share of another device that was first")
    func otherDevice() throws {
        let root = try Self.fetched(share: nil)
        _ = CKShare(rootRecord: root)
        Self.answer(root, "2", share: "theirs")
        #expect(root.share?.recordID.recordName == "theirs")
    }

    @Test("keeps the share through a merge with the server's version, where that has none")
    func merge() throws {
        let root = try Self.fetched(share: nil)
        let share = CKShare(rootRecord: root)
        let server = try Self.fetched(share: nil)
        let ancestor = root.outgoing().ancestorRecord()
        #expect(server.merging(root, ancestor: ancestor).share?.recordID == share.recordID)
        let shared = try Self.fetched(share: "theirs")
        #expect(shared.merging(root, ancestor: ancestor).share?.recordID.recordName == "theirs")
    }

    @Test("says of no edit of the record that the share is one")
    func noEdit() throws {
        let root = try Self.fetched(share: nil)
        _ = CKShare(rootRecord: root)
        #expect(root.changedKeys().isEmpty)
        #expect(root.outgoing().save(policy: .ifServerRecordUnchanged).fields.isEmpty)
        #expect(root.outgoing().shareSave == nil)
    }
}
