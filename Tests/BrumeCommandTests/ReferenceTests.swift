internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

@Suite("What is made of the table of commands")
struct ReferenceTests {
    private static let groups = CommandGroup.all(of: CommandTable.commands)
    private let pages = ManualPages(commands: CommandTable.commands).all

    @Test(
        "has a manual page for each group of commands, which names its commands and options",
        arguments: groups.map(\.name))
    func page(name: String) throws {
        let group = try #require(Self.groups.first { $0.name == name })
        let page = try #require(pages.first { $0.file == "brume-\(name).1" })
        for command in group.members {
            #expect(page.text.contains(Roff.bold("brume \(command.name)")), "\(command.name)")
            for option in command.allOptions where !option.isHidden {
                #expect(page.text.contains(Roff.text(option.isSecret ? option.variable : "--\(option.name)")))
            }
        }
        for line in page.text.split(separator: "\n") where line.hasPrefix("'") {
            Issue.record("the manual takes the line for one of its own commands: \(line)")
        }
    }

    @Test("lists every command in the overview, and every option of the server in the page of its file")
    func overview() throws {
        let overview = try #require(pages.first { $0.file == "brume.1" })
        for command in CommandTable.commands where !command.isHidden {
            #expect(overview.text.contains(Roff.bold("brume \(command.name)")))
        }
        let file = try #require(pages.first { $0.file == "brume.conf.5" })
        for option in ServeCommand.options where !option.isHidden {
            #expect(file.text.contains(Roff.bold(option.name)))
        }
    }

    @Test("keeps signs that mean something to the manual's typesetter")
    func signs() {
        #expect(Roff.text(".x \\n --a it's `b` ~ ^") == "\\&.x \\en \\-\\-a it\\(aqs \\(gab\\(ga \\(ti \\(ha")
        #expect(Roff.text("a\n.b") == "a\n\\&.b")
    }

    @Test("is a configuration file that sets what is given, and comments on every other option with its default")
    func configurationFile() throws {
        let folder = try TestFolder()
        let run = try CommandRun(
            ["config", "print", "--data", "/srv/x", "--container", "a", "--container", "b", "--no-development"],
            in: folder)
        #expect(run.status == 0, "\(run.errors)")
        let lines = Set(run.output)
        #expect(lines.isSuperset(of: ["data = /srv/x", "container = a", "container = b", "no-development = true"]))
        #expect(lines.isSuperset(of: ["#listen = 127.0.0.1:7440", "#strict = false", "#certificate ="]))
        for option in ServeCommand.options where !option.isHidden {
            #expect(run.output.contains { $0.hasPrefix("\(option.name) =") || $0.hasPrefix("#\(option.name) =") })
        }
        // It is read back as what it says.
        let path = folder.path + "/brume.conf"
        try Data(run.output.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: path))
        let effective = try CommandRun(["config", "print", "--effective", "--config", path], in: folder)
        #expect(
            effective.output.prefix(6) == [
                "# from \(path)", "data = /srv/x", "container = a", "container = b", "no-development = true", "",
            ], "\(effective.output) \(effective.errors)")
    }

    @Test("tells from where each option in force comes")
    func effectiveOptions() throws {
        let folder = try TestFolder()
        let path = folder.path + "/brume.conf"
        try Data("listen = 0.0.0.0:1\nloops = 2\nca = \" /x y \"\n".utf8).write(to: URL(fileURLWithPath: path))
        let words = ["config", "print", "--effective", "--config", path, "--loops", "3"]
        let environment = ["BRUME_LISTEN": "0.0.0.0:2"]
        let run = try CommandRun(words, environment: environment, in: folder)
        let parts = run.output.joined(separator: "\n").components(separatedBy: "\n\n")
        #expect(parts.count == 5, "\(run.output) \(run.errors)")
        #expect(
            parts.prefix(3) == [
                "# from the command line\nloops = 3", "# from variables of the environment\nlisten = 0.0.0.0:2",
                "# from \(path)\nca = \" /x y \"",
            ])
        #expect(parts[3].hasPrefix("# defaults\ndata = ./brume-data\n") && parts[4].hasPrefix("# not set\n"))
        let lines = try CommandRun(words + ["--json"], environment: environment, in: folder).output
        #expect(lines.contains(#"{"name":"loops","values":["3"],"from":"commandLine"}"#), "\(lines)")
    }

    @Test("says what is wrong with a server's options without starting one")
    func check() throws {
        let folder = try TestFolder()
        let wrong = try CommandRun(["config", "check", "--loops", "0"], in: folder)
        #expect(wrong.status == 2 && wrong.errors.contains("--loops takes a whole number"), "\(wrong.errors)")
        let missing = try CommandRun(
            ["config", "check", "--certificate", "/nowhere/a", "--key", "/nowhere/b"], in: folder)
        #expect(missing.status == 3 && missing.errors.contains("there is no certificate at /nowhere/a"))
        let certificates = folder.path + "/certs"
        #expect(try CommandRun(["certs", "--folder", certificates], in: folder).status == 0)
        let right = try CommandRun(
            ["config", "check", "--certificate", certificates + "/server.pem", "--key", certificates + "/server.key"],
            in: folder)
        #expect(right.status == 0 && right.output == ["brume serve takes these options"], "\(right.errors)")
        // So does what systemd hands over.
        let unnamed = ["config", "check"]
        #expect(try CommandRun(unnamed, in: folder).status == 3)
        let credentials = ["CREDENTIALS_DIRECTORY": certificates]
        #expect(try CommandRun(unnamed, environment: credentials, in: folder).status == 0)
    }
}
