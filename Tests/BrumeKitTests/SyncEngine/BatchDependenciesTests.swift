@testable import BrumeKit
import BrumeModel
import Foundation
import Testing

@Suite("What of a batch waits for others")
struct BatchDependenciesTests {
    private func record(_ name: String, isNew: Bool = true, _ fields: [String: FieldValue] = [:]) -> CKRecord {
        if isNew { return CKRecord(recordType: "Note", recordID: Sample.id(name)) }
        let version = CKRecordState.Version(
            changeTag: "1", creator: "_ada", creationDate: nil, modifier: "_ada", modificationDate: Date())
        return CKRecord(
            recordType: "Note", recordID: Sample.id(name),
            state: CKRecordState(version: version, parent: nil, fields: fields))
    }

    private func waiting(
        _ records: [CKRecord], deleting deletions: [String] = [], behind earlier: [CKRecord] = [], for name: String
    ) -> [String] {
        let batch = CKSyncEngine.RecordZoneChangeBatch(
            recordsToSave: records, recordIDsToDelete: deletions.map { Sample.id($0) })
        return BatchDependencies(batch, behind: [.init(recordsToSave: earlier)]).waiting(for: [Sample.id(name)])
            .map(\.recordName).sorted()
    }

    @Test("is what refers to a new record with deleteSelf, alone or in a list, and not what only names it")
    func references() {
        let owned = record("owned")
        owned["of"] = CKRecord.Reference(recordID: Sample.id("a"), action: .deleteSelf)
        let listed = record("listed")
        listed["of"] = [CKRecord.Reference(recordID: Sample.id("owned"), action: .deleteSelf)]
        let named = record("named")
        named["of"] = CKRecord.Reference(recordID: Sample.id("a"), action: .none)
        #expect(waiting([named, listed, owned, record("a")], for: "a") == ["a", "listed", "owned"])
        #expect(waiting([named, listed, owned], behind: [record("a")], for: "a") == ["listed", "owned"])
        // One that is on the server may be referred to.
        #expect(waiting([named, listed, owned, record("a", isNew: false)], for: "a") == ["a"])
    }

    @Test("goes round in circles once")
    func circles() {
        let (one, two) = (record("1"), record("2"))
        one["of"] = CKRecord.Reference(recordID: Sample.id("2"), action: .deleteSelf)
        two["of"] = CKRecord.Reference(recordID: Sample.id("1"), action: .deleteSelf)
        #expect(waiting([one, two], for: "1") == ["1", "2"])
    }

    @Test("is a share with its root, and a root with its share")
    func shares() {
        let root = record("root")
        let share = CKShare(rootRecord: root, shareID: Sample.id("share"))
        #expect(waiting([root, share], for: "root") == ["root", "share"])
        #expect(waiting([root, share], for: "share") == ["root", "share"])
        #expect(waiting([share], behind: [root], for: "root") == ["share"])
    }

    @Test("is a deletion beside a record that may be moved away from what is deleted, and no other")
    func deletions() {
        let moved = record("moved", isNew: false, ["of": .reference(.init(recordName: "x", deletesSelf: true))])
        moved["of"] = CKRecord.Reference(recordID: Sample.id("y"), action: .deleteSelf)
        #expect(waiting([moved], deleting: ["x"], for: "moved") == ["moved", "x"])
        #expect(waiting([], deleting: ["x"], behind: [moved], for: "moved") == ["x"])
        let edited = record("edited", isNew: false, ["of": .reference(.init(recordName: "x", deletesSelf: true))])
        edited["title"] = "new"
        #expect(waiting([edited], deleting: ["x"], for: "edited") == ["edited"])
        #expect(waiting([record("new")], deleting: ["x"], for: "new") == ["new"])
    }

    @Test("is found in time that grows with the references, and not with the length of the chains")
    func long() {
        let records = (0..<4_000).map { record("\($0)") }
        for (index, record) in records.enumerated().dropFirst() {
            record["of"] = (max(0, index - 10)..<index).map {
                CKRecord.Reference(recordID: Sample.id("\($0)"), action: .deleteSelf)
            }
        }
        #expect(waiting(records.reversed(), for: "0").count == 4_000)
    }
}
