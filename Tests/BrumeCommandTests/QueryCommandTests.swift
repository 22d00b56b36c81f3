internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

@Suite("Queries on the command line", .serialized)
struct QueryCommandTests {
    private func server(_ arguments: [String] = []) throws -> ServerProcess {
        let server = try ServerProcess.dev(folder: TestFolder(), arguments: arguments)
        for number in 0..<5 {
            let saved = try server.run(
                "records", "save", "default", "n\(number)", "--type", "Note", "number:int64=\(number)",
                "title=\(number % 2 == 0 ? "even" : "odd") \(number)", "place:location=\(50 + number),13")
            #expect(saved.status == 0, "\(saved.errors)")
        }
        return server
    }

    @Test("records are found by a predicate, sorted, cut off, and printed as JSON or text")
    func query() throws {
        let server = try server()
        let found = try server.run(
            "records", "query", "--type", "Note", "--predicate", "title BEGINSWITH 'even' AND number > 0", "--sort",
            "number:desc", "--json")
        #expect(found.status == 0, "\(found.errors)")
        #expect(try found.output.map { try JSONParser.value(of: $0)["name"] } == [.string("n4"), .string("n2")])
        let all = try server.run("records", "query", "--type", "Note", "--all", "--keys", "number", "--json")
        #expect(all.output.count == 5)
        #expect(try JSONParser.value(of: #require(all.output.first))["fields"] == .object([("number", .integer(0))]))
        let some = try server.run("records", "query", "--type", "Note", "--limit", "2", "--sort", "place:54:13")
        #expect(some.output.first?.hasPrefix("n4") == true)
        #expect(some.output.first?.contains("in _defaultZone") == true)
        #expect(some.errors.contains("there are more than these 2"))
        let unknown = try server.run("records", "query", "--type", "Other", "--zone", "default")
        #expect(unknown.status == ExitCode.notFound.rawValue)
        #expect(unknown.errors.contains("Did not find record type: Other"), "\(unknown.errors)")
        for (words, meant) in [(["--type", "Nte"], "'Note'"), (["--type", "Note", "--sort", "numer"], "'number'")] {
            let mistyped = try CommandRun(
                ["records", "query"] + words, environment: server.environment(), in: server.folder)
            #expect(mistyped.errors.contains("did you mean \(meant)?"), "\(mistyped.errors)")
        }
        let none = try server.run("records", "query", "--type", "Note", "--predicate", "number > 9")
        #expect(none.status == 0)
        #expect(none.output == ["no record matches"])
    }

    @Test("a plan is printed as JSON or text")
    func explain() throws {
        let server = try server()
        let arguments = ["explain", "--type", "Note", "--predicate", "number BETWEEN {1, 3}"]
        let json = try CommandRun(
            arguments + ["--json"], environment: server.environment(), in: server.folder
        ).json()
        #expect(json["matches"] == .integer(3))
        // As many as the loop's time makes them.
        guard case .integer(let slices)? = json["slices"], slices >= 1 else {
            Issue.record("no slices")
            return
        }
        guard case .array(let steps)? = json["steps"] else {
            Issue.record("no steps")
            return
        }
        #expect(!steps.isEmpty)
        let text = try CommandRun(arguments, environment: server.environment(), in: server.folder)
        #expect(text.output.contains { $0.hasPrefix("page") && $0.contains("3 matches") }, "\(text.output)")
        #expect(text.output.first == "Note WHERE number BETWEEN {1, 3}", "\(text.output)")
        #expect(json["query"] == .string("Note WHERE number BETWEEN {1, 3}"))
        let many = (0..<1_000).map(String.init).joined(separator: ", ")
        let long = try server.run("explain", "--type", "Note", "--predicate", "number IN {\(many)}")
        #expect(long.output.first.map { $0.count < 450 && $0.hasSuffix("…") } == true, "\(long.output)")
        #expect(json["recordsEstimated"] != nil)
        #expect(text.output.contains { $0.hasPrefix("expected about") && $0.contains("record") }, "\(text.output)")
        #expect(text.output.contains { $0.hasPrefix("time") })
    }

    @Test("a predicate that can't be read is shown with a caret, and no server is needed for that")
    func mistakes() throws {
        let folder = try TestFolder()
        func run(_ arguments: String...) throws -> CommandRun {
            try CommandRun(["records", "query"] + arguments, in: folder)
        }
        let unread = try run("--type", "Note", "--predicate", "title = = 'x'")
        #expect(unread.status == ExitCode.usage.rawValue)
        #expect(unread.errors.contains("character 9"), "\(unread.errors)")
        #expect(unread.errors.split(separator: "\n").contains { $0.trimmingCharacters(in: .whitespaces) == "^" })
        #expect(try run("--predicate", "a = 1").errors.contains("needs --type"))
        #expect(try run("--type", "Users").errors.contains("can't be queried"))
        #expect(try run("--type", "Note", "--sort", "a:up").errors.contains("--sort takes KEY"))
        #expect(try run("--type", "Note", "--predicate", "title LIKE 'a*'").status == ExitCode.usage.rawValue)
    }

    @Test("a strict server refuses what CloudKit refuses, and says so")
    func strict() throws {
        let server = try server(["--strict"])
        // Learned fields are indexed, what the server keeps of each record is not, as in CloudKit.
        let all = try server.run("records", "query", "--type", "Note")
        #expect(all.status == ExitCode.failed.rawValue)
        #expect(all.errors.contains("'recordName' is not marked queryable"), "\(all.errors)")
        #expect(all.errors.contains("\"___recordID\" QUERYABLE"), "\(all.errors)")
        let or = try server.run("records", "query", "--type", "Note", "--predicate", "number = 1 OR number = 2")
        #expect(or.status == ExitCode.failed.rawValue)
        #expect(or.errors.contains("OR"), "\(or.errors)")
        #expect(
            try server.run("records", "query", "--type", "Note", "--predicate", "number IN {1, 2}", "--json").output
                .count
                == 2)
    }
}
