@testable import BrumeKit
import BrumeModel
import Foundation
import Testing

@Suite("Merging three versions of a record")
struct CKRecordMergingTests {
    private func version(_ tag: String, _ fields: [String: String], parent: String? = nil) -> CKRecord {
        let version = CKRecordState.Version(
            changeTag: tag, creator: "_ada", creationDate: Date(), modifier: "_ada", modificationDate: Date())
        return CKRecord(
            recordType: "Note", recordID: Sample.id("n"),
            state: CKRecordState(version: version, parent: parent, fields: fields.mapValues { .string($0) }))
    }

    private func fields(_ record: CKRecord) -> [String: String] {
        Dictionary(uniqueKeysWithValues: record.allKeys().map { ($0, record[$0] as! String) })
    }

    /// One field for each way in which three versions differ.
    private var versions: (ancestor: CKRecord, client: CKRecord, server: CKRecord) {
        let base = ["same": "0", "ours": "0", "theirs": "0", "both": "0", "equal": "0", "gone": "0", "lost": "0"]
        let ancestor = version("1", base)
        let client = version("1", base)
        for (key, value) in ["ours": "c", "both": "c", "equal": "1", "new": "c"] { client[key] = value }
        client["gone"] = nil
        client["lost"] = "c"
        let server = version(
            "2", ["same": "0", "ours": "0", "theirs": "s", "both": "s", "equal": "1", "gone": "0", "other": "s"])
        return (ancestor, client, server)
    }

    @Test("takes what one side changed, and the policy's side where both did")
    func policies() {
        let (ancestor, client, server) = versions
        let ours = server.merging(client, ancestor: ancestor, policy: .clientWins)
        #expect(
            fields(ours) == [
                "same": "0", "ours": "c", "theirs": "s", "both": "c", "equal": "1", "new": "c", "other": "s",
                "lost": "c",
            ])
        #expect(ours.changedKeys() == ["both", "gone", "lost", "new", "ours"])
        #expect(ours.recordChangeTag == "2")
        let theirs = server.merging(client, ancestor: ancestor, policy: .serverWins)
        #expect(
            fields(theirs) == [
                "same": "0", "ours": "c", "theirs": "s", "both": "s", "equal": "1", "new": "c", "other": "s",
            ])
        #expect(server.changedKeys().isEmpty)
    }

    @Test("asks a custom policy about each real conflict and nothing else")
    func custom() {
        let (ancestor, client, server) = versions
        let log = CKSyncEngine.ConflictLog()
        let merged = server.merging(
            client, ancestor: ancestor,
            policy: .custom { conflict in
                guard conflict.key == "both" else { return nil }
                return (conflict.ancestorValue as! String) + (conflict.clientValue as! String)
                    + (conflict.serverValue as! String)
            }, log: log)
        #expect(merged["both"] == "0cs")
        #expect(merged["lost"] as String? == nil)
        let entry = log.entries.first
        #expect(entry?.kind == .merged)
        #expect(entry?.fields.first { $0.key == "both" }?.mergedValue == "0cs")
        #expect(entry?.fields.contains { $0.key == "same" } == false)
    }

    @Test("without the ancestor counts what the client set as changed by both sides where they differ")
    func noAncestor() {
        let client = CKRecord(recordType: "Note", recordID: Sample.id("n"))
        client["text"] = "c"
        client["equal"] = "1"
        let server = version("2", ["text": "s", "equal": "1", "other": "s"])
        #expect(fields(server.merging(client, ancestor: nil)) == ["text": "c", "equal": "1", "other": "s"])
        #expect(server.merging(client, ancestor: nil).changedKeys() == ["text"])
        let theirs = server.merging(client, ancestor: nil, policy: .serverWins)
        #expect(theirs.changedKeys().isEmpty)
    }

    @Test("removes a field that the client removed and its version does not show, unless the server's values win")
    func blindRemoval() {
        for isEncrypted in [false, true] {
            func text(_ policy: CKRecord.MergePolicy, isRemoved: Bool) -> String? {
                // The client's version was made by its id, or fetched without the field.
                let client = CKRecord(recordType: "Note", recordID: Sample.id("n"))
                let ancestor = CKRecord(recordType: "Note", recordID: Sample.id("n"))
                let server = version("2", ["title": "s"])
                server.setEncryptedValue(.string("s"), forKey: "secret")
                client["title"] = "c"
                let key = isEncrypted ? "secret" : "title"
                if isRemoved, isEncrypted { client.encryptedValues[key] = nil as String? }
                if isRemoved, !isEncrypted { client[key] = nil as String? }
                let merged = server.merging(client, ancestor: ancestor, policy: policy)
                return isEncrypted ? merged.encryptedValues[key] : merged[key]
            }
            #expect(text(.clientWins, isRemoved: true) == nil)
            #expect(text(.serverWins, isRemoved: true) == "s")
            #expect(text(.custom { $0.clientValue }, isRemoved: true) == nil)
            #expect(text(.clientWins, isRemoved: false) == (isEncrypted ? "s" : "c"))
        }
    }

    @Test("goes by the bytes: a text that only looks alike is a change, and no number is another one than itself")
    func bytes() {
        let base = version("1", ["text": "e\u{301}", "number": ""])
        base["number"] = Double.nan
        let (client, server) = (base.copy() as! CKRecord, base.copy() as! CKRecord)
        client["text"] = "\u{e9}"
        server["number"] = 5.0
        let merged = server.merging(client, ancestor: base, policy: .clientWins)
        #expect((merged["text"] as String?).map { Array($0.utf8) } == Array("\u{e9}".utf8))
        #expect(merged["number"] == 5.0)
    }

    @Test("leaves a record that this device wanted to make where it wanted it, unless the server's values win")
    func parentOfNew() {
        let client = CKRecord(recordType: "Note", recordID: Sample.id("n"))
        client.encryptedValues["secret"] = "c"
        let server = version("2", [:], parent: "theirs")
        #expect(server.merging(client, ancestor: nil).parent == nil)
        #expect(server.merging(client, ancestor: nil, policy: .custom { $0.clientValue }).parent == nil)
        let theirs = server.merging(client, ancestor: nil, policy: .serverWins)
        #expect(theirs.parent?.recordID.recordName == "theirs")
        #expect(theirs.encryptedValues["secret"] as String? == nil)
    }

    @Test("merges the parent as it does a field")
    func parent() {
        func merged(_ ancestor: String?, _ client: String?, _ server: String?, _ policy: CKRecord.MergePolicy)
            -> String?
        {
            let record = version("2", [:], parent: server).merging(
                version("1", [:], parent: client), ancestor: version("1", [:], parent: ancestor), policy: policy)
            return record.parent?.recordID.recordName
        }
        #expect(merged("a", "b", "a", .serverWins) == "b")
        #expect(merged("a", "a", "b", .clientWins) == "b")
        #expect(merged("a", "b", "c", .clientWins) == "b")
        #expect(merged("a", "b", "c", .serverWins) == "c")
        #expect(merged("a", nil, "a", .serverWins) == nil)
    }

    @Test("of an error gives its three versions merged, and of another error nothing")
    func ofError() {
        let (ancestor, client, server) = versions
        let error = CKError(
            .serverRecordChanged,
            userInfo: [
                CKRecordChangedErrorAncestorRecordKey: ancestor, CKRecordChangedErrorClientRecordKey: client,
                CKRecordChangedErrorServerRecordKey: server,
            ])
        #expect(error.mergedRecord(.serverWins)?["both"] == "s")
        #expect(CKError(.zoneNotFound).mergedRecord() == nil)
    }

    @Test("is noted in a log that keeps the latest thousand, and cuts long values")
    func boundedLog() {
        let log = CKSyncEngine.ConflictLog()
        for index in 0..<1_001 {
            let client = version("1", [:])
            client["text"] = String(repeating: "x", count: index == 1_000 ? 10_000 : 1)
            _ = version("\(index)", ["text": "s"]).merging(client, ancestor: version("1", [:]), log: log)
        }
        #expect(log.entries.count == CKSyncEngine.ConflictLog.entriesMax)
        #expect(log.entries.first?.serverChangeTag == "1")
        #expect(log.entries.last!.description.count < 1_000)
        log.removeAll()
        #expect(log.description == "no conflicts")
    }

    @Test("a value that no record can have, given by a policy, fails the save of the merged record and nothing else")
    func refusedValue() {
        let id = CKRecord.ID(recordName: "r")
        let server = CKRecord(recordType: "Note", recordID: id)
        let client = CKRecord(recordType: "Note", recordID: id)
        server["n"] = 1
        client["n"] = 2
        let merged = server.merging(client, ancestor: nil, policy: .custom { _ in UInt64.max as NSNumber })
        #expect(merged["n"] as Int? == nil)
        #expect(merged.outgoing().refusal?.code == .invalidArguments)
    }
}
