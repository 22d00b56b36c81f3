internal import BrumeSystem

/// `brume manual`: writes the manual pages.
enum ManualCommand {
    static let definition = CommandDefinition(
        ["manual"], "write the manual pages into a folder",
        arguments: [ArgumentDefinition("DIR", "the folder, which is made when it is missing")],
        notes: [
            """
            brume.1, a page for each group of commands, and brume.conf.5. A package installs them; to read one here: \
            man ./DIR/brume-serve.1
            """
        ], body: .blocking(run))

    private static func run(_ invocation: Invocation) throws -> ExitCode {
        let folder = invocation.arguments[0]
        let pages = ManualPages(commands: CommandTable.commands).all
        do throws(SystemError) {
            try FileSystem.makeDirectoryTree(folder)
            for page in pages {
                try FileSystem.atomicReplace(
                    "\(folder)/\(page.file)", Array(page.text.utf8), permissions: 0o644)
            }
        } catch {
            throw CommandError(
                .failed, "the pages can't be written to \(folder): \(error)",
                hint: "choose a folder that this user may write to")
        }
        Terminal.print("\(pages.count) pages in \(folder)")
        return .done
    }
}
