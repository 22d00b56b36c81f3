internal import BrumeModel

/// The manual: `brume(1)`, a page for each group of commands, and `brume.conf(5)`, from the table that `--help` is made
/// of.
struct ManualPages {
    struct Page {
        /// The name of its file, such as `brume-serve.1`.
        let file: String
        let text: String
    }

    let commands: [CommandDefinition]

    /// All pages, `brume.1` in front.
    var all: [Page] {
        let groups = CommandGroup.all(of: commands)
        return [overview(groups)] + groups.map(page(of:)) + [configuration]
    }

    private func page(_ name: String, section: Int, is summary: String, _ body: String) -> Page {
        let heading = """
            .TH \(Roff.text(name.uppercased())) \(section) "" "Brume \(BrumeVersion.text)" "Brume"
            .\\" Made by brume manual, from what brume help is made of.
            .nh
            .ad l
            .SH NAME
            \(Roff.text(name)) \\- \(Roff.text(summary))

            """
        return Page(file: "\(name).\(section)", text: heading + body)
    }

    private func overview(_ groups: [CommandGroup]) -> Page {
        var text =
            Roff.section("synopsis") + "\(Roff.bold("brume")) \(Roff.italic("COMMAND")) [\(Roff.italic("OPTIONS"))]\n"
        text += Roff.section("description")
        text += Roff.paragraph(
            """
            A server that keeps records in zones for apps that use CloudKit, and pushes what changes to their \
            devices, with the commands of its operator and of a person with an account. Each command has a page of \
            its own, such as brume-serve(1), and brume COMMAND --help.
            """)
        text += Roff.section("commands")
        for group in groups {
            for command in group.members {
                text += Roff.item(Roff.bold("brume \(command.name)"), command.summary)
            }
        }
        text += Roff.section("options") + Roff.paragraph(Self.sources)
        return page(
            "brume", section: 1, is: "a server for apps that use CloudKit",
            text + exitCodes + seeAlso(groups.map { "brume-\($0.name)(1)" } + ["brume.conf(5)"]))
    }

    private static let sources = """
        An option comes from its flag, else from its variable (--data: BRUME_DATA), else from the file that --config \
        or BRUME_CONFIG names, else it has its default.
        """

    private func page(of group: CommandGroup) -> Page {
        var text = Roff.section("synopsis")
        for (index, command) in group.members.enumerated() {
            if index > 0 { text += ".br\n" }
            let arguments = command.arguments.map { " " + Roff.italic($0.usage) }.joined()
            text += "\(Roff.bold("brume \(command.name)"))\(arguments) [\(Roff.italic("OPTIONS"))]\n"
        }
        if group.members.count == 1 {
            text += Roff.section("description") + describe(group.members[0], heading: Roff.section)
        } else {
            text += Roff.section("commands")
            for command in group.members {
                text += Roff.part("brume \(command.name)") + describe(command) { _ in "" }
            }
        }
        return page(
            "brume-\(group.name)", section: 1, is: group.summary,
            text + exitCodes + seeAlso(["brume(1)", "brume.conf(5)"]))
    }

    private func describe(_ command: CommandDefinition, heading: (String) -> String) -> String {
        var text = Roff.paragraph(command.summary.prefix(1).uppercased() + command.summary.dropFirst() + ".")
        for note in command.notes { text += Roff.paragraph(note) }
        if !command.arguments.isEmpty { text += heading("arguments") }
        for argument in command.arguments { text += Roff.item(Roff.italic(argument.usage), argument.help) }
        text += heading("options")
        for option in command.allOptions where !option.isHidden {
            let isNamed = option.isSecret || option.name == "help"
            text += Roff.item(usage(of: option), option.described(variable: isNamed ? nil : option.variable))
        }
        if !command.examples.isEmpty {
            text += heading("examples").isEmpty ? Roff.paragraph("Examples:") : heading("examples")
            text += Roff.example(command.examples)
        }
        return text
    }

    private func usage(of option: OptionDefinition) -> String {
        guard let placeholder = option.placeholder else { return Roff.bold("--\(option.name)") }
        if option.isSecret { return Roff.bold("\(option.variable)=") + Roff.italic(placeholder) }
        return "\(Roff.bold("--\(option.name)")) \(Roff.italic(placeholder))"
    }

    private var configuration: Page {
        var text = Roff.section("description")
        text += Roff.paragraph(
            """
            A file of options for --config and BRUME_CONFIG: lines of the form key = value, where a key is an \
            option's long name without dashes. Lines that begin with # are comments. A value may be in double quotes. \
            A flag is true or false. An option that may be repeated has several lines, or a list with commas. A key \
            that no command has is an error; one that another command has is left to that one. A file is at most 1 \
            MiB.
            """)
        text += Roff.paragraph(
            """
            brume config print prints a file with every option of brume serve in comments, brume config print \
            --effective what a server would use, and from where each option comes.
            """)
        text += Roff.section("options of brume serve")
        for option in ConfigurationText.options {
            text += Roff.item(
                "\(Roff.bold(option.name)) = \(Roff.italic(option.placeholder ?? "true|false"))",
                option.described(variable: option.variable))
        }
        text += Roff.section("files")
        text += Roff.item(
            Roff.bold("/etc/brume/brume.conf"), "the file of the system's service, where Brume is a package")
        return page(
            "brume.conf", section: 5, is: "options of Brume's server in a file",
            text + seeAlso(["brume(1)", "brume-serve(1)", "brume-config(1)"]))
    }

    private var exitCodes: String {
        Roff.section("exit status")
            + ExitCode.allCases.map { Roff.item(Roff.bold(String($0.rawValue)), $0.meaning) }.joined()
    }

    private func seeAlso(_ pages: [String]) -> String {
        Roff.section("see also") + pages.map(Roff.text).joined(separator: ",\n") + "\n"
    }
}
