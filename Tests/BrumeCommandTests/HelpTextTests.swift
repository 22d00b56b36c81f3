internal import Foundation
internal import Testing

@testable internal import brume

@Suite("Help is complete")
struct HelpTextTests {
    @Test(
        "every command's help names its arguments, options and the exit codes",
        arguments: CommandTable.commands.map(\.path))
    func everyCommand(path: [String]) throws {
        let command = try #require(CommandTable.commands.first { $0.path == path })
        let help = HelpText(commands: CommandTable.commands, style: .plain).text(for: .command(path))
        #expect(help.hasPrefix("usage: brume \(command.name)"))
        for argument in command.arguments { #expect(help.contains(argument.usage)) }
        for option in command.options { #expect(help.contains(option.usage) == !option.isHidden) }
        for code in ExitCode.allCases { #expect(help.contains("\(code.rawValue)  ")) }
    }

    @Test(
        "help on a group lists its commands", arguments: ["account", "containers", "schema", "zones", "records", "key"])
    func group(name: String) throws {
        let parser = ArgumentParser(commands: CommandTable.commands, environment: [:]) { _ in nil }
        guard case .help(let topic) = try parser.parse(["help", name]) else {
            Issue.record("it is no help")
            return
        }
        let help = HelpText(commands: CommandTable.commands, style: .plain).text(for: topic)
        for command in CommandTable.commands where command.path.count == 2 && command.path[0] == name {
            #expect(help.contains("\n  \(command.name)  "), "\(help)")
        }
    }

    @Test("the overview lists every command that is not hidden")
    func overview() {
        let help = HelpText(commands: CommandTable.commands, style: .plain).text(for: .everything)
        for command in CommandTable.commands { #expect(help.contains("\n  \(command.name)  ") == !command.isHidden) }
    }

    @Test("the README has the same exit codes")
    func readme() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
        for code in ExitCode.allCases { #expect(text.contains("\n| \(code.rawValue) | "), "\(code)") }
    }

    @Test("no two commands share a path, and no command two options")
    func unique() {
        #expect(Set(CommandTable.commands.map(\.path)).count == CommandTable.commands.count)
        for command in CommandTable.commands {
            #expect(Set(command.allOptions.map(\.name)).count == command.allOptions.count, "\(command.name)")
        }
    }
}
