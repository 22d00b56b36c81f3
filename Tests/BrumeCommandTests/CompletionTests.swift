internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

@Suite("A shell completes")
struct CompletionTests {
    /// What bash would offer for the last of some words.
    private func offers(_ words: [String], in folder: TestFolder) throws -> [String] {
        let script = folder.path + "/brume.bash"
        let text = BashCompletion(groups: CommandGroup.all(of: CommandTable.commands)).text
        try Data(text.utf8).write(to: URL(fileURLWithPath: script))
        // compopt is for an interactive shell alone.
        let quoted = words.map { "'\($0)'" }.joined(separator: " ")
        let run = try CommandRun(
            [
                "-euc",
                """
                compopt() { :; }; source "$1"; COMP_WORDS=(brume \(quoted)); COMP_CWORD=\(words.count); _brume
                for word in "${COMPREPLY[@]}"; do echo "$word"; done
                """, "bash", script,
            ], executable: "/bin/bash", in: folder)
        #expect(run.status == 0, "\(run.errors)")
        return run.output
    }

    @Test("commands by their first and second words")
    func commands() throws {
        let folder = try TestFolder()
        #expect(try offers(["ser"], in: folder) == ["serve"])
        #expect(try offers(["key", "re"], in: folder) == ["remove", "reset", "reencrypt"])
        #expect(try offers(["records", "get", "x"], in: folder) == [])
    }

    @Test("the options of the command that is typed, and no secret one")
    func options() throws {
        let folder = try TestFolder()
        #expect(try offers(["serve", "--journal"], in: folder) == ["--journal-segment-bytes"])
        #expect(try offers(["key", "code", "--rep"], in: folder) == ["--replace"])
        #expect(try offers(["key", "devices", "--rep"], in: folder) == [])
        #expect(try offers(["records", "get", "--tok"], in: folder) == ["--token-file"])
        #expect(try offers(["zones", "list", "--config", "/x", "--js"], in: folder) == ["--json"])
    }

    @Test("files where a path is wanted, and nothing where another value is")
    func values() throws {
        let folder = try TestFolder()
        let file = folder.path + "/ca with space.pem"
        try Data().write(to: URL(fileURLWithPath: file))
        #expect(try offers(["zones", "list", "--ca", folder.path + "/ca"], in: folder) == [file])
        #expect(try offers(["verify", folder.path + "/ca"], in: folder) == [file])
        #expect(try offers(["zones", "list", "--container", "--"], in: folder) == [])
    }

    @Test("with scripts that zsh and fish take, where they are installed", arguments: ["zsh", "fish"])
    func syntax(shell: String) throws {
        guard let path = ["/bin", "/usr/bin"].map({ "\($0)/\(shell)" }).first(where: FileManager.default.fileExists)
        else { return }
        let folder = try TestFolder()
        let script = try CommandRun(["completion", shell], in: folder)
        #expect(script.status == 0 && script.output.count > 100)
        let file = folder.path + "/script"
        try Data((script.output.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: file))
        let run = try CommandRun(["-n", file], executable: path, in: folder)
        #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
    }

    @Test("not in a shell that there is no script for")
    func otherShell() throws {
        let run = try CommandRun(["completion", "tcsh"], in: try TestFolder())
        #expect(run.status == 2 && run.errors.contains("SHELL is bash, zsh or fish"))
    }
}
