internal import BrumeKit
internal import BrumeModel
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

/// Values with something in every place, and at every edge.
let exportedValues: [String: FieldValue] = [
    "text": .string("a\0b \"quoted\" \\ \u{2028} 🌫 e\u{301}\n\t\r\u{7F}"), "emptyText": .string(""),
    "lowest": .int64(.min), "highest": .int64(.max), "zero": .int64(0), "wholeDouble": .double(7),
    "tiny": .double(.leastNonzeroMagnitude), "huge": .double(.greatestFiniteMagnitude), "third": .double(1.0 / 3),
    "minusZero": .double(-0.0), "bytes": .bytes(Array(0...255)), "noBytes": .bytes([]),
    "date": .date(700_000_000.123_456_7), "wholeDate": .date(-1), "oldDate": .date(-62_135_596_800.000_01),
    "place": .location(
        Location(
            latitude: 52.520_006_599_999_996, longitude: -13.404_954, altitude: 0.1, horizontalAccuracy: 5,
            verticalAccuracy: -1, course: 359.999_999_999_99, speed: 0.3, timestamp: 700_000_000.5)),
    "up": .reference(Reference(recordName: "parent", deletesSelf: false)),
    "cascade": .reference(Reference(recordName: "r10", deletesSelf: true)), "strings": .strings(["", "a\0", "ü"]),
    "int64s": .int64s([.min, 0, .max]), "doubles": .doubles([0.1, -0.0, 3]),
    "bytesList": .bytesList([[], [0, 255]]), "dates": .dates([0, 0.1]),
    "places": .locations([Location(latitude: 1, longitude: 2), Location(latitude: -90, longitude: 180)]),
    "references": .references([
        Reference(recordName: "r1", deletesSelf: false), Reference(recordName: "r2", deletesSelf: true),
    ]), "list": .emptyList, "sealed": EncryptedSamples.value(.double),
    "sealedList": EncryptedSamples.value(.strings, contentBytes: 2_000),
    "sealedNothing": EncryptedSamples.value(.emptyList),
]

@Suite("Exports")
struct ExportLineTests {
    @Test("each value is read as it was written, to the bit")
    func values() throws {
        var cases = exportedValues
        cases["nan"] = .double(Double(bitPattern: 0x7FF8_0000_0000_1234))
        cases["infinity"] = .doubles([.infinity, -.infinity])
        let assets = [RecordSamples.asset(1, byteCount: 136), RecordSamples.asset(2, byteCount: 4_096)]
        cases["file"] = EncryptedSamples.asset(assets[0])
        cases["files"] = EncryptedSamples.assets(assets)
        for (key, value) in cases {
            let line = value.exported.line
            #expect(!line.contains("\n"))
            let read = try FieldValue(exported: JSONParser.value(of: line))
            #expect("\(read)" == "\(value)", "\(key): \(line)")
            if case .double(let number) = value, case .double(let back) = read {
                #expect(number.bitPattern == back.bitPattern, "\(key)")
            } else if key != "infinity" {
                #expect(read == value, "\(key)")
            }
        }
    }

    @Test("an export that was cut short, or that lacks a line, is noticed")
    func cutShort() throws {
        var record = Record(system: SystemFields(name: "a", type: "Note", parent: "b"))
        record.fields = ["n": .int64(1)]
        let lines: [ExportLine] = [
            .header(isDecrypted: false), .zone("Z"), .record(zone: "Z", record), .deletion(zone: "Z", name: "c"),
            .end(zones: 1, records: 1),
        ]
        func read(_ lines: [ExportLine]) throws -> [ExportLine] {
            let reader = try ExportReader(Data(lines.map { $0.json.line + "\n" }.joined().utf8))
            var read: [ExportLine] = []
            while let line = try reader.next() { read.append(line) }
            return read
        }
        #expect(try read(lines) == Array(lines[1..<4]))
        for count in 0..<4 { #expect(throws: RowError.self) { try read(Array(lines[..<count])) } }
        for left in [0, 1, 2] {
            var fewer = lines
            fewer.remove(at: left)
            #expect(throws: RowError.self, "without line \(left)") { try read(fewer) }
        }
        #expect(throws: RowError.self) { try read(lines + [.zone("more")]) }
    }

    @Test("what is no value of an export is refused")
    func strangeValues() throws {
        for text in [
            "1.5", "true", "null", "[]", "{}", "{\"double\":true}", "{\"bytes\":\"%\"}", "{\"location\":{}}",
            "{\"strings\":[1]}", "{\"list\":[1]}", "{\"double\":1,\"date\":1}", "{\"reference\":\"a\"}", "{\"any\":1}",
            "{\"encrypted\":\"STRING\"}", "{\"encrypted\":\"REFERENCE\",\"bytes\":\"AA==\"}",
            "{\"encrypted\":\"ASSET\",\"bytes\":\"AA==\"}", "{\"encrypted\":\"ASSET\",\"bytes\":\"AA==\",\"assets\":1}",
            "{\"encrypted\":\"ASSET\",\"bytes\":\"AA==\",\"assets\":[]}",
            "{\"encrypted\":\"LIST<ASSET>\",\"bytes\":\"AA==\",\"assets\":[1]}",
            "{\"encrypted\":\"STRING\",\"bytes\":\"%\"}", "{\"encrypted\":\"STRING\",\"bytes\":\"AA==\",\"x\":1}",
        ] {
            let json = try JSONParser.value(of: text)
            #expect(throws: ValueError.self, "\(text)") { try FieldValue(exported: json) }
        }
    }
}

@Suite("Export and import", .serialized)
struct ExportCommandTests {
    private static func session(_ server: ServerProcess, account: String) throws -> ClientSession {
        try ClientSession.unshared(
            BrumeConfiguration(
                server: server.ready["server"]?.text, caPath: server.ready["ca"]?.text,
                token: server.token(account), container: "iCloud.brume", environment: .development))
    }

    private static func records(_ zone: String, _ session: ClientSession) async throws -> [String: Record] {
        var records: [String: Record] = [:]
        var token: [UInt8] = []
        while true {
            let page = try await session.zoneChanges(
                ZoneChangesRequest(database: .private, zone: ZoneID(name: zone), token: token))
            for record in page.records { records[record.system.name] = record }
            for deletion in page.deletions { records[deletion.name] = nil }
            token = page.token
            if !page.moreComing { return records }
        }
    }

    @Test("a zone that is exported and imported is the same, over another one too", .timeLimit(.minutes(2)))
    func roundTrip() async throws {
        let folder = try TestFolder()
        let server = try ServerProcess.dev(folder: folder, arguments: ["--accounts", "a,b"])
        let a = try Self.session(server, account: "a")
        let zones = [ZoneID(name: "Notes"), ZoneID(name: "Empty"), ZoneID(name: "Copy")]
        _ = try await a.modifyZones(ModifyZonesRequest(database: .private, saves: zones))
        try await a.makeRings(in: ["Notes", "Copy"])
        func save(_ zone: String, _ saves: [RecordSave<DecodedFields>]) async throws {
            let result = try await a.modifyRecords(
                ModifyRecordsRequest(
                    database: .private, savePolicy: .allKeys,
                    zones: [ZoneModification(zone: ZoneID(name: zone), saves: saves)]))
            for save in result[0].saves {
                guard case .record = save.outcome else { throw CommandError(.failed, "\(save)") }
            }
        }
        try await save(
            "Notes", (0..<400).map { .init(name: "r\($0)", type: "Note", fields: ["n": .int64(Int64($0))]) })
        try await save(
            "Notes", [.init(name: "edges", type: "Everything", fields: exportedValues.mapValues { .some($0) })])
        // The parent is made last, and comes behind its children in the feed.
        try await save("Notes", [.init(name: "parent", type: "Note", fields: [:])])
        try await save(
            "Notes",
            (0..<50).map {
                .init(
                    name: "child\($0)", type: "Note", parent: .set($0 == 0 ? "parent" : "child\($0 - 1)"),
                    stamp: $0 % 2 == 0 ? [] : EncryptedSamples.stamp(filler: UInt8($0)), fields: [:])
            })
        try await save("Notes", [.init(name: "r5", type: "Note", stamp: EncryptedSamples.stamp(), fields: [:])])
        try await save("Notes", [.init(name: "parent", type: "Note", fields: ["n": .int64(1)])])
        // What the import has to take away.
        try await save(
            "Copy",
            [
                .init(name: "r1", type: "Note", fields: ["n": .int64(7), "more": .string("x")]),
                .init(name: "r2", type: "Note", parent: .set("r1"), fields: [:]),
            ])
        let file = folder.path + "/notes.jsonl"
        let exported = try server.run("export", file, "--zone", "Notes", "--json")
        #expect(exported.status == 0, "\(exported.errors)")
        #expect(try exported.json()["records"] == .integer(452))
        #expect(try server.run("export", file).status == ExitCode.conflict.rawValue)
        let imported = try server.run("import", file, "--format", "brume", "--zone", "Copy", "--json")
        #expect(imported.status == 0, "\(imported.errors)")
        #expect(try imported.json()["saved"] == .integer(452))
        let source = try await Self.records("Notes", a)
        let copy = try await Self.records("Copy", a)
        #expect(source.count == 452 && source.mapValues(\.fields) == copy.mapValues(\.fields))
        #expect(source["edges"]?.fields == exportedValues)
        #expect(source.mapValues(\.system.parent) == copy.mapValues(\.system.parent))
        #expect(source.mapValues(\.system.stamp) == copy.mapValues(\.system.stamp))
        #expect(source.values.count { !$0.system.stamp.isEmpty } == 26)
        let shown = try server.run("records", "get", "Notes", "edges")
        #expect(shown.output.contains("  sealed: (encrypted, not readable here)"), "\(shown.output) \(shown.errors)")
        let set = try server.run("records", "save", "Notes", "r1", "x:encrypted=AA==")
        #expect(set.status == ExitCode.usage.rawValue && set.errors.contains("--encrypted KEY=VALUE"), "\(set.errors)")
        #expect(source.mapValues(\.system.type) == copy.mapValues(\.system.type))

        // What is encrypted, and not in the export, stays where this device has no keys of it.
        let hidden: [String: FieldValue] = ["hidden": EncryptedSamples.value()]
        try await save("Copy", [.init(name: "r7", type: "Note", fields: hidden.mapValues { .some($0) })])
        let refused = try server.run("import", file, "--format", "brume", "--zone", "Copy")
        #expect(refused.status == ExitCode.failed.rawValue && refused.errors.contains("r7: "), "\(refused.errors)")
        #expect(try await Self.records("Copy", a)["r7"]?.fields["hidden"] == hidden["hidden"])

        // The default zone, which has no feed, holds more than a page; and everything, into another account.
        for part in 0..<3 {
            try await save(
                Names.defaultZone,
                (0..<300).map {
                    .init(name: "d\(part * 300 + $0)", type: "Loose\(part)", fields: ["n": .int64(Int64($0))])
                })
        }
        let loose = try server.run("export", "-", "--zone", "default")
        #expect(loose.status == 0)
        #expect(loose.output.count == 903)
        let all = try server.run("export", "-")
        #expect(all.status == 0)
        #expect(all.output.count == 1_810)
        let everything = try folder.write("all.jsonl", all.output.joined(separator: "\n"))
        let b = try Self.session(server, account: "b")
        let keyless = try server.run("import", everything, "--format", "brume", account: "b")
        #expect(keyless.status != 0, "no device of b could open what is encrypted")
        let own = [ZoneID(name: "Notes"), ZoneID(name: "Copy")]
        _ = try await b.modifyZones(ModifyZonesRequest(database: .private, saves: own))
        try await b.makeRings(in: own.map(\.name))
        let intoB = try server.run("import", everything, "--format", "brume", account: "b")
        #expect(intoB.status == 0)
        #expect(try await Self.records("Notes", b).mapValues(\.fields) == source.mapValues(\.fields))
        #expect(try await Self.records("Empty", b).isEmpty)
        let again = try server.run("export", "-", "--zone", "default", account: "b")
        let isSame = Self.contents(again.output) == Self.contents(loose.output)
        #expect(isSame)
        let several = try server.run("import", everything, "--format", "brume", "--zone", "One", account: "b")
        #expect(several.status == ExitCode.usage.rawValue)
        let zonesOfB = try server.run("zones", "list", account: "b").output
        #expect(!zonesOfB.isEmpty && zonesOfB.allSatisfy { !$0.contains("One") }, "nothing is made")
    }

    @Test("encrypted assets go along with their contents, encrypted as they are", .timeLimit(.minutes(2)))
    func encryptedAssets() async throws {
        let folder = try TestFolder()
        let server = try ServerProcess.dev(folder: folder, arguments: ["--accounts", "a,b"])
        let a = try Self.session(server, account: "a")
        _ = try await a.modifyZones(
            ModifyZonesRequest(database: .private, saves: [ZoneID(name: "Films"), ZoneID(name: "Copy")]))
        let content = try folder.write("film", String(repeating: "x", count: 5_000))
        let uploaded = try server.run("records", "save", "Films", "sea", "--type", "Film", "film=@" + content)
        #expect(uploaded.status == 0, "\(uploaded.errors)")
        let plain = try await Self.records("Films", a)["sea"]?.fields["film"]
        guard case .asset(let asset)? = plain else {
            Issue.record("\(uploaded.output)")
            return
        }
        // From now on nobody saves a plain file there.
        try await a.makeRings(in: ["Films", "Copy"])
        let fields = ["film": EncryptedSamples.asset(asset), "films": EncryptedSamples.assets([asset, asset])]
        _ = try await a.modifyRecords(
            ModifyRecordsRequest(
                database: .private, savePolicy: .allKeys,
                zones: [
                    ZoneModification(
                        zone: ZoneID(name: "Films"),
                        saves: [RecordSave(name: "sea", type: "Film", fields: fields.mapValues { .some($0) })])
                ]))
        let shown = try server.run("records", "get", "Films", "sea")
        #expect(shown.output.contains("  film: <asset> (4.8 KiB)  (encrypted)"), "\(shown.output) \(shown.errors)")
        let file = folder.path + "/films.jsonl"
        let exported = try server.run("export", file, "--zone", "Films", "--json")
        #expect(exported.status == 0, "\(exported.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: file + ".assets") == [asset.checksum.description])
        for account in ["a", "b"] {
            let session = try Self.session(server, account: account)
            if account == "b" {
                _ = try await session.modifyZones(
                    ModifyZonesRequest(database: .private, saves: [ZoneID(name: "Copy")]))
                try await session.makeRings(in: ["Copy"])
            }
            let imported = try server.run("import", file, "--format", "brume", "--zone", "Copy", account: account)
            #expect(imported.status == 0, "\(imported.output) \(imported.errors)")
            let copy = try #require(try await Self.records("Copy", session)["sea"]?.fields)
            #expect(copy.mapValues { FieldKind($0) } == fields.mapValues { FieldKind($0) })
            #expect(
                copy.values.flatMap(\.assets).map(\.checksum) == [AssetChecksum](repeating: asset.checksum, count: 3))
        }
    }

    /// The lines of records without what is their server's: tags, users and dates. In no order.
    private static func contents(_ lines: [String]) -> Set<String> {
        Set(lines.compactMap { line in line.range(of: ",\"system\"").map { String(line[..<$0.lowerBound]) } })
    }

    @Test("words that make no sense together are refused")
    func usage() throws {
        let folder = try TestFolder()
        let server = try ServerProcess.dev(folder: folder)
        let file = try folder.write("x.jsonl", "{\"a\":1}\n")
        for words in [["--format", "xml"], ["--format", "brume", "--type", "T"], ["--format", "brume", "--public"]] {
            let run = try CommandRun(["import", file] + words, environment: server.environment(), in: folder)
            #expect(run.status == ExitCode.usage.rawValue, "\(words) \(run.errors)")
        }
        let strange = try server.run("import", file, "--format", "brume")
        #expect(strange.status == ExitCode.failed.rawValue && strange.errors.contains("line 1"))
        #expect(try server.run("export", "-", "--zone", "_none").status == ExitCode.usage.rawValue)
        #expect(try server.run("export", folder.path + "/none", "--zone", "None").status == ExitCode.notFound.rawValue)
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/none"))
    }
}
