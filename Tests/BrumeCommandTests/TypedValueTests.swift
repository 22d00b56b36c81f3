internal import Foundation
internal import Testing

@testable internal import brume

@Suite("Values are read and printed")
struct TypedValueTests {
    @Test(
        "a field is written as key=text or key:type=value",
        arguments: [
            ("a=b=c", "a", TypedValue.text("b=c")), ("n:int64=-5", "n", .int64(-5)), ("d:double=1", "d", .double(1)),
            ("b:bytes=AAEC", "b", .bytes(Data([0, 1, 2]))), ("r:reference=x", "r", .reference("x", deletesSelf: false)),
            ("l:location=52.5, -13.25", "l", .location(latitude: 52.5, longitude: -13.25)),
            ("t:list=[1, 2.5]", "t", .list([.double(1), .double(2.5)])), ("e:text=", "e", .text("")),
            ("w:date=1970-01-02", "w", .date(Date(timeIntervalSince1970: 86_400))),
            ("w:date=1970-01-01T01:00:00.5+01:00", "w", .date(Date(timeIntervalSince1970: 0.5))),
            ("w:date=1970-01-01T00:00:01Z", "w", .date(Date(timeIntervalSince1970: 1))),
        ])
    func fields(word: String, key: String, value: TypedValue) throws {
        let field = try FieldArgument(word)
        #expect(field.key == key)
        #expect(field.value == value)
    }

    @Test("an empty value without a type removes the key")
    func removal() throws {
        #expect(try FieldArgument("a=").value == nil)
    }

    @Test(
        "what can't be stored is refused with a reason",
        arguments: [
            "a", "n:int64=1.5", "n:int64=9223372036854775808", "d:double=x", "w:date=yesterday", "b:bytes=?",
            "l:location=91,0", "l:location=1", "l:list=5", "x:in64=1", "l:list=[[1]]", "l:list=[1,\"a\"]",
            "l:list=[{\"a\":1}]", "e:encrypted=AAEC",
            "l:list=[{\"encrypted\":\"STRING\",\"bytes\":\"AAEC\"}]",
        ])
    func bad(word: String) {
        #expect(throws: ValueError.self) { try FieldArgument(word) }
    }

    @Test("what is printed as JSON is read back")
    func roundTrip() throws {
        let values: [TypedValue] = [
            .text("é"), .int64(.max), .double(2), .double(.infinity),
            .date(Date(timeIntervalSince1970: 1_700_000_000.125)), .bytes(Data([255])),
            .location(latitude: -1, longitude: 2.5), .reference("r", deletesSelf: true),
            .reference("r", deletesSelf: false), .list([.text("a")]), .list([]),
            .list([.location(latitude: 1, longitude: 2)]),
        ]
        for value in values {
            #expect(try TypedValue(json: JSONParser.value(of: value.json.line)) == value)
        }
    }

    @Test("an encrypted value is printed, open or not, and never read as a plain one")
    func encrypted() throws {
        let value = TypedValue.encrypted(EncryptedField(type: "LIST<INT64>", bytes: Data([0, 1, 2])))
        #expect(value.summary == "(encrypted, not readable here)" && value.typeName == "encrypted")
        #expect(value.json.line == #"{"encrypted":"LIST<INT64>","bytes":"AAEC"}"#)
        let opened = TypedValue.opened(type: "LIST<INT64>", .list([.int64(1), .int64(2)]))
        #expect(opened.summary == "[1, 2]  (encrypted)" && opened.typeName == "encrypted")
        #expect(opened.json.line == #"{"encrypted":"LIST<INT64>","value":[1,2]}"#)
        for text in [value.json.line, opened.json.line, #"{"encrypted":"STRING"}"#, #"{"encrypted":1,"x":2}"#] {
            let error = #expect(throws: ValueError.self) { try TypedValue(json: JSONParser.value(of: text)) }
            #expect(error?.message.contains("--encrypted") == true)
        }
    }

    @Test("an encrypted asset says what the server keeps of it, and is never taken for a plain one")
    func encryptedAssets() throws {
        let assets = [AssetValue(checksum: "ab", byteCount: 136), AssetValue(checksum: "cd", byteCount: 4_096)]
        let one = TypedValue.encrypted(EncryptedField(type: "ASSET", bytes: Data([0, 1, 2]), assets: [assets[0]]))
        #expect(one.summary == "<asset> (136 bytes)  (encrypted)" && one.typeName == "encrypted")
        #expect(
            one.json.line
                == #"{"encrypted":"ASSET","bytes":"AAEC","assets":[{"checksum":"ab","byteCount":136}]}"#)
        let list = TypedValue.encrypted(EncryptedField(type: "LIST<ASSET>", bytes: Data(), assets: assets))
        #expect(list.summary == "<asset> (136 bytes), <asset> (4.0 KiB)  (encrypted)")
        for value in [one, list] {
            #expect(throws: ValueError.self) { try TypedValue(json: JSONParser.value(of: value.json.line)) }
        }
    }

    @Test("a date keeps its millisecond through text")
    func dates() throws {
        for milliseconds in stride(from: -2_001, through: 1_795_195_210_894, by: 1_795_195_213) {
            let text = TypedValue.text(of: Date(timeIntervalSince1970: Double(milliseconds) / 1000))
            let date = try #require(TypedValue.date(text))
            #expect(Int64((date.timeIntervalSince1970 * 1000).rounded()) == Int64(milliseconds))
            #expect(TypedValue.text(of: date) == text)
        }
    }

    @Test("an imported row is named by its field or its number, and typed by its columns")
    func mapping() throws {
        let row = Row(
            line: 7, number: 3, fields: [("code", .string("x")), ("size:int64", .string("5")), ("gone", .null)])
        var unnamed = RowMapper(nameField: nil)
        let first = try unnamed.map(row)
        #expect(first.name == "row-3")
        #expect(first.fields == ["code": .text("x"), "size": .int64(5)])
        var named = RowMapper(nameField: "code")
        #expect(try named.map(row).name == "x")
        let again = #expect(throws: RowError.self) { try named.map(row) }
        #expect(again?.message == "the name \"x\" was used in line 7 already")
    }

    @Test("a nested value is refused with its line and key")
    func nested() {
        var mapper = RowMapper(nameField: nil)
        let row = Row(line: 4, number: 1, fields: [("tree", .object([("leaf", .integer(1))]))])
        let error = #expect(throws: RowError.self) { try mapper.map(row) }
        #expect(error?.line == 4)
        #expect(error?.message.hasPrefix("tree: an object can't be stored") == true)
    }

    @Test("places of zone1970.tab are read with minutes and seconds")
    func coordinates() {
        #expect(TimeZones.coordinates("+4230+00131") == .location(latitude: 42.5, longitude: 1 + 31.0 / 60))
        #expect(
            TimeZones.coordinates("-513030-0000900")
                == .location(latitude: -(51 + 30.0 / 60 + 30.0 / 3600), longitude: -9.0 / 60))
        #expect(TimeZones.coordinates("4230+00131") == nil)
        #expect(TimeZones.coordinates("+42x0+00131") == nil)
    }

    @Test("a time zone's line gives countries, place, name and comment")
    func timeZones() throws {
        let records = try TimeZones.records(
            "# c\nAE,OM\t+2518+05518\tAsia/Dubai\tCrozet\nAD\t+4230+00131\tEurope/Andorra\n", path: "p")
        #expect(records.map(\.name) == ["Asia/Dubai", "Europe/Andorra"])
        #expect(records[0].fields["countries"] == .list([.text("AE"), .text("OM")]))
        #expect(records[0].fields["comments"] == .text("Crozet"))
        #expect(records[1].fields["comments"] == nil)
        #expect(throws: CommandError.self) { try TimeZones.records("nonsense", path: "p") }
    }
}
