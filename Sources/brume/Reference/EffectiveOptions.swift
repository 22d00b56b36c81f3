internal import Foundation

/// What a server would use: each option's value, and from where it comes.
struct EffectiveOptions {
    private let invocation: Invocation

    init(_ invocation: Invocation) { self.invocation = invocation }

    private struct Entry {
        let name: String
        let values: [String]
        let origin: OptionOrigin
    }

    private var entries: [Entry] {
        ConfigurationText.options.compactMap { option in
            guard let origin = invocation.origins[option.name], let values = invocation.values[option.name] else {
                return nil
            }
            return Entry(name: option.name, values: option.isSecret ? ["********"] : values, origin: origin)
        }
    }

    /// A file that has the same effect, where each option stands below its origin.
    var text: String {
        var text = ""
        for origin in OptionOrigin.allCases {
            let entries = entries.filter { $0.origin == origin }
            if entries.isEmpty { continue }
            text += (text.isEmpty ? "" : "\n") + "# \(title(of: origin))\n"
            for entry in entries {
                for value in entry.values { text += "\(entry.name) = \(ConfigurationText.quoted(value))\n" }
            }
        }
        let unset = ConfigurationText.options.filter { invocation.values[$0.name] == nil }.map(\.name)
        if !unset.isEmpty { text += "\n# not set\n" + unset.map { "#\($0) =\n" }.joined() }
        return text
    }

    /// An object a line.
    var lines: [String] {
        entries.map { entry in
            JSONValue.object([
                ("name", .string(entry.name)), ("values", .array(entry.values.map { .string($0) })),
                ("from", .string(entry.origin.rawValue)),
            ]).line
        }
    }

    private func title(of origin: OptionOrigin) -> String {
        switch origin {
        case .commandLine: "from the command line"
        case .variable: "from variables of the environment"
        case .file: "from \(invocation.configurationPath ?? "the file")"
        case .fallback: "defaults"
        }
    }
}
