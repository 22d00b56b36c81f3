internal import BrumeSystem
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

@Suite("The types of a CSV file's columns")
struct ColumnTypesTests {
    private static func guess(_ values: [String]) -> ColumnGuess {
        var guess = ColumnGuess()
        for value in values { guess.add(value) }
        return guess
    }

    @Test(
        "a column is what all of its values are",
        arguments: [
            (["1", "-5", "0", "9223372036854775807", "-9223372036854775808"], ColumnGuess.Kind.int64),
            (["1", "", "2", ""], .int64), (["1.5", "2.25", "-0.5"], .double), (["1", "2.5"], .double),
            (["1.5", "2"], .double), (["1.5e-3", "2E+4", "1.0"], .double), (["-0"], .double),
            (["2026-01-02", "1999-12-31"], .date),
            (["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.678+01:00", "2024-02-29"], .date),
            (["true", "false", "TRUE", "False"], .bool), (["", "", ""], .nothing), ([], .nothing),
        ] as [([String], ColumnGuess.Kind)])
    func kinds(values: [String], kind: ColumnGuess.Kind) {
        #expect(Self.guess(values).kind == Self.guess(values.reversed()).kind, "\(values)")
        #expect(Self.guess(values).kind == kind, "\(values)")
    }

    @Test(
        "what is anything else is text, whatever stands beside it",
        arguments: [
            ["12", "twelve"], ["1", "true"], ["2026-01-02", "1"], ["true", "yes"], ["yes", "no"], ["t", "f"],
            ["+49 30 901820"], ["+4930901820"], ["1,5"], ["1.000.000"], ["1 000"], [" 1"], ["1 "], ["0x10"], ["1_000"],
            [".5"], ["5."], ["-"], ["1e5"], ["12E4"], ["1e"], ["nan"], ["inf"], ["Infinity"], ["NaN"], ["null"],
            ["20260102"].map { "v" + $0 }, ["2026-1-2"], ["2026-13-01"], ["2026-02-30"], ["2023-02-29"], ["01/02/2026"],
            ["2026-01-02 03:04:05"], ["2026-01-02T03:04:05"], ["2026-01-02T25:00:00Z"], ["2026-01-02T"],
            ["2026-01-02T03:04Z"], ["12:30"], ["٣"], ["１２"],
        ])
    func text(values: [String]) {
        #expect(Self.guess(values).kind == Self.guess(values.reversed()).kind, "\(values)")
        #expect(Self.guess(values).kind == .text, "\(values)")
        #expect(Self.guess(values).doubt == nil, "\(values)")
    }

    @Test(
        "numbers that would lose something stay text, and it is said why",
        arguments: [
            (["007", "8"], ColumnGuess.Doubt.leadingZero), (["10115", "01067"], .leadingZero), (["00.5"], .leadingZero),
            (["-01"], .leadingZero), (["1.5", "007"], .leadingZero), (["9223372036854775808"], .tooLarge),
            (["1", "123456789012345678901234567890"], .tooLarge), (["9007199254740993", "0.5"], .tooLarge),
            (["0.5", "9007199254740993"], .tooLarge), (["1.0e+999"], .tooLarge),
        ] as [([String], ColumnGuess.Doubt)])
    func doubts(values: [String], doubt: ColumnGuess.Doubt) {
        for values in [values, values.reversed()] {
            #expect(Self.guess(values).kind == .text, "\(values)")
            #expect(Self.guess(values).doubt == doubt, "\(values)")
        }
        // With a value that is no number at all nothing is lost that anybody would miss.
        #expect(Self.guess(values + ["x"]).doubt == nil)
    }

    /// Numbers, dates and truth values as they are written, in every order: what is guessed can hold each of them.
    @Test("every value can be read as what its column is taken for")
    func readable() throws {
        var generator = SystemRandomNumberGenerator()
        let values = [
            "0", "7", "-12", "1.25", "007", "9223372036854775807", "9223372036854775808", "true", "FALSE", "2026-01-02",
            "2026-01-02T03:04:05Z", "x", "", "1e5", "2.5e-3", "-0",
        ]
        for _ in 0..<2_000 {
            let column = (0..<Int.random(in: 1...4, using: &generator)).map { _ in
                values.randomElement(using: &generator)!
            }
            let kind = Self.guess(column).kind
            for value in column where !value.isEmpty {
                switch kind {
                case .int64: #expect(try TypedValue(text: value, type: "int64").summary == value, "\(column)")
                case .double: #expect(try TypedValue(text: value, type: "double").typeName == "double", "\(column)")
                case .date: #expect(try TypedValue(text: value, type: "date").typeName == "date", "\(column)")
                case .bool: #expect(try TypedValue(text: value, type: "bool").typeName == "int64", "\(column)")
                case .text: break
                case .nothing: Issue.record("\(column) has values")
                }
            }
        }
    }

    @Test("types in the header win, the name field stays text, and rows that can't be read count for nothing")
    func file() throws {
        let text = """
            id,code,population:text,area,founded,open,zip,note,empty
            1,1,3700000,891.7,1237-10-28,true,10115,a,
            2,2,1800000,755,,false,01067,"b
            c",
            3,3,x
            4,,5,,,,,,
            """
        func types(_ text: String, nameField: String? = nil) throws -> ColumnTypes {
            try Data(text.utf8).withUnsafeBytes { bytes in try ColumnTypes(bytes, nameField: nameField) }
        }
        let named = try types(text, nameField: "id")
        #expect(named.types == ["code": "int64", "area": "double", "founded": "date", "open": "bool"])
        #expect(named.sentences.count == 5)
        #expect(named.sentences.contains { $0.hasPrefix("zip: text, because") })
        #expect(try types(text).types["id"] == "int64")
        #expect(try types("a:int64,b:date\n1,2026-01-01\n") == ColumnTypes())
    }

    @Test("an import from the standard input knows its columns before it saves, and says which")
    func imported() throws {
        let server = try ServerProcess.dev(folder: TestFolder())
        let csv = try server.folder.write(
            "c.csv", "name,n,d,when,yes,zip\nx,1,1.5,2026-01-02,true,01\ny,2,2,,false,10\n")
        let environment = CommandRun.clean(try server.environment())
        func imported(_ options: String) throws -> Int32 {
            try ChildProcess(
                executable: "/bin/sh",
                arguments: [
                    "-c", "exec \(CommandRun.executable) import - --name-field name --type T \(options) <\(csv) >&2",
                ], environment: environment, errors: .file(server.folder.path + "/import.log")
            ).wait()
        }
        #expect(try imported("--zone Typed") == 0)
        let log = try String(contentsOfFile: server.folder.path + "/import.log", encoding: .utf8)
        #expect(log.contains("n: int64\nd: double\nwhen: date\nyes: bool") && log.contains("zip: text"), "\(log)")
        let fields = try #require(try server.run("records", "get", "Typed", "x", "--json").json()["fields"])
        #expect(fields["n"] == .integer(1))
        #expect(fields["yes"] == .integer(1))
        #expect(fields["zip"] == .string("01"))
        #expect(fields["d"] == .number(1.5))

        let asText = try server.run(
            "import", csv, "--zone", "Text", "--type", "U", "--name-field", "name", "--all-text", "--json")
        #expect(asText.status == 0, "\(asText.errors)")
        #expect(try asText.json()["columns"] == .object([]))
        let texts = try #require(try server.run("records", "get", "Text", "x", "--json").json()["fields"])
        #expect(texts["n"] == .string("1") && texts["yes"] == .string("true"))
    }
}
