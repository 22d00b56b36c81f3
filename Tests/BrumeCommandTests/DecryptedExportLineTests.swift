internal import BrumeModel
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

@Suite("Lines of exports in the clear")
struct DecryptedExportLineTests {
    @Test("encrypted fields in the clear are read as they were written, apart from the others")
    func openedFields() throws {
        let assets = [RecordSamples.asset(1, byteCount: 136), RecordSamples.asset(2, byteCount: 4_096)]
        var opened = exportedValues.filter { FieldKind($0.value).fitsEncryptedField }
        opened["file"] = .asset(assets[0])
        opened["files"] = .assets(assets)
        var record = Record(system: SystemFields(name: "a", type: "Note", parent: "b"))
        record.fields = ["plain": .string("text"), "sealedYet": EncryptedSamples.value(.double)]
        let line = ExportLine.record(zone: "Z", record, opened: opened)
        #expect(try ExportLine(JSONParser.value(of: line.json.line)) == line)
        #expect(line.json["fields"]?["emptyText"]?.line == "{\"encrypted\":\"STRING\",\"value\":\"\"}")
        #expect(line.json["fields"]?["list"]?.line == "{\"encrypted\":\"LIST\",\"value\":{\"list\":[]}}")
        for line in [
            ExportLine.header(isDecrypted: false), .header(isDecrypted: true), .zone("Z"),
            .zone("Z", encryptsAssets: true),
        ] {
            #expect(try ExportLine(JSONParser.value(of: line.json.line)) == line)
        }
    }

    @Test("encrypted fields in the clear are refused where the first line says that there are none")
    func openedFieldsOfVersion1() throws {
        let record = Record(system: SystemFields(name: "a", type: "Note"))
        let lines: [ExportLine] = [
            .zone("Z"), .record(zone: "Z", record, opened: ["n": .int64(1)]), .end(zones: 1, records: 1),
        ]
        func read(_ header: String) throws -> ExportReader {
            let texts = [header] + lines.map { $0.json.line }
            let reader = try ExportReader(Data(texts.joined(separator: "\n").utf8))
            while try reader.next() != nil {}
            return reader
        }
        #expect(try read(ExportLine.header(isDecrypted: true).json.line).isDecrypted)
        #expect(throws: RowError.self) { try read(ExportLine.header(isDecrypted: false).json.line) }
        for text in [
            "\"version\":2", "\"version\":2,\"decrypted\":false", "\"version\":1,\"decrypted\":true",
            "\"version\":3",
        ] {
            #expect(throws: RowError.self, "\(text)") { try read("{\"brume\":\"export\",\(text)}") }
        }
    }

    @Test("what is no encrypted field in the clear is refused")
    func strangeOpenedFields() throws {
        for text in [
            "{\"encrypted\":\"STRING\",\"value\":5}", "{\"encrypted\":\"INT64\",\"value\":\"5\"}",
            "{\"encrypted\":\"TEXT\",\"value\":\"5\"}", "{\"encrypted\":5,\"value\":5}",
            "{\"encrypted\":\"STRING\",\"value\":\"5\",\"bytes\":\"AA==\"}",
            "{\"encrypted\":\"STRING\",\"value\":\"5\",\"assets\":[]}", "{\"encrypted\":\"STRING\",\"value\":null}",
            "{\"encrypted\":\"STRING\",\"value\":{\"encrypted\":\"STRING\",\"value\":\"5\"}}",
            "{\"encrypted\":\"STRING\",\"value\":{\"encrypted\":\"STRING\",\"bytes\":\"AA==\"}}",
            "{\"encrypted\":\"REFERENCE\",\"value\":{\"reference\":\"a\",\"deletesSelf\":false}}",
            "{\"encrypted\":\"LIST<ASSET>\",\"value\":{\"assets\":[]}}", "{\"encrypted\":\"ASSET\",\"value\":{}}",
        ] {
            let fields = "{\"zone\":\"Z\",\"name\":\"a\",\"type\":\"T\",\"fields\":{\"x\":\(text)}}"
            let json = try JSONParser.value(of: fields)
            #expect(throws: ValueError.self, "\(text)") { try ExportLine(json) }
        }
    }

    @Test("parents are set from the roots down, whatever the order, and a circle ends")
    func levels() {
        #expect(EncryptingImporter.levels([:]).isEmpty)
        #expect(
            EncryptingImporter.levels(["c": "b", "d": "c", "a": "root", "b": "a", "x": "root"])
                == [["a", "x"], ["b"], ["c"], ["d"]])
        let circle = EncryptingImporter.levels(["a": "b", "b": "a", "c": "a", "d": "d"])
        #expect(circle.joined().sorted() == ["a", "b", "c", "d"])
    }
}
