internal import BrumeSystem

/// `brume config`: the options of `brume serve` in a file, and those that it would use.
enum ConfigCommands {
    static let definitions = [
        CommandDefinition(
            ["config", "print"], "print a configuration file, or the options that brume serve would use",
            options: [
                OptionDefinition("effective", nil, "what is in force instead, by where each option comes from"),
                CommandOptions.json,
            ] + ServeCommand.options,
            notes: [
                """
                It takes the options of brume serve, from the same places. Without --effective it prints a whole \
                file: what is given is set in it, and every other option has a comment with its default. With it, it \
                prints what a server that is started so would use, and reads nothing but the file: it changes \
                nothing, and starts nothing.
                """
            ],
            examples: [
                "brume config print --data /var/lib/brume > brume.conf",
                "brume config print --effective --config /etc/brume/brume.conf",
            ], body: .blocking(print)),
        CommandDefinition(
            ["config", "check"], "tell whether brume serve would take its options",
            options: ServeCommand.options,
            notes: [
                """
                It takes the options of brume serve, and says what is wrong with one of them, or which file is \
                missing, as a start would. It opens no data folder, and no port: brume doctor looks at these as well.
                """
            ], examples: ["brume config check --config /etc/brume/brume.conf"], body: .blocking(check)),
    ]

    private static func print(_ invocation: Invocation) throws -> ExitCode {
        if invocation.isOn("effective") {
            let effective = EffectiveOptions(invocation)
            if invocation.isOn("json") {
                for line in effective.lines { Terminal.print(line) }
            } else {
                Terminal.write(effective.text)
            }
            return .done
        }
        if invocation.isOn("json") {
            throw UsageError("--json is for --effective; a configuration file is no JSON", command: invocation.command)
        }
        let given = invocation.values.filter { invocation.origins[$0.key] != .fallback }
        Terminal.write(ConfigurationText.text(setting: given))
        return .done
    }

    private static func check(_ invocation: Invocation) throws -> ExitCode {
        _ = try ServeCommand.configuration(invocation)
        Terminal.print("brume serve takes these options\(invocation.configurationPath.map { " (\($0))" } ?? "")")
        return .done
    }
}
