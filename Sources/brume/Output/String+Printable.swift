extension String {
    /// The text without what a terminal takes for a command, or lays out the other way round: others gave it. A
    /// character of that kind is shown as one that could not be read.
    ///
    /// - Parameter keepsLines: Whether it may go on over several lines.
    func printable(keepsLines: Bool = false) -> String {
        var scalars = UnicodeScalarView()
        scalars.reserveCapacity(unicodeScalars.count)
        for scalar in unicodeScalars {
            let isLayout = scalar == "\n" || scalar == "\t"
            scalars.append(scalar.commandsTerminals && !(keepsLines && isLayout) ? "\u{FFFD}" : scalar)
        }
        return String(scalars)
    }
}

extension Unicode.Scalar {
    /// Whether a terminal takes it for a command, or lays out what is around it in another way.
    var commandsTerminals: Bool {
        switch value {
        // Marks, embeddings, overrides and isolates of a direction of writing.
        case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
        // A line of its own would pass for one of ours.
        case 0x2028, 0x2029: true
        default: properties.generalCategory == .control
        }
    }
}
