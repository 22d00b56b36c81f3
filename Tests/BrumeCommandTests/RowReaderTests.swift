internal import Testing

@testable internal import brume

@Suite("Rows are read from files")
struct RowReaderTests {
    /// All rows, and all errors as `line: message`.
    private func read(_ text: String) -> (rows: [Row], errors: [String]) {
        var rows: [Row] = []
        var errors: [String] = []
        Array(text.utf8).withUnsafeBytes { bytes in
            do throws(RowError) {
                var reader = try RowReader(bytes)
                while errors.count <= 10 {
                    do throws(RowError) {
                        guard let row = try reader.next() else { return }
                        rows.append(row)
                    } catch {
                        errors.append("\(error.line): \(error.message)")
                    }
                }
            } catch {
                errors.append("\(error.line): \(error.message)")
            }
        }
        return (rows, errors)
    }

    private func row(_ line: Int, _ number: Int, _ fields: KeyValuePairs<String, JSONValue>) -> Row {
        Row(line: line, number: number, fields: fields.map { ($0.key, $0.value) })
    }

    @Test("CSV: quotes, doubled quotes, commas, line breaks in fields, CRLF, a byte order mark and no last line break")
    func csv() {
        let (rows, errors) = read("\u{FEFF}a,b\r\n1,\"x, \"\"y\"\"\r\nz\"\r\n\r\n,é\r\n\"\",last")
        #expect(errors.isEmpty)
        #expect(
            rows == [
                row(2, 1, ["a": .string("1"), "b": .string("x, \"y\"\r\nz")]),
                row(5, 2, ["b": .string("é")]),
                row(6, 3, ["b": .string("last")]),
            ])
    }

    @Test("CSV: a bad row is named by its line, and the rows behind it are read")
    func badCSVRows() {
        let (rows, errors) = read("a,b\n1\n2,3\nx\"y,1\n\"q\"z,1\n4,5\n\"open,1\n")
        #expect(rows.map(\.line) == [3, 6])
        #expect(
            errors == [
                "2: the row has 1 columns, the header has 2",
                "4: a quote stands inside of an unquoted field; quote the field and double the quote",
                "5: text stands behind a closing quote",
                "7: a quoted field that starts in this row has no closing quote",
            ])
    }

    @Test(
        "CSV: a header must name every column once",
        arguments: [
            ("", "the file is empty; its first line names the columns"), ("a,,b\n", "a column has no name"),
            ("a,a\n", "two columns have the name \"a\""),
        ])
    func header(text: String, message: String) {
        #expect(read(text).errors == ["1: \(message)"])
    }

    @Test("JSON: an array of objects, over lines")
    func jsonArray() {
        let (rows, errors) = read(
            "\u{FEFF} [\n{\"a\": 1, \"b\": [true, null]},\n\n{\"a\": 1.0, \"é\\u00e9\\ud83d\\ude00\": \"\\n\"}]\n")
        #expect(errors.isEmpty)
        #expect(
            rows == [
                row(2, 1, ["a": .integer(1), "b": .array([.bool(true), .null])]),
                row(4, 2, ["a": .number(1), "éé😀": .string("\n")]),
            ])
        #expect(read("[]").rows.isEmpty)
        #expect(read("[]").errors.isEmpty)
    }

    @Test("JSON lines: a bad line is named, and the lines behind it are read")
    func jsonLines() {
        let (rows, errors) = read("{\"a\":1}\n{\"a\":}\n{\"a\" 1}\n{\"a\":2}\n3\n{\"a\":3}")
        #expect(rows.map(\.line) == [1, 4, 6])
        #expect(
            errors == [
                "2: this is no JSON value", "3: a colon is expected behind the key \"a\"",
                "5: the row is a whole number, not an object",
            ])
    }

    @Test(
        "JSON: an array that breaks ends with an error, and never loops",
        arguments: [
            "[{\"a\":1}", "[{\"a\":1} {\"b\":2}]", "[{\"a\":1},", "[{\"a\":1},]", "[{\"a\":\"x]", "[{\"a\":01}]",
            "[1]x", "[{\"a\":\"\u{1}\"}]",
        ])
    func brokenArrays(text: String) {
        #expect((1...2).contains(read(text).errors.count))
    }

    @Test("JSON: deep nesting is refused before the stack is full")
    func depth() {
        #expect(throws: RowError.self) { try JSONParser.value(of: String(repeating: "[", count: 100_000)) }
    }

    @Test(
        "JSON: numbers and texts are what RFC 8259 says",
        arguments: ["01", "-", "+1", "1.", ".5", "1e", "--1", "1e999", "0x1", "1 2", "nul", "\"\\ud800\"", "\"\\x\""])
    func badValues(text: String) {
        #expect(throws: RowError.self) { try JSONParser.value(of: text) }
    }

    @Test("JSON: what is written is read back", arguments: [false, true])
    func roundTrip(pretty: Bool) throws {
        let value = JSONValue.object([
            ("b", .array([.integer(.min), .number(1), .number(1e-300), .bool(false)])),
            ("a", .string("\u{0}\"\\\u{7F}é\n")),
            ("o", .object([])), ("l", .array([.object([("x", .null)])])),
        ])
        #expect(try JSONParser.value(of: pretty ? value.pretty : value.line) == value)
    }

    @Test("damaged files end, in rows or in errors that name a line, whatever the damage")
    func damage() {
        let seed = UInt64.random(in: .min ... .max)
        print("damaged rows: seed \(seed)")
        var state = seed
        func random(below bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(max(1, bound)))
        }
        let files = [
            "name,type,\"a b\"\r\nx,T,\"1\"\"2\"\r\ny,U,\r\n",
            "[{\"name\":\"x\",\"n\":[1,-2.5e3,true,null,{\"a\":\"\\ud83c\\udf4e\\n\"}]},{\"name\":\"y\"}]",
            "{\"name\":\"x\",\"n\":1}\n{\"name\":\"é\",\"s\":\"\\\"\"}\n\n{}\n",
        ].map { Array($0.utf8) }
        let interesting = Array("\"\\,{}[]:\n\r-e.u0".utf8) + [0, 0x80, 0xFF, 0xEF]
        for round in 0..<20_000 {
            var bytes = files[round % files.count]
            for _ in 0...random(below: 5) where !bytes.isEmpty {
                let place = random(below: bytes.count)
                switch random(below: 4) {
                case 0: bytes[place] = interesting[random(below: interesting.count)]
                case 1: bytes.remove(at: place)
                case 2: bytes.insert(interesting[random(below: interesting.count)], at: place)
                default: bytes.removeLast(random(below: bytes.count))
                }
            }
            let lines = bytes.count { $0 == 0x0A } + 1
            bytes.withUnsafeBytes { bytes in
                do throws(RowError) {
                    var reader = try RowReader(bytes)
                    var results = 0
                    while true {
                        results += 1
                        guard results <= bytes.count + 2 else {
                            Issue.record("the reader does not end, seed \(seed), round \(round)")
                            return
                        }
                        do throws(RowError) {
                            guard let row = try reader.next() else { return }
                            if row.line < 1 || row.line > lines { Issue.record("no such line, seed \(seed)") }
                        } catch {
                            if error.line < 1 || error.line > lines { Issue.record("no such line, seed \(seed)") }
                        }
                    }
                } catch {
                    if error.message.isEmpty { Issue.record("an error without a sentence, seed \(seed)") }
                }
            }
        }
    }
}
