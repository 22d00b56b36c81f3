internal import BrumeModel

/// A file of options: `key = value` lines, keys are long option names, `#` starts a comment line.
///
/// A value may be in double quotes, which are dropped. A repeated key adds to its list.
struct ConfigurationFile: Sendable {
    /// The largest size; a larger file is not a configuration file.
    static let bytesLimit = 1024 * 1024

    var values: [String: [String]] = [:]

    /// Reads `text`; `names` are all options of all commands, since one file may serve several commands.
    init(_ text: String, path: String, names: Set<String>) throws(UsageError) {
        var lineNumber = 0
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            lineNumber += 1
            let line = Self.trim(line)
            if line.isEmpty || line.hasPrefix("#") { continue }
            guard let equals = line.firstIndex(of: "=") else {
                throw UsageError(
                    "\(path):\(lineNumber): a line is `key = value`", hint: "such as: listen = 0.0.0.0:7440")
            }
            let key = String(Self.trim(line[..<equals]))
            var value = Self.trim(line[line.index(after: equals)...])
            if value.count >= 2, value.hasPrefix("\""), value.hasSuffix("\"") { value = value.dropFirst().dropLast() }
            guard names.contains(key) else {
                let hint = NearestName.find(key, among: names.sorted()).map { "did you mean \"\($0)\"?" } ?? ""
                throw UsageError("\(path):\(lineNumber): there is no option \"\(key)\"", hint: hint)
            }
            values[key, default: []].append(String(value))
        }
    }

    private static func trim(_ text: Substring) -> Substring {
        var text = text
        while let first = text.first, first.isWhitespace { text.removeFirst() }
        while let last = text.last, last.isWhitespace { text.removeLast() }
        return text
    }
}
