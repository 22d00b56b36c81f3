import BrumeTesting
import CloudKit
import Testing

@Suite("Encrypted values of a server that lies", .timeLimit(.minutes(4)))
struct ValueLieTests {
    /// A lie about the text: it is absent with a reason, however it is fetched, and the title is read. Once the server
    /// tells the truth both are.
    private func expect(
        _ reason: CKRecord.UnreadableReason, _ lie: ServerLie, _ diary: LiedDiary
    ) async throws {
        let rule = try await diary.server.lie(lie, to: diary.laptop)
        for seen in try await diary.fetchedInAllWays(by: diary.laptop) {
            #expect(seen.unreadableFields == ["text": reason], "\(lie)")
            #expect(seen.encryptedValues.allKeys() == ["title"], "\(lie)")
            #expect(seen.encryptedValues["title"] == "secret title of page", "\(lie)")
            #expect(seen["color"] == "yellow" && seen.allKeys() == ["color"], "\(lie)")
        }
        #expect(rule.firedCount >= 4, "\(lie)")
        rule.remove()
        for seen in try await diary.fetchedInAllWays(by: diary.laptop) {
            #expect(seen.unreadableFields.isEmpty && seen.encryptedValues["text"] == "secret text of page")
        }
        try await diary.isRead(by: diary.phone)
    }

    @Test("that were swapped between two fields are damaged, and the record's other fields are as they are")
    func swapped() async throws {
        try await LiedDiary.run { diary in
            let rule = try await diary.server.lie(.swapsFields("text", "title", of: diary.page), to: diary.laptop)
            for seen in try await diary.fetchedInAllWays(by: diary.laptop) {
                #expect(seen.unreadableFields == ["text": .damaged, "title": .damaged])
                #expect(seen.encryptedValues.allKeys().isEmpty && seen["color"] == "yellow")
            }
            rule.remove()
            try await diary.isRead(by: diary.laptop)
        }
    }

    @Test("that belong to another record, of the same tree or another one, to another zone or account are damaged")
    func copied() async throws {
        try await LiedDiary.run { diary in
            let other = CKRecordZone(zoneName: "Other")
            let child = diary.record("child")
            child.setParent(diary.page)
            try await diary.phone.privateCloudDatabase.save(child)
            try await diary.save("other")
            try await diary.save("note", type: "Note")
            _ = try await diary.phone.privateCloudDatabase.save(other)
            try await diary.save("page", zone: other)
            let bob = try diary.server.device(of: "bob")
            _ = try await bob.privateCloudDatabase.save(diary.zone)
            try await diary.save("page", by: bob)
            for source in [child.recordID, diary.id("other"), diary.id("note"), diary.id("page", zone: other)] {
                try await expect(.damaged, .copiesField("text", from: source, to: diary.page), diary)
            }
            try await expect(.damaged, .copiesField("text", from: diary.page, of: "bob", to: diary.page), diary)
            try await diary.isRead(by: bob)
        }
    }

    @Test(
        "of files that were swapped, changed, shown plain or as another file are absent, and come back with the truth")
    func files() async throws {
        var options = TestServer.Options()
        options.encryptsAssets = true
        let files = try AssetFiles()
        try await LiedDiary.run(options: options) { diary in
            let record = diary.record("album")
            // Two of one size once they are padded, and one of another.
            let contents = ["a": Data(repeating: 1, count: 40), "b": Data(repeating: 2, count: 50)]
            for (key, content) in contents { record[key] = try files.asset(content) }
            record["c"] = try files.asset(Data(repeating: 3, count: 4_000))
            try await diary.phone.privateCloudDatabase.save(record)
            let id = record.recordID
            func isTrue() async throws {
                let seen = try await diary.fetched("album")
                #expect(seen.unreadableFields.isEmpty && seen.content("a") == contents["a"])
                #expect(seen.content("b") == contents["b"] && seen.content("c")?.count == 4_000)
            }
            let lies: [(ServerLie, [CKRecord.FieldKey: CKRecord.UnreadableReason])] = [
                (.swapsFields("a", "b", of: id), ["a": .damaged, "b": .damaged]),
                (.flipsByte(60, ofField: "a", of: id), ["a": .damaged]),
                (.showsFile(ofField: "c", inField: "a", of: id), ["a": .damaged]),
                (.showsFile(ofField: "b", inField: "a", of: id), ["a": .damaged, "b": .damaged]),
                (.showsPlainFile(inField: "a", of: id), ["a": .notEncrypted]),
            ]
            for (lie, reasons) in lies {
                let rule = try await diary.server.lie(lie, to: diary.laptop)
                let seen = try await diary.fetched("album")
                #expect(seen.unreadableFields == reasons, "\(lie)")
                for key in ["a", "b", "c"] where reasons[key] != nil { #expect(seen[key] == nil, "\(lie)") }
                #expect(seen.content("c")?.count == 4_000, "\(lie)")
                rule.remove()
                try await isTrue()
            }
            // Those that are seeded are encrypted as well.
            let seeded = diary.record("seeded")
            seeded["a"] = try files.asset(Data(repeating: 4, count: 10))
            try await diary.server.seed([seeded], of: "ada")
            #expect(try await diary.fetched("seeded").content("a") == Data(repeating: 4, count: 10))
            try await diary.server.seed([diary.record("seeded")], of: "ada")
            #expect(try await diary.fetched("seeded")["a"] == nil)
        }
    }

    @Test("of another record that comes in the place of the one asked for are an error, and no app merges them")
    func otherRecord() async throws {
        try await LiedDiary.run { diary in
            try await diary.save("other")
            let newer = try await diary.fetched(by: diary.phone)
            newer["number"] = 1
            try await diary.phone.privateCloudDatabase.save(newer)
            let lie = ServerLie.showsRecord(diary.id("other"), insteadOf: diary.page)
            let rule = try await diary.server.lie(lie, to: diary.laptop)
            #expect(await failure { try await diary.fetched() }?.code == .internalError)
            let conflict = await diary.failureOfOutdatedSave(by: diary.laptop)
            #expect(conflict?.code == .internalError)
            #expect(conflict?.serverRecord == nil, "a merge would take it for the one that was saved, or trap")
            let changes = try await diary.laptop.privateCloudDatabase.recordZoneChanges(
                inZoneWith: diary.zone.zoneID, since: nil)
            let names = changes.modificationResultsByID.keys.map { $0.recordName }
            #expect(names == ["other"])
            rule.remove()
            for name in ["page", "other"] { try await diary.isRead(name, by: diary.laptop) }
            #expect(try await diary.fetched()["number"] == 1)
        }
    }

    @Test("of a record that is said to be of another type are damaged")
    func type() async throws {
        try await LiedDiary.run { diary in
            let rule = try await diary.server.lie(.showsRecordType("Note", of: diary.page), to: diary.laptop)
            for seen in try await diary.fetchedInAllWays(by: diary.laptop) {
                #expect(seen.recordType == "Note" && seen.encryptedValues.allKeys().isEmpty)
                #expect(seen.unreadableFields == ["text": .damaged, "title": .damaged])
            }
            rule.remove()
            try await diary.isRead(by: diary.laptop)
        }
    }

    @Test("with a byte flipped, cut or added are damaged, and those of another format need a newer version")
    func bytes() async throws {
        try await LiedDiary.run { diary in
            for index in [2, 19, 23, 47, 94] {
                try await expect(.damaged, .flipsByte(index, ofField: "text", of: diary.page), diary)
            }
            for index in [0, 1] {
                try await expect(.newerVersion, .flipsByte(index, ofField: "text", of: diary.page), diary)
            }
            for count in [0, 22, 62, 94] {
                try await expect(.damaged, .cutsField("text", of: diary.page, toByteCount: count), diary)
            }
            try await expect(.damaged, .lengthensField("text", of: diary.page), diary)
        }
    }

    @Test("that name a key which their zone does not have are not taken for damaged: the key is missing")
    func keyNumber() async throws {
        try await LiedDiary.run { diary in
            for index in [18, 22] {
                try await expect(.keyMissing, .flipsByte(index, ofField: "text", of: diary.page), diary)
            }
        }
    }

    @Test("in whose place a plain one stands are in no encryptedValues, and are set anew encrypted")
    func plain() async throws {
        try await LiedDiary.run { diary in
            let lie = ServerLie.showsPlainText("a lie", inField: "text", of: diary.page)
            let rule = try await diary.server.lie(lie, to: diary.laptop)
            for seen in try await diary.fetchedInAllWays(by: diary.laptop) {
                #expect(seen.encryptedValues["text"] == nil && seen.encryptedValues.allKeys() == ["title"])
                #expect(seen.unreadableFields.isEmpty && seen["text"] == "a lie")
            }
            let seen = try await diary.fetched()
            seen.encryptedValues["text"] = "secret text of page"
            try await diary.laptop.privateCloudDatabase.save(seen)
            rule.remove()
            try await diary.isRead(by: diary.laptop)
            try await diary.isRead(by: diary.phone)
            #expect(try await diary.server.dump(of: "ada").contains("text: (encrypted STRING)"))
        }
    }

    @Test("that a schema calls plain are refused, and not sent plain instead")
    func schema() async throws {
        var options = TestServer.Options()
        options.environment = .production
        options.schema = "DEFINE SCHEMA RECORD TYPE Page (text STRING);"
        try await TestServer.run(options: options) { server in
            let phone = try server.device(of: "ada")
            let record = CKRecord(recordType: "Page")
            record.encryptedValues["text"] = "secret"
            #expect(
                await failure { try await phone.privateCloudDatabase.save(record) }?.code == .invalidArguments)
            #expect(try await server.dump(of: "ada").isEmpty)
            record.encryptedValues["text"] = nil
            record["text"] = "no secret"
            try await phone.privateCloudDatabase.save(record)
        }
    }

    @Test("in whose place a plain one stands in a conflict are merged as what they are, and go out encrypted")
    func plainConflict() async throws {
        try await LiedDiary.run { diary in
            let policies: [CKRecord.MergePolicy] = [.clientWins, .serverWins]
            for (number, policy) in policies.enumerated() {
                let mine = try await diary.fetched()
                let theirs = try await diary.fetched(by: diary.phone)
                theirs["number"] = number
                try await diary.phone.privateCloudDatabase.save(theirs)
                let lie = ServerLie.showsPlainText("a lie", inField: "text", of: diary.page)
                let rule = try await diary.server.lie(lie, to: diary.laptop)
                mine.encryptedValues["text"] = "secret text that was merged"
                let error = await diary.failureOfSave(mine, by: diary.laptop)
                let merged = try #require(error?.mergedRecord(policy))
                try await diary.laptop.privateCloudDatabase.save(merged)
                rule.remove()
                let seen = try await diary.fetched(by: diary.phone)
                let text: String? = seen.encryptedValues["text"]
                #expect(text?.hasPrefix("secret text") == true && seen["number"] == number, "\(number)")
                #expect(seen.allKeys().sorted() == ["color", "number"])
            }
        }
    }

    @Test("of an earlier life of their zone are damaged in the one that was made anew")
    func formerLife() async throws {
        try await LiedDiary.run { diary in
            let rule = try await diary.server.lie(.keepsField("text", of: diary.page), to: diary.laptop)
            let database = diary.phone.privateCloudDatabase
            _ = try await database.deleteRecordZone(withID: diary.zone.zoneID)
            _ = try await database.save(CKRecordZone(zoneID: diary.zone.zoneID))
            try await diary.save("page")
            for seen in try await diary.fetchedInAllWays(by: diary.laptop) {
                #expect(seen.unreadableFields == ["text": .damaged])
                #expect(seen.encryptedValues["title"] == "secret title of page")
            }
            rule.remove()
            try await diary.isRead(by: diary.laptop)
        }
    }

    /// Documentation/Security.md, "What is not protected".
    @Test(
        "that are older than others of their record are read: they are genuine, and nothing says that newer ones exist")
    func older() async throws {
        try await LiedDiary.run { diary in
            let rule = try await diary.server.lie(.keepsField("text", of: diary.page), to: diary.laptop)
            let record = try await diary.fetched(by: diary.phone)
            record.encryptedValues["text"] = "secret new text"
            record.encryptedValues["title"] = "secret new title"
            try await diary.phone.privateCloudDatabase.save(record)
            for seen in try await diary.fetchedInAllWays(by: diary.laptop) {
                #expect(seen.encryptedValues["text"] == "secret text of page" && seen.unreadableFields.isEmpty)
                #expect(seen.encryptedValues["title"] == "secret new title")
            }
            rule.remove()
            #expect(try await diary.fetched().encryptedValues["text"] == "secret new text")
        }
    }

    @Test("that were changed hold nothing up in a sync engine, and are fetched again by their ids")
    func syncEngine() async throws {
        try await LiedDiary.run { diary in
            let delegate = TestSyncEngineDelegate()
            let engine = delegate.makeEngine(on: diary.laptop, automaticallySync: false)
            let lies: [ServerLie] = [
                .swapsFields("text", "title", of: diary.page), .lengthensField("text", of: diary.id("second")),
            ]
            var rules: [ScriptRule] = []
            for lie in lies { rules.append(try await diary.server.lie(lie, to: diary.laptop)) }
            for name in ["second", "third"] { try await diary.save(name) }
            try await engine.fetchChanges()
            let (page, second) = (delegate.records[diary.page], delegate.records[diary.id("second")])
            #expect(page?.unreadableFields == ["text": .damaged, "title": .damaged])
            #expect(second?.unreadableFields == ["text": .damaged])
            #expect(second?.encryptedValues["title"] == "secret title of second")
            #expect(delegate.records[diary.id("third")]?.unreadableFields == [:])
            // What the engine sends of them leaves their encrypted fields alone.
            let record = try #require(second)
            record["number"] = 1
            delegate.save([record], with: engine)
            try await engine.sendChanges()
            for rule in rules { rule.remove() }
            for name in ["page", "second", "third"] { try await diary.isRead(name, by: diary.laptop) }
            #expect(try await diary.fetched("second", by: diary.phone)["number"] == 1)
        }
    }

    @Test("that a device was lied to about are kept by what it saves, and come back with the truth")
    func saving() async throws {
        try await LiedDiary.run { diary in
            let lies: [ServerLie] = [
                .swapsFields("text", "title", of: diary.page), .lengthensField("text", of: diary.page),
                .showsPlainText("a lie", inField: "text", of: diary.page),
                .flipsByte(22, ofField: "text", of: diary.page),
            ]
            for (number, lie) in lies.enumerated() {
                let rule = try await diary.server.lie(lie, to: diary.laptop)
                let seen = try await diary.fetched()
                seen["number"] = number
                try await diary.laptop.privateCloudDatabase.save(seen)
                rule.remove()
                try await diary.isRead(by: diary.laptop)
                try await diary.isRead(by: diary.phone)
                #expect(try await diary.fetched()["number"] == number)
            }
        }
    }
}
