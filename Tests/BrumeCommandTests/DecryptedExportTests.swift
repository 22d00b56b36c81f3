internal import BrumeKit
internal import BrumeModel
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

/// Exports that hold in the clear what was encrypted, between two accounts with devices of their own.
@Suite("Exports in the clear", .serialized)
struct DecryptedExportTests {
    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    private func expectDone(_ run: CommandRun, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(run.status == 0, "\(run.output) \(run.errors)", sourceLocation: sourceLocation)
    }

    @Test("are the same in another account, encrypted for it", .timeLimit(.minutes(2)))
    func roundTrip() async throws {
        let source = try await DecryptedExportSource()
        let photos = try await source.fill()
        try source.letShellIn()
        let closed = source.folder.file("closed.jsonl")
        expectDone(try source.run("export", closed))
        let file = source.folder.file("open.jsonl")
        let exported = try source.run("export", file, "--decrypt", "--json")
        expectDone(exported)
        #expect(exported.errors.contains("open.jsonl and the files beside it may hold secrets in the clear"))
        let closedText = try String(contentsOfFile: closed, encoding: .utf8)
        let text = try String(contentsOfFile: file, encoding: .utf8)
        #expect(!closedText.contains(DecryptedExportSource.needle))
        #expect(closedText.hasPrefix("{\"brume\":\"export\",\"version\":1,\"database\":\"private\"}\n"))
        #expect(text.contains("\"note\":{\"encrypted\":\"STRING\",\"value\":\"\(DecryptedExportSource.needle)\"}"))
        #expect(text.hasPrefix("{\"brume\":\"export\",\"version\":2,\"database\":\"private\",\"decrypted\":true}\n"))
        #expect(text.contains("{\"zone\":\"Diary\",\"encryptsAssets\":true}"))
        #expect(text.contains("{\"zone\":\"Loose\",\"encryptsAssets\":false}"))
        #expect(!text.contains("\"stamp\":\"") && closedText.contains("\"stamp\":\""))

        // Nobody else may read it, and its files are named by what is in them.
        let folder = file + ".assets/decrypted"
        #expect(try mode(file) == 0o600 && mode(folder) == 0o700)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(names.count == 3)
        for name in names {
            let content = try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name))
            #expect(photos.contains(content) && DecryptedExportSource.fileName(content) == name)
            #expect(try mode(folder + "/" + name) == 0o600)
        }
        #expect(
            try Set(FileManager.default.contentsOfDirectory(atPath: file + ".assets"))
                == ["decrypted", DecryptedExportSource.fileName(photos[0])], "and the one of Loose")
        let closedFolder = try FileManager.default.contentsOfDirectory(atPath: closed + ".assets")
        let plain = Set(closedFolder).intersection(names)
        #expect(plain == [DecryptedExportSource.fileName(photos[0])], "the one of Loose")

        let imported = try source.run("import", file, "--format", "brume", account: "b")
        expectDone(imported)
        #expect(imported.errors.contains("the account has encryption keys now"), "\(imported.errors)")
        let reader = try source.device(of: "b")
        let code = try #require(try source.run("key", "code", account: "b").output.first)
        try await reader.useRecoveryCode(code)
        let before = try await source.contents("Diary", of: "a", source.app)
        let after = try await source.contents("Diary", of: "b", reader)
        #expect(before.count == 5 && after.count == 5)
        for (name, page) in before { #expect(after[name] == page, "\(name)") }
        #expect(after["all \"kinds\" / 100 %"]?.values == DecryptedExportSource.values)
        #expect(after["root"]?.files == ["photo": [photos[0]], "photos": [photos[1], photos[2], photos[0]]])
        #expect(after["a grandchild"]?.hasStamp == true && after["a grandchild"]?.parent == "child")
        let headers = try await source.headers("Diary", of: "b")
        #expect(Set(["root", "child", "a grandchild"].map { headers[$0] }).count == 1 && headers["root"]?.count == 1)
        #expect(headers["root"] != headers["all \"kinds\" / 100 %"])
        #expect(try await source.contents("Loose", of: "b", reader) == source.contents("Loose", of: "a", source.app))

        // Into a zone that has other versions of the records, and once more.
        let others = [("child", nil), ("a grandchild", nil), ("all \"kinds\" / 100 %", "root")]
        for (name, parent) in others {
            let id = CKRecord.ID(recordName: name, zoneID: CKRecordZone.ID(zoneName: "Diary"))
            let record = try await reader.privateCloudDatabase.record(for: id)
            record.setEncryptedValue(.int64(1), forKey: "more")
            record.setParent(parent.map { CKRecord.ID(recordName: $0, zoneID: id.zoneID) })
            _ = try await reader.privateCloudDatabase.save(record)
        }
        for _ in 0..<2 {
            expectDone(try source.run("import", file, "--format", "brume", account: "b"))
            let again = try await source.contents("Diary", of: "b", reader)
            for (name, page) in before { #expect(again[name] == page, "\(name)") }
            let headers = try await source.headers("Diary", of: "b")
            #expect(Set(["root", "child", "a grandchild"].map { headers[$0] }).count == 1)
            #expect(headers["root"] != headers["all \"kinds\" / 100 %"])
        }
        // One that was left closed opens with its own keys alone.
        expectDone(try source.run("zones", "delete", "Diary", account: "b"))
        let refused = try source.run("import", closed, "--format", "brume", account: "b")
        #expect(refused.status != 0)
        #expect(refused.errors.contains("a file that was made with brume export --decrypt"), "\(refused.errors)")
    }

    @Test("come into a zone of the same scope, whose files are encrypted also where the export does not say so")
    func policies() async throws {
        let source = try await DecryptedExportSource()
        let zone = CKRecordZone(zoneName: "Whole")
        zone.encryptionScope = .perZone
        _ = try await source.app.privateCloudDatabase.save(zone)
        let page = CKRecord(recordType: "Page", recordID: CKRecord.ID(recordName: "1", zoneID: zone.zoneID))
        page.encryptedValues["text"] = DecryptedExportSource.needle
        _ = try await source.app.privateCloudDatabase.save(page)
        try source.letShellIn()
        let file = source.folder.file("open.jsonl")
        expectDone(try source.run("export", file, "--decrypt"))
        let text = try String(contentsOfFile: file, encoding: .utf8)
        #expect(text.contains("{\"zone\":\"Whole\",\"encryptsAssets\":true,\"perZone\":true}"))
        try text.replacing(",\"encryptsAssets\":true", with: "").write(toFile: file, atomically: true, encoding: .utf8)
        expectDone(try source.run("import", file, "--format", "brume", account: "b"))
        let reader = try source.device(of: "b")
        try await reader.useRecoveryCode(#require(try source.run("key", "code", account: "b").output.first))
        let database = reader.privateCloudDatabase
        #expect(try await database.record(for: page.recordID).encryptedValues["text"] == DecryptedExportSource.needle)
        let policies = try await database.zonePolicies(in: zone.zoneID)
        #expect(policies?.isPerZone == true && policies?.encryptsAssets == true)
    }

    @Test("on the standard output leave files out, and are imported with those that are what they are named by")
    func files() async throws {
        let source = try await DecryptedExportSource()
        _ = try await source.fill()
        try source.letShellIn()
        let output = try source.run("export", "-", "--decrypt", "--zone", "Diary")
        expectDone(output)
        #expect(output.output.joined().contains(DecryptedExportSource.needle))
        #expect(output.output.joined().contains("\"photo\":{\"encrypted\":\"ASSET\",\"bytes\":"))
        #expect(output.errors.contains("the output may hold secrets in the clear"), "\(output.errors)")
        #expect(output.errors.contains("the files of the assets of 2 records are left out"), "\(output.errors)")

        let file = source.folder.file("open.jsonl")
        expectDone(try source.run("export", file, "--decrypt", "--zone", "Diary"))
        let photos = DecryptedExportSource.fileName(Data(repeating: 7, count: 200_000))
        try Data("another".utf8).write(to: URL(fileURLWithPath: file + ".assets/decrypted/" + photos))
        let changed = try source.run("import", file, "--format", "brume", "--json", account: "b")
        #expect(changed.status == ExitCode.failed.rawValue && changed.errors.contains("holds another content"))
        #expect(try changed.json()["saved"] == .integer(1) && changed.json()["failed"] == .integer(4))
        try FileManager.default.removeItem(atPath: file + ".assets/decrypted/" + photos)
        let missing = try source.run("import", file, "--format", "brume", account: "b")
        #expect(missing.status == ExitCode.failed.rawValue && missing.errors.contains("there is no file"))
    }

    @Test("need a device with the account's keys, and nothing is written without", .timeLimit(.minutes(1)))
    func exportWithoutKeys() async throws {
        let source = try await DecryptedExportSource()
        _ = try await source.fill()
        let file = source.folder.file("none.jsonl")
        let refused = try source.run("export", file, "--decrypt", on: "stranger")
        #expect(refused.status == ExitCode.failed.rawValue)
        #expect(refused.errors.contains("brume key enrol") && refused.errors.contains("brume key use"))
        for name in try FileManager.default.contentsOfDirectory(atPath: source.folder.path) {
            #expect(!name.hasPrefix("none.jsonl"), "\(name)")
        }
        let output = try source.run("export", "-", "--decrypt", on: "stranger")
        #expect(output.status == ExitCode.failed.rawValue && output.output.isEmpty)
    }

    @Test("hold as they are encrypted the values that don't open, and the command says so", .timeLimit(.minutes(1)))
    func damaged() async throws {
        let source = try await DecryptedExportSource()
        _ = try await source.fill()
        try source.letShellIn()
        let session = try source.session(of: "a")
        let zone = ZoneID(name: "Diary")
        let records = try await source.records("Diary", of: "a")
        let root = try #require(records.first { $0.system.name == "root" })
        var fields: DecodedFields = [:]
        var blob = ""
        for key in ["note", "photo"] {
            guard case .encrypted(let value)? = root.fields[key] else { throw TestFailure("\(key) is plain") }
            var bytes = value.bytes
            bytes[bytes.count - 1] ^= 1
            fields[key] = .some(.encrypted(EncryptedValue(value.kind, bytes, assets: value.assets)))
            if let asset = value.assets.first { blob = asset.checksum.description }
        }
        _ = try await session.modifyRecords(
            ModifyRecordsRequest(
                database: .private, savePolicy: .changedKeys,
                zones: [
                    ZoneModification(
                        zone: zone, saves: [RecordSave(name: "root", type: "Page", fields: fields)])
                ]))
        let file = source.folder.file("open.jsonl")
        let exported = try source.run("export", file, "--decrypt", "--zone", "Diary")
        #expect(exported.status == ExitCode.failed.rawValue, "\(exported.output) \(exported.errors)")
        for key in ["note", "photo"] {
            #expect(exported.errors.contains("root of Diary: \(key) is written as it is encrypted: it is damaged"))
        }
        var line: JSONValue?
        for text in try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n") {
            let json = try JSONParser.value(of: String(text))
            if json["name"] == .string("root") { line = json }
        }
        let written = try #require(line?["fields"])
        #expect(written["note"]?["bytes"] != nil && written["note"]?["value"] == nil)
        #expect(written["photo"]?["bytes"] != nil && written["photo"]?["value"] == nil)
        #expect(written["photos"]?["value"]?["assets"]?.array?.count == 3)
        #expect(FileManager.default.fileExists(atPath: file + ".assets/" + blob))
        // All that opens is there, and the others as they were: damaged.
        let before = try await source.contents("Diary", of: "a", source.app)
        expectDone(try source.run("import", file, "--format", "brume"))
        let after = try await source.contents("Diary", of: "a", source.app)
        #expect(after["root"]?.unreadable == ["note", "photo"])
        for (name, page) in before { #expect(after[name] == page, "\(name)") }
    }

    @Test("are imported without what is encrypted where the device has no keys", .timeLimit(.minutes(1)))
    func importWithoutKeys() async throws {
        let source = try await DecryptedExportSource()
        _ = try await source.fill()
        try source.letShellIn()
        let file = source.folder.file("open.jsonl")
        expectDone(try source.run("export", file, "--decrypt", "--zone", "Diary"))
        expectDone(try source.run("key", "code", account: "b", on: "other"))
        let imported = try source.run("import", file, "--format", "brume", "--json", account: "b")
        #expect(imported.status == ExitCode.failed.rawValue)
        #expect(imported.errors.contains("brume key use") && imported.errors.contains("a grandchild: "))
        #expect(try imported.json()["failed"] == .integer(5), "four, and the one whose parent is missing")
        #expect(try imported.json()["saved"] == .integer(0))
        let reader = try source.device(of: "b")
        let after = try await source.contents("Diary", of: "b", reader)
        #expect(after.keys.sorted() == ["plain"] && after["plain"]?.plain == ["color": .string("blue")])
    }

    @Test("save no encrypted file in a zone whose files are plain", .timeLimit(.minutes(1)))
    func plainFiles() async throws {
        let source = try await DecryptedExportSource()
        _ = try await source.fill()
        try source.letShellIn()
        let file = source.folder.file("open.jsonl")
        expectDone(try source.run("export", file, "--decrypt", "--zone", "Diary"))
        expectDone(try source.run("zones", "create", "Diary", account: "b"))
        expectDone(
            try source.run(
                "records", "save", "Diary", "first", "--type", "Page", "--encrypted", "note=x", account: "b"))
        let imported = try source.run("import", file, "--format", "brume", "--json", account: "b")
        #expect(imported.status == ExitCode.failed.rawValue)
        #expect(imported.errors.contains("child: photo is an encrypted file"), "\(imported.errors)")
        #expect(imported.errors.contains("--zone"))
        let reader = try source.device(of: "b")
        try await reader.useRecoveryCode(try #require(try source.run("key", "code", account: "b").output.first))
        let after = try await source.contents("Diary", of: "b", reader)
        #expect(after.keys.sorted() == ["a grandchild", "all \"kinds\" / 100 %", "first", "plain"])
        #expect(after["all \"kinds\" / 100 %"]?.values == DecryptedExportSource.values)
        #expect(after.values.allSatisfy { $0.files.isEmpty && !$0.kinds.values.contains { $0.namesAssets } })
    }
}
