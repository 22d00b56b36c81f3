@testable import BrumeKit
import BrumeModel
import Testing

@Suite("A record")
struct CKRecordTests {
    static let zoneID = CKRecordZone.ID(zoneName: "Notes")

    static func fetched(_ fields: [String: FieldValue], tag: String = "1-a", parent: String? = nil) throws -> CKRecord {
        let system = SystemFields(
            name: "n1", type: "Note", changeTag: tag, creator: "_me", createdMilliseconds: 1500, modifier: "_other",
            modifiedMilliseconds: 2500, parent: parent)
        return try #require(
            CKRecord.make(
                Record(system: system, fields: fields), zoneID: zoneID, context: AnswerContext(currentUser: "_me")))
    }

    @Test("has no system fields until it is saved or fetched")
    func newRecord() {
        let record = CKRecord(recordType: "Note")
        #expect(record.recordID.zoneID == .default)
        #expect(UUID(uuidString: record.recordID.recordName) != nil)
        #expect(record.recordChangeTag == nil)
        #expect(record.creatorUserRecordID == nil)
        #expect(record.creationDate == nil)
        #expect(record.lastModifiedUserRecordID == nil)
        #expect(record.modificationDate == nil)
        #expect(record.parent == nil)
        #expect(record.allKeys().isEmpty && record.changedKeys().isEmpty)
    }

    @Test("shows the server's system fields, and the current user under the default name")
    func systemFields() throws {
        let record = try Self.fetched(["title": .string("x")], parent: "p")
        #expect(record.recordChangeTag == "1-a")
        #expect(record.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
        #expect(record.lastModifiedUserRecordID?.recordName == "_other")
        #expect(record.creationDate == Date(timeIntervalSince1970: 1.5))
        #expect(record.modificationDate == Date(timeIntervalSince1970: 2.5))
        #expect(record.parent?.recordID == CKRecord.ID(recordName: "p", zoneID: Self.zoneID))
        #expect(record.parent?.action == CKRecord.ReferenceAction.none)
        #expect(record.changedKeys().isEmpty)
    }

    @Test("lists a key as changed also when the value is equal")
    func equalValueIsAChange() throws {
        let record = try Self.fetched(["title": .string("x"), "count": .int64(1)])
        record["title"] = "x"
        #expect(record.changedKeys() == ["title"])
    }

    @Test("removes a key that is set to nil and lists it as changed")
    func removal() throws {
        let record = try Self.fetched(["title": .string("x"), "count": .int64(1)])
        record["title"] = nil
        #expect(record["title"] == nil)
        #expect(record.allKeys() == ["count"])
        #expect(record.changedKeys() == ["title"])
        let save = record.outgoing().save(policy: .ifServerRecordUnchanged)
        #expect(save.fields.count == 1)
        #expect(save.fields["title"] == .some(.none))
    }

    @Test("gives the words of its strings as tokens")
    func tokens() {
        let record = CKRecord(recordType: "Note")
        record["b"] = "lazy  dog\n"
        record["a"] = "quick brown"
        record["n"] = 5
        record["l"] = ["not", "these"]
        #expect(record.allTokens() == ["quick", "brown", "lazy", "dog"])
    }

    @Test("is copied with all it holds, and a copy's edits are its own")
    func deepCopy() throws {
        let record = try Self.fetched(["title": .string("x")], parent: "p")
        record["extra"] = 1
        let copy = try #require(record.copy() as? CKRecord)
        #expect(copy.recordID == record.recordID && copy.recordChangeTag == "1-a" && copy.parent == record.parent)
        #expect(copy.changedKeys() == ["extra"])
        copy["title"] = "y"
        copy["list"] = ["z"]
        copy.parent = nil
        #expect(record["title"] as? String == "x")
        #expect(record["list"] == nil)
        #expect(record.parent != nil)
        #expect(record.changedKeys() == ["extra"])
    }

    @Test("gives copies: a mutable object that was set does not change the record")
    func valuesAreCopies() {
        let record = CKRecord(recordType: "Note")
        let text = NSMutableString(string: "before")
        record["text"] = text
        text.append(" after")
        #expect(record["text"] as? String == "before")
    }

    @Test("takes a parent from a record, from an id, or none")
    func parents() {
        let parent = CKRecord(recordType: "Folder", recordID: CKRecord.ID(recordName: "f"))
        let record = CKRecord(recordType: "Note")
        record.setParent(parent)
        #expect(record.parent == CKRecord.Reference(record: parent, action: .none))
        record.setParent(CKRecord.ID(recordName: "g"))
        #expect(record.parent?.recordID.recordName == "g")
        record.setParent(nil as CKRecord?)
        #expect(record.parent == nil)
        #expect(record.changedKeys().isEmpty)
    }

    @Test("sends no more than its policy asks for")
    func saves() throws {
        let record = try Self.fetched(["title": .string("x"), "count": .int64(1), "old": .int64(2)], parent: "p")
        record["count"] = 5
        record["old"] = nil
        for policy in [SavePolicy.ifServerRecordUnchanged, .changedKeys] {
            let save = record.outgoing().save(policy: policy)
            #expect(save.fields == ["count": .int64(5), "old": nil])
            #expect(save.parent == .unchanged)
            #expect(save.changeTag == "1-a" && save.name == "n1" && save.type == "Note")
        }
        let all = record.outgoing().save(policy: .allKeys)
        #expect(all.fields == ["title": .string("x"), "count": .int64(5), "old": nil])
        #expect(all.parent == .set("p"))
        record.parent = nil
        #expect(record.outgoing().save(policy: .changedKeys).parent == .removed)
        record.setParent(CKRecord.ID(recordName: "q", zoneID: Self.zoneID))
        #expect(record.outgoing().save(policy: .changedKeys).parent == .set("q"))
    }

    @Test("takes the server's answer, but keeps edits made while the save was on its way")
    func editInFlight() throws {
        let record = try Self.fetched(["title": .string("x")])
        record["title"] = "sent"
        record["count"] = 1
        let outgoing = record.outgoing()
        record["title"] = "edited since"
        record["late"] = true
        let system = SystemFields(
            name: "n1", type: "Note", changeTag: "1-b", creator: "_me", createdMilliseconds: 1500, modifier: "_me",
            modifiedMilliseconds: 9000)
        record.applySaved(
            Record(system: system), fieldsOmitted: true, of: outgoing, context: AnswerContext(currentUser: "_me"))
        #expect(record.recordChangeTag == "1-b")
        #expect(record.lastModifiedUserRecordID?.recordName == CKCurrentUserDefaultName)
        #expect(record.modificationDate == Date(timeIntervalSince1970: 9))
        #expect(record.changedKeys() == ["late", "title"])
        #expect(record["title"] as? String == "edited since")
        let save = record.outgoing().save(policy: .ifServerRecordUnchanged)
        #expect(save.fields == ["title": .string("edited since"), "late": .int64(1)])
        #expect(save.changeTag == "1-b")
        // The ancestor of the next conflict is what the server has, not what was edited since.
        let ancestor = try #require(record.outgoing().ancestorRecord())
        #expect(ancestor["title"] as? String == "sent" && ancestor["count"] as? Int == 1 && ancestor["late"] == nil)
    }

    @Test("keeps a parent that was set while the save was on its way")
    func parentInFlight() throws {
        let record = try Self.fetched([:], parent: "p")
        record.setParent(CKRecord.ID(recordName: "q", zoneID: Self.zoneID))
        let outgoing = record.outgoing()
        record.setParent(CKRecord.ID(recordName: "r", zoneID: Self.zoneID))
        record.applySaved(
            Record(system: SystemFields(name: "n1", type: "Note", changeTag: "2", parent: "q")), fieldsOmitted: true,
            of: outgoing, context: AnswerContext(currentUser: nil))
        #expect(record.parent?.recordID.recordName == "r")
        #expect(record.outgoing().save(policy: .changedKeys).parent == .set("r"))
        let second = record.outgoing()
        record.applySaved(
            Record(system: SystemFields(name: "n1", type: "Note", changeTag: "3", parent: "r")), fieldsOmitted: true,
            of: second, context: AnswerContext(currentUser: nil))
        #expect(record.outgoing().save(policy: .changedKeys).parent == .unchanged)
    }

    @Test("shows the merged fields of the version whose tag it has")
    func mergedAnswer() throws {
        let record = try Self.fetched(["title": .string("x"), "gone": .int64(1)])
        record["title"] = "mine"
        let outgoing = record.outgoing()
        record["late"] = 3
        record.applySaved(
            Record(
                system: SystemFields(name: "n1", type: "Note", changeTag: "9"),
                fields: ["title": .string("mine"), "theirs": .int64(2)]),
            fieldsOmitted: false, of: outgoing, context: AnswerContext(currentUser: nil))
        #expect(record.allKeys() == ["late", "theirs", "title"])
        #expect(record.changedKeys() == ["late"])
    }

    @Test("knows the ancestor of a conflict when it was fetched, and none when it is new")
    func ancestors() throws {
        let record = try Self.fetched(["title": .string("base"), "count": .int64(1)], parent: "p")
        record["title"] = "mine"
        record.parent = nil
        let outgoing = record.outgoing()
        record["title"] = "later"
        let ancestor = try #require(outgoing.ancestorRecord())
        #expect(ancestor["title"] as? String == "base" && ancestor["count"] as? Int == 1)
        #expect(ancestor.recordChangeTag == "1-a" && ancestor.parent?.recordID.recordName == "p")
        #expect(ancestor.changedKeys().isEmpty)
        let client = outgoing.clientRecord()
        #expect(client["title"] as? String == "mine" && client.changedKeys() == ["title"] && client.parent == nil)
        #expect(CKRecord(recordType: "Note").outgoing().ancestorRecord() == nil)
    }

    @Test("is refused when a peer names what no record can have")
    func hostileNames() {
        let valid = SystemFields(name: "n", type: "Note")
        let records = [
            Record(system: SystemFields(name: "", type: "Note")),
            Record(system: SystemFields(name: "n\u{0}", type: "Note")),
            Record(system: SystemFields(name: "n", type: "Note", parent: "")),
            Record(system: valid, fields: ["r": .reference(Reference(recordName: "", deletesSelf: false))]),
            Record(system: valid, fields: ["r": .references([Reference(recordName: "ä", deletesSelf: false)])]),
        ]
        for record in records {
            #expect(CKRecord.make(record, zoneID: .default, context: AnswerContext(currentUser: nil)) == nil)
        }
        #expect(CKRecord.make(Record(system: valid), zoneID: .default, context: AnswerContext(currentUser: nil)) != nil)
    }

    @Test("may be edited from many threads at once")
    func threads() async {
        let record = CKRecord(recordType: "Note")
        await withTaskGroup { group in
            for index in 0..<8 {
                group.addTask {
                    for round in 0..<50 {
                        record["key\(index)"] = round
                        _ = record.changedKeys()
                    }
                }
            }
        }
        #expect(record.allKeys() == (0..<8).map { "key\($0)" })
        #expect(record.allKeys().allSatisfy { record[$0] as? Int == 49 })
    }
}

@Suite("What no record can have is refused when the record is saved, with a sentence, and stops no process:")
struct CKRecordRefusalTests {
    /// The code and sentence that a save of the record fails with; nil when it would be sent.
    private func refusal(_ record: CKRecord) throws -> (code: CKError.Code, sentence: String)? {
        let copy = try #require(record.copy() as? CKRecord)
        let archived = try? NSKeyedUnarchiver.unarchivedObject(
            ofClass: CKRecord.self,
            from: NSKeyedArchiver.archivedData(withRootObject: record, requiringSecureCoding: true))
        let error = record.outgoing().refusal
        #expect(copy.outgoing().refusal?.localizedDescription == error?.localizedDescription)
        // What can't be an id is no archive either.
        if let archived { #expect(archived.outgoing().refusal?.localizedDescription == error?.localizedDescription) }
        return error.map { ($0.code, $0.localizedDescription) }
    }

    @Test("values of other kinds, lists of several kinds, numbers too large, and references across zones")
    func values() throws {
        struct Own: CKRecordValueProtocol {}
        let elsewhere = CKRecord.Reference(
            recordID: CKRecord.ID(recordName: "x", zoneID: CKRecordZone.ID(zoneName: "Other")), action: .none)
        let values: [(any CKRecordValueProtocol, String)] = [
            (Own(), "Own can't be stored in a record"), (["a", 1] as NSArray, "several kinds"),
            (UInt64.max, "does not fit"), ([1, UInt64.max] as [UInt64], "does not fit"),
            (elsewhere, "points into zone"),
            ([elsewhere], "points into zone"), ([[1], [2]], "can't hold lists"),
            ([Own()] as NSArray, "can't be stored"), (UInt.max as NSNumber, "does not fit"),
        ]
        for (value, sentence) in values {
            let record = CKRecord(recordType: "Note")
            record["text"] = "fine"
            record["bad"] = 1
            #expect(try refusal(record) == nil)
            record["bad"] = value
            let found = try #require(try refusal(record))
            #expect(found.code == .invalidArguments)
            #expect(found.sentence.contains(sentence) && found.sentence.contains("\"bad\""), "\(found.sentence)")
            #expect(record["bad"] == nil && record["text"] == "fine")
            #expect(record.changedKeys() == ["bad", "text"] && record.allKeys() == ["text"])
            record["bad"] = 2
            #expect(try refusal(record) == nil)
            record.encryptedValues["bad"] = value
            #expect(try refusal(record)?.code == .invalidArguments)
            record.encryptedValues["bad"] = nil
            #expect(try refusal(record) == nil)
        }
        let record = CKRecord(recordType: "Note")
        record.setValuesForKeys(["dictionary": ["a": 1]])
        #expect(try refusal(record)?.code == .invalidArguments)
        record.setValue(NSNull(), forKey: "dictionary")
        #expect(try refusal(record) == nil)
    }

    @Test("keys that no field has, until they are removed")
    func keys() throws {
        for key in ["_bad", "", "1st", "ä", "a b", String(repeating: "k", count: 256)] {
            let record = CKRecord(recordType: "Note")
            record[key] = 1
            #expect(try refusal(record)?.code == .invalidArguments)
            #expect(record[key] == nil)
            record[key] = nil as String?
            #expect(try refusal(record) == nil)
            record.encryptedValues[key] = 1
            #expect(try refusal(record)?.code == .invalidArguments)
            record.encryptedValues[key] = nil as String?
            #expect(try refusal(record) == nil)
        }
    }

    @Test("types, names and zones, and parents with an action or in another zone")
    func names() throws {
        let zone = CKRecordZone.ID(zoneName: "Z")
        #expect(try refusal(CKRecord(recordType: ""))?.code == .invalidArguments)
        for name in ["", "ä", String(repeating: "n", count: 256)] {
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name))
            #expect(record.outgoing().refusal?.code == .invalidArguments)
        }
        for name in ["", "_mine", "ä"] {
            let id = CKRecordZone(zoneName: name).zoneID
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "x", zoneID: id))
            #expect(record.outgoing().refusal?.code == .invalidArguments)
        }
        #expect(CKRecordZone.ID(zoneName: "Z", ownerName: "") == zone)
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "x", zoneID: zone))
        record.parent = CKRecord.Reference(recordID: CKRecord.ID(recordName: "p", zoneID: zone), action: .deleteSelf)
        #expect(try refusal(record)?.code == .invalidArguments)
        record.setParent(CKRecord.ID(recordName: "p"))
        #expect(try refusal(record)?.sentence.contains("zone") == true)
        #expect(record.parent == nil)
        record.setParent(CKRecord.ID(recordName: "p", zoneID: zone))
        #expect(try refusal(record) == nil)
    }
}
