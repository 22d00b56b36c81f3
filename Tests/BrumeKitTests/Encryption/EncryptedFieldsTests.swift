import BrumeEncryption
import BrumeModel
import Foundation
import Testing

@testable import BrumeKit

@Suite("Encrypted fields of a record")
struct EncryptedFieldsTests {
    private let zone: EncryptedZone

    init() throws { zone = try EncryptedZone() }

    /// A record with a plain field, encrypted ones that are open, and one that is not.
    private func fetched(tag: String = "1") throws -> CKRecord {
        zone.fetched(
            [
                "title": .string("plain"), "a": .encrypted(try zone.seal(.string("a"), field: "a")),
                "b": .encrypted(try zone.seal(.int64(1), field: "b")), "closed": try zone.spoiled(),
            ], tag: tag)
    }

    private func archived(_ record: CKRecord) throws -> CKRecord {
        let data = try NSKeyedArchiver.archivedData(withRootObject: record, requiringSecureCoding: true)
        return try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data))
    }

    // MARK: Saving

    @Test(
        "that can't be read are sent by no save that does not set or remove them",
        arguments: [SavePolicy.ifServerRecordUnchanged, .changedKeys, .allKeys])
    func unreadable(policy: SavePolicy) throws {
        let record = try fetched()
        #expect(record.unreadableFields == ["closed": .damaged])
        record["title"] = "new"
        record.encryptedValues["a"] = "new"
        for other in [record, try archived(record), try #require(record.copy() as? CKRecord)] {
            let sent = try zone.sent(other, policy)
            #expect(sent.keys.sorted() == (policy == .allKeys ? ["a", "b", "title"] : ["a", "title"]))
        }
        record.encryptedValues["closed"] = nil
        let removal = try zone.sent(record, policy)
        #expect(removal.keys.contains("closed") && removal["closed"] == .some(nil))
        record.encryptedValues["closed"] = "anew"
        guard case .encrypted(let anew)?? = try zone.sent(record, policy)["closed"] else {
            Issue.record("it is set"); return
        }
        #expect(zone.open(["closed": .encrypted(anew)]).values == ["closed": .string("anew")])
    }

    @Test("that are removed are gone once the server has taken it, also one that can't be read")
    func removal() throws {
        let record = try fetched()
        record.encryptedValues["closed"] = nil
        record.encryptedValues["a"] = nil
        #expect(record.unreadableFields.isEmpty && record.encryptedValues.changedKeys() == ["a", "closed"])
        try answer(to: zone.outgoing(record), of: record)
        #expect(record.sealedFields.keys.sorted() == ["b"] && record.encryptedValues.allKeys() == ["b"])
        #expect(record.unreadableFields.isEmpty && record.encryptedValues.changedKeys().isEmpty)
    }

    /// The server has what was sent, and leaves the fields out of its answer.
    private func answer(to outgoing: OutgoingRecord, of record: CKRecord) throws {
        let saved = Record(system: SystemFields(name: "page", type: "Page", changeTag: "2"))
        record.applySaved(
            saved, fieldsOmitted: true, of: outgoing, context: AnswerContext(currentUser: "_ada"))
    }

    /// The server answers with all that it has.
    private func answer(
        to outgoing: OutgoingRecord, of record: CKRecord, with fields: [String: FieldValue]
    ) {
        let saved = Record(system: SystemFields(name: "page", type: "Page", changeTag: "2"), fields: fields)
        record.applySaved(
            saved, fieldsOmitted: false, of: outgoing, context: AnswerContext(currentUser: "_ada"),
            opened: zone.open(fields))
    }

    @Test("that are edited while a save is on its way stay edits, whatever the answer holds")
    func editsMeanwhile() throws {
        for isOmitted in [true, false] {
            let record = try fetched()
            record.encryptedValues["a"] = "sent"
            record.encryptedValues["b"] = 2
            let outgoing = try zone.outgoing(record)
            record.encryptedValues["a"] = "later"
            record.encryptedValues["closed"] = "later"
            if isOmitted {
                try answer(to: outgoing, of: record)
            } else {
                answer(to: outgoing, of: record, with: outgoing.sent.fieldsWithSealed)
            }
            #expect(record.recordChangeTag == "2" && record.encryptedValues.changedKeys() == ["a", "closed"])
            #expect(record.encryptedValues["a"] == "later" && record.encryptedValues["closed"] == "later")
            #expect(record.encryptedValues["b"] == 2 && record.unreadableFields.isEmpty)
            #expect(record.snapshot.base?.encrypted.values["a"] == .string("sent"))
            #expect(try zone.sent(record).keys.sorted() == ["a", "closed"])
            // The value that the save sent is no change any more.
            record.encryptedValues["b"] = 2
            #expect(try zone.sent(record)["b"] == record.sealedFields["b"].map { .encrypted($0) })
        }
    }

    @Test("are one with plain fields of their key: what was set last is what the record has and sends")
    func plainAndEncrypted() throws {
        let record = try fetched()
        record.encryptedValues["title"] = "secret"
        #expect(record["title"] == nil && record.encryptedValues["title"] == "secret")
        record["a"] = "plain"
        #expect(record.encryptedValues["a"] == nil && record["a"] == "plain")
        record["closed"] = "plain"
        #expect(record.unreadableFields.isEmpty)
        for other in [record, try archived(record)] {
            #expect(other.allKeys() == ["a", "closed"] && other.encryptedValues.allKeys() == ["b", "title"])
            let sent = try zone.sent(other, .allKeys)
            #expect(sent["a"] == .some(.string("plain")) && sent["closed"] == .some(.string("plain")))
            guard case .encrypted?? = sent["title"], case .encrypted?? = sent["b"] else {
                Issue.record("they are encrypted"); return
            }
        }
        record.encryptedValues["a"] = "secret"
        record["title"] = "plain"
        #expect(record["a"] == nil && record.encryptedValues["a"] == "secret")
        #expect(record["title"] == "plain" && record.encryptedValues["title"] == nil)
        let sent = try zone.sent(record)
        #expect(sent["title"] == .some(.string("plain")))
        guard case .encrypted?? = sent["a"] else { Issue.record("it is encrypted"); return }
    }

    @Test("are one with plain fields of their key also where the other was set while a save was on its way")
    func plainAndEncryptedMeanwhile() throws {
        for isOmitted in [true, false] {
            let record = try fetched()
            record["title"] = "sent"
            record.encryptedValues["a"] = "sent"
            let outgoing = try zone.outgoing(record)
            record.encryptedValues["title"] = "later"
            record["a"] = "later"
            if isOmitted {
                try answer(to: outgoing, of: record)
            } else {
                answer(to: outgoing, of: record, with: outgoing.sent.fieldsWithSealed)
            }
            #expect(record["title"] == nil && record.encryptedValues["title"] == "later")
            #expect(record["a"] == "later" && record.encryptedValues["a"] == nil)
            #expect(record.changedKeys() == ["a"] && record.encryptedValues.changedKeys() == ["title"])
        }
    }

    @Test("are sent as the same bytes where nothing changed, and anew with another key or in another tree")
    func sameBytes() throws {
        let record = try fetched()
        record.encryptedValues["a"] = "a"
        #expect(try zone.sent(record)["a"] == record.sealedFields["a"].map { .encrypted($0) })
        #expect(try zone.sent(record, root: "shelf")["a"] != record.sealedFields["a"].map { .encrypted($0) })
        let all = try zone.sent(record, .allKeys)
        #expect(all["b"] == record.sealedFields["b"].map { .encrypted($0) } && all["closed"] == nil)
    }

    @Test("that are encrypted again for another tree are sent, but for those that the save sets or removes")
    func moved() throws {
        let record = try fetched()
        record.encryptedValues["a"] = nil
        record.encryptedValues["b"] = 2
        let sent = try zone.sent(
            record, root: "shelf", moved: ["a": .string("a"), "b": .int64(1), "other": .string("other")])
        #expect(sent.keys.sorted() == ["a", "b", "other"] && sent["a"] == .some(nil))
        let opened = zone.open(sent.compactMapValues { $0 })
        #expect(opened.values == ["b": .int64(2), "other": .string("other")])
    }

    // MARK: Archives and copies

    @Test("are kept by an archive and a copy with their values, edits and reasons, and the ancestor's")
    func kept() throws {
        let record = try fetched()
        record.encryptedValues["a"] = "edited"
        record.encryptedValues["b"] = nil
        record.encryptedValues["new"] = "new"
        let state = record.snapshot.encrypted
        for other in [try archived(record), try archived(archived(record)), try #require(record.copy() as? CKRecord)] {
            let kept = other.snapshot.encrypted
            #expect(kept.values == state.values && kept.sealed == state.sealed && kept.unreadable == state.unreadable)
            #expect(kept.edits.keys.sorted() == ["a", "b", "new"])
            #expect(other.unreadableFields == ["closed": .damaged])
            let base = try #require(other.snapshot.base?.encrypted)
            #expect(base.values == ["a": .string("a"), "b": .int64(1)] && base.edits.isEmpty)
            #expect(base.unreadable.keys.sorted() == ["closed"] && base.sealed["closed"] == state.sealed["closed"])
            let ancestor = try #require(other.outgoing().ancestorRecord())
            #expect(ancestor.encryptedValues["a"] == "a" && ancestor.encryptedValues["b"] == 1)
            #expect(ancestor.unreadableFields.keys.sorted() == ["closed"] && ancestor["closed"] == nil)
        }
    }

    // MARK: Merging

    /// What the three versions of a field are: nil where there is none.
    private enum Version: Equatable {
        case value(String)
        /// One that can't be read here; those with one number are the same bytes.
        case closed(Int)
    }

    private final class Bytes {
        var closed: [Int: FieldValue] = [:]
    }

    private let bytes = Bytes()

    private func fields(_ version: Version?) throws -> [String: FieldValue] {
        switch version {
        case nil: return [:]
        case .value(let text): return ["secret": .encrypted(try zone.seal(.string(text)))]
        case .closed(let number):
            let value = try bytes.closed[number] ?? zone.spoiled()
            bytes.closed[number] = value
            return ["secret": value]
        }
    }

    private typealias Edit = @Sendable (CKRecord) -> Void

    /// What a merge made of the field: what the merged record shows of it, and whether a save sends it.
    private struct Merged: Equatable {
        var value: String?
        var isClosed = false
        var isSent = false
    }

    private func merged(
        _ ancestor: Version?, _ edit: Edit?, _ server: Version?, _ policy: CKRecord.MergePolicy,
        isAncestorKnown: Bool = true
    ) throws -> Merged {
        let client = zone.fetched(try fields(ancestor))
        edit?(client)
        let base = try #require(client.outgoing().ancestorRecord())
        let theirs = zone.fetched(try fields(server), tag: "2")
        let merged = theirs.merging(client, ancestor: isAncestorKnown ? base : nil, policy: policy)
        #expect(merged.sealedFields == theirs.sealedFields && merged.recordChangeTag == "2")
        return Merged(
            value: merged.encryptedValues["secret"] as? String, isClosed: merged.unreadableFields["secret"] != nil,
            isSent: try zone.sent(merged).keys.contains("secret"))
    }

    private static let sets: Edit = { $0.encryptedValues["secret"] = "ours" }
    private static let removes: Edit = { $0.encryptedValues["secret"] = nil }

    private static let policies: [CKRecord.MergePolicy] = [.clientWins, .serverWins, .custom { _ in "asked" }]

    @Test("that nobody changed here are the server's after a merge, whether they can be read or not")
    func mergingTheirs() throws {
        let versions: [Version?] = [nil, .value("old"), .value("new"), .closed(1), .closed(2)]
        for policy in Self.policies {
            for ancestor in versions {
                for server in versions {
                    let value: String? = if case .value(let text) = server { text } else { nil }
                    let isClosed = if case .closed = server { true } else { false }
                    #expect(
                        try merged(ancestor, nil, server, policy) == Merged(value: value, isClosed: isClosed),
                        "\(String(describing: ancestor)), \(String(describing: server))")
                }
            }
        }
    }

    @Test("that were set or removed here alone are this device's after a merge, also where they could not be read")
    func mergingOurs() throws {
        for policy in Self.policies {
            for version in [nil, .value("old"), .closed(1)] as [Version?] {
                #expect(try merged(version, Self.sets, version, policy) == Merged(value: "ours", isSent: true))
            }
            for version in [.value("old"), .closed(1)] as [Version] {
                #expect(try merged(version, Self.removes, version, policy) == Merged(isSent: true))
            }
        }
    }

    @Test("that both sides changed are the policy's, also where the server's can't be read")
    func mergingBoth() throws {
        let edits = [(Self.sets, "ours"), (Self.removes, nil)] as [(Edit, String?)]
        for ancestor in [nil, .value("old"), .closed(1)] as [Version?] {
            // Nothing can be removed that was not there.
            for (edit, ours) in edits where ancestor != nil || ours != nil {
                #expect(try merged(ancestor, edit, .closed(2), .clientWins) == Merged(value: ours, isSent: true))
                #expect(try merged(ancestor, edit, .closed(2), .serverWins) == Merged(isClosed: true))
                let both = try merged(ancestor, edit, .closed(2), .custom { _ in "both" })
                #expect(both == Merged(value: "both", isSent: true))
                // A policy that gives back what the server has does not remove what can't be read.
                #expect(
                    try merged(ancestor, edit, .closed(2), .custom { $0.serverValue }) == Merged(isClosed: true))
                let read = try merged(ancestor, edit, .value("theirs"), .clientWins)
                #expect(read == Merged(value: ours, isSent: true))
                #expect(try merged(ancestor, edit, .value("theirs"), .serverWins) == Merged(value: "theirs"))
            }
            let sets = try merged(ancestor, Self.sets, .closed(2), .clientWins, isAncestorKnown: false)
            #expect(sets == Merged(value: "ours", isSent: true))
            let removes = try merged(ancestor, Self.removes, .closed(2), .clientWins, isAncestorKnown: false)
            #expect(removes == Merged(isSent: true))
            let theirs = try merged(ancestor, Self.removes, .closed(2), .serverWins, isAncestorKnown: false)
            #expect(theirs == Merged(isClosed: true))
        }
    }

    @Test("for which a policy gives a reference or an asset make the merged record one that can't be saved")
    func refusedByMerge() throws {
        let target = CKRecord.ID(recordName: "target", zoneID: zone.zoneID)
        for server in [.value("theirs"), .closed(2)] as [Version] {
            let client = zone.fetched(try fields(.value("old")))
            client.encryptedValues["secret"] = "ours"
            let theirs = zone.fetched(try fields(server), tag: "2")
            let merged = theirs.merging(
                client, ancestor: client.outgoing().ancestorRecord(),
                policy: .custom { _ in CKRecord.Reference(recordID: target, action: .none) })
            #expect(merged.outgoing().refusal?.code == .invalidArguments)
            #expect(merged.encryptedValues["secret"] == nil && merged["secret"] == nil)
            merged.encryptedValues["secret"] = "both"
            #expect(merged.outgoing().refusal == nil)
            #expect(zone.open(try zone.sent(merged).compactMapValues { $0 }).values == ["secret": .string("both")])
        }
    }
}
