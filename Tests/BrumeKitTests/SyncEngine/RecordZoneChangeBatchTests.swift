@testable import BrumeKit
import BrumeLock
import BrumeModel
import BrumeProtocol
import Foundation
import Testing

@Suite("A batch of changes")
struct RecordZoneChangeBatchTests {
    private func record(_ id: CKRecord.ID, bytes: Int = 10) -> CKRecord {
        let record = CKRecord(recordType: "Note", recordID: id)
        record["text"] = String(repeating: "x", count: bytes)
        return record
    }

    @Test("goes through the changes in order, once for each record, and leaves out what there is no record for")
    func order() async {
        let asked = Lock<[String]>([])
        let changes = [Sample.save("a"), Sample.delete("b"), Sample.save("gone"), Sample.save("a"), Sample.save("c")]
        let batch = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { id in
            asked.withLock { $0.append(id.recordName) }
            return id.recordName == "gone" ? nil : record(id)
        }
        #expect(batch?.recordsToSave.map(\.recordID.recordName) == ["a", "c"])
        #expect(batch?.recordIDsToDelete.map(\.recordName) == ["b"])
        #expect(batch?.atomicByZone == false)
        #expect(asked.withLock { $0 } == ["a", "gone", "c"])
    }

    @Test("leaves out a record that has another id than was asked for, its zone included")
    func otherRecord() async {
        let changes = [Sample.save("a"), Sample.save("b")]
        let batch = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { id in
            record(id.recordName == "a" ? CKRecord.ID(recordName: "a") : id)
        }
        #expect(batch?.recordsToSave.map(\.recordID) == [Sample.save("b").recordID])
    }

    @Test("is none when there is nothing to send")
    func nothing() async {
        #expect(await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: []) { _ in nil } == nil)
        #expect(await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: [Sample.save("a")]) { _ in nil } == nil)
    }

    @Test("ends at 400 items and at 2 MB, but holds a record that is too large by itself alone")
    func limits() async {
        let many = (0..<401).map { $0 % 2 == 0 ? Sample.save("n\($0)") : Sample.delete("n\($0)") }
        let full = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: many) { record($0) }
        #expect(full.map { $0.recordsToSave.count + $0.recordIDsToDelete.count } == 400)
        let large = (0..<5).map { Sample.save("n\($0)") }
        let two = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: large) { record($0, bytes: 900_000) }
        #expect(two?.recordsToSave.count == 2)
        let one = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: large) { record($0, bytes: 3_000_000) }
        #expect(one?.recordsToSave.count == 1)
    }

    @Test("has no more files than a request may have receipts, and room for what they become")
    func files() async {
        let changes = (0..<400).map { Sample.save("n\($0)") }
        let several = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { id in
            let record = record(id)
            record["pages"] = (0..<11).map { CKAsset(fileURL: URL(fileURLWithPath: "/pages/\($0)")) }
            return record
        }
        #expect(several?.recordsToSave.count == Limits.receiptsPerRequest / 11)
        let large = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { id in
            let record = record(id, bytes: 900_000)
            record["pages"] = (0..<1_000).map { CKAsset(fileURL: URL(fileURLWithPath: "/pages/\($0)")) }
            return record
        }
        #expect(large?.recordsToSave.count == 1)
    }

    @Test("has room for a few large records of which little is sent, since the server saves each of them whole")
    func storedBytes() async throws {
        /// A record as the server has it, and one field that is to be sent.
        @Sendable func stored(_ id: CKRecord.ID, byteCount: Int) -> CKRecord? {
            let record = CKRecord.make(
                Record(
                    system: SystemFields(name: id.recordName, type: "Note", changeTag: "1"),
                    fields: ["text": .string(String(repeating: "x", count: byteCount))]),
                zoneID: id.zoneID, context: AnswerContext(currentUser: nil))
            record?["done"] = true
            return record
        }
        let changes = (0..<400).map { Sample.save("n\($0)") }
        let large = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { stored($0, byteCount: 900_000) }
        #expect(large?.recordsToSave.count == 3)
        let usual = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { stored($0, byteCount: 5_000) }
        #expect(usual?.recordsToSave.count == 400, "as many as ever")
    }

    @Test("never has more bytes than it reckons with, whatever the values are")
    func size() {
        let id = Sample.id(String(repeating: "n", count: 255))
        let record = CKRecord(recordType: "Note", recordID: id)
        record["text"] = "ä€😀"
        record["int"] = Int64.min
        record["double"] = -0.1
        record["date"] = Date(timeIntervalSince1970: -1e9)
        record["data"] = Data(count: 1_000)
        record["place"] = CLLocation(latitude: 1.5, longitude: -2.25)
        record["reference"] = CKRecord.Reference(recordID: id, action: .deleteSelf)
        record["texts"] = Array(repeating: "é", count: 200)
        record["ints"] = Array(repeating: Int64.min, count: 200)
        record["doubles"] = Array(repeating: 0.1, count: 200)
        record["datas"] = Array(repeating: Data(count: 3), count: 50)
        record["places"] = Array(repeating: CLLocation(latitude: 1.5, longitude: -2.25), count: 50)
        record["references"] = Array(repeating: CKRecord.Reference(recordID: id, action: .none), count: 50)
        record.setParent(id)
        let outgoing = record.outgoing()
        let message = CoderPool.with { coder in
            coder.encodeModifyRecordsRequest(
                .init(
                    database: .private, savePolicy: .ifServerRecordUnchanged, isAtomic: false, operationID: [],
                    zones: [
                        .init(
                            zone: .init(name: "A", owner: ""), saves: [outgoing.save(policy: .ifServerRecordUnchanged)],
                            deletions: [])
                    ]))
        }
        #expect(message.count < outgoing.savedBytesMax + 255 + 64)
        #expect(outgoing.savedBytesMax < 3 * message.count)
    }
}
