internal import Testing

@testable internal import brume

@Suite("A command line is understood")
struct ArgumentParserTests {
    private static let save = CommandDefinition(
        ["records", "save"], "saves",
        arguments: [
            ArgumentDefinition("ZONE", "the zone"),
            ArgumentDefinition("NAME", "names", isOptional: true, repeats: true),
        ],
        options: [
            OptionDefinition("type", "T", "the type", fallback: "Item"),
            OptionDefinition("container", "NAME", "containers", repeats: true),
            OptionDefinition("field", "KEY=VALUE", "fields", repeats: true, holdsCommas: true),
            OptionDefinition("json", nil, "JSON"),
        ], body: .blocking { _ in .done })
    private static let get = CommandDefinition(["records", "get"], "gets", body: .blocking { _ in .done })
    private static let serve = CommandDefinition(["serve"], "serves", body: .blocking { _ in .done })

    private func parser(
        environment: [String: String] = [:], file: @escaping (String) -> String? = { _ in nil }
    ) -> ArgumentParser {
        ArgumentParser(commands: [Self.save, Self.get, Self.serve], environment: environment, readFile: file)
    }

    private func invocation(
        _ words: [String], environment: [String: String] = [:], file: @escaping (String) -> String? = { _ in nil }
    ) throws -> Invocation {
        guard case .run(let invocation) = try parser(environment: environment, file: file).parse(words) else {
            throw ValueError(message: "the command line asks for help")
        }
        return invocation
    }

    private func problem(_ words: [String]) -> UsageError? {
        do throws(UsageError) {
            _ = try parser().parse(words)
            return nil
        } catch {
            return error
        }
    }

    @Test("a flag wins over the environment, that over the file, that over the default")
    func precedence() throws {
        let file: (String) -> String? = { $0 == "f" ? "# ours\ntype = \"File\"\n" : nil }
        let words = ["records", "save", "Z"]
        #expect(try invocation(words).text("type") == "Item")
        #expect(try invocation(words + ["--config", "f"], file: file).text("type") == "File")
        let environment = ["BRUME_TYPE": "Variable", "BRUME_CONFIG": "f"]
        #expect(try invocation(words, environment: environment, file: file).text("type") == "Variable")
        #expect(try invocation(words + ["--type=Flag"], environment: environment, file: file).text("type") == "Flag")
    }

    @Test("options and arguments mix, and two dashes end the options")
    func mixing() throws {
        let parsed = try invocation(["records", "save", "--json", "Z", "a", "--type", "-5", "--", "--type"])
        #expect(parsed.arguments == ["Z", "a", "--type"])
        #expect(parsed.text("type") == "-5")
        #expect(parsed.isOn("json"))
    }

    @Test("a repeated option is a list, also with commas")
    func lists() throws {
        let words = ["records", "save", "Z"]
        #expect(try invocation(words + ["--container", "a,b", "--container=c"]).texts("container") == ["a", "b", "c"])
        #expect(try invocation(words, environment: ["BRUME_CONTAINER": "x, y"]).texts("container") == ["x", "y"])
        #expect(try invocation(words + ["--field", "a=1,2", "--field=b"]).texts("field") == ["a=1,2", "b"])
        #expect(try invocation(words, environment: ["BRUME_FIELD": "a=1, 2"]).texts("field") == ["a=1, 2"])
    }

    @Test(
        "what is wrong is said, with the nearest name",
        arguments: [
            (["serv"], "there is no command \"serv\"", "did you mean: brume serve"),
            (["records", "gte"], "there is no command \"records gte\"", "did you mean: brume records get"),
            (["records", "save", "Z", "--tpye", "x"], "records save has no option \"--tpye\"", "did you mean --type?"),
            (["records", "save", "Z", "--type"], "--type needs a value: --type T", "see: brume records save --help"),
            (["records", "save"], "records save needs ZONE: the zone", "see: brume records save --help"),
            (["records"], "records needs one of: save, get", "see: brume records --help"),
            (["serve", "x"], "serve does not know what to do with \"x\"", "see: brume serve --help"),
            (
                ["records", "save", "Z", "--type", "a", "--type", "b"], "--type is given twice",
                "see: brume records save --help"
            ),
            (
                ["records", "save", "Z", "--json=perhaps"], "--json is true or false, not \"perhaps\"",
                "see: brume records save --help"
            ),
            (["xyzzy"], "there is no command \"xyzzy\"", "see: brume help"),
        ])
    func problems(words: [String], message: String, hint: String) {
        #expect(problem(words) == UsageError(message, hint: hint))
    }

    @Test("a configuration file is checked line by line")
    func configurationFile() {
        func read(_ text: String) -> UsageError? {
            do throws(UsageError) {
                _ = try ConfigurationFile(text, path: "f", names: ["listen", "data"])
                return nil
            } catch {
                return error
            }
        }
        #expect(read("listen = 0.0.0.0:1\r\n\r\n  data=x") == nil)
        #expect(read("lisen = 1")?.message == "f:1: there is no option \"lisen\"")
        #expect(read("lisen = 1")?.hint == "did you mean \"listen\"?")
        #expect(read("# x\nlisten")?.message == "f:2: a line is `key = value`")
    }

    @Test("help is found before, behind and instead of a command")
    func help() throws {
        func topic(_ words: [String]) throws -> ArgumentParser.HelpTopic? {
            guard case .help(let topic) = try parser().parse(words) else { return nil }
            return topic
        }
        #expect(try topic([]) == .everything)
        #expect(try topic(["--help"]) == .everything)
        #expect(try topic(["help", "serve"]) == .command(["serve"]))
        #expect(try topic(["records", "--help"]) == .group("records"))
        #expect(try topic(["records", "save", "--help"]) == .command(["records", "save"]))
        #expect(try topic(["serve", "-h"]) == .command(["serve"]))
    }

    @Test("numbers are checked against their range")
    func numbers() throws {
        let parsed = try invocation(["records", "save", "Z", "--type", "12"])
        #expect(try parsed.integer("type", in: 1...20) == 12)
        #expect(throws: UsageError.self) { try parsed.integer("type", in: 1...11) }
        #expect(try parsed.number("type", in: 0...12.5) == 12)
    }

    @Test("a group's name alone asks help for the group, and a mistyped group names the command that was meant")
    func groups() throws {
        guard case .help(.group("records")) = try parser().parse(["help", "records"]) else {
            Issue.record("help on a group is something else")
            return
        }
        #expect(problem(["recrods", "save", "Z"])?.hint == "did you mean: brume records save")
        #expect(problem(["recrods", "gte", "Z"])?.hint == "did you mean: brume records get")
        #expect(problem(["recrods"])?.hint == "did you mean: brume records")
        #expect(problem(["recrods", "frobnicate"])?.hint == "did you mean: brume records")
    }
}
