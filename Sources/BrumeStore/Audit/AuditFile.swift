/// The files of the audit log: `audit/NUMBER.jsonl` in the data folder, named after the first entry's number, with 12
/// digits.
///
/// A line of JSON (RFC 8259) for each ``AuditEntry``, ended by a newline, and nothing else. Lines are only added, at
/// the end of the last file; a file that has become large is followed by another one. A file that ends in
/// something else was left so by a crash, or a full disk, in the midst of an entry that does not count; the next entry
/// begins another file.
package enum AuditFile {
    package static let folder = "audit"
    private static let suffix = ".jsonl"
    private static let digits = 12

    static func path(ofFirst number: UInt64) -> String {
        let text = String(number)
        return "\(folder)/" + String(repeating: "0", count: max(0, digits - text.count)) + text + suffix
    }

    /// The number of the first entry of a file; nil for a name that no file of the log has.
    static func firstNumber(ofFile name: String) -> UInt64? {
        guard name.utf8.count == digits + suffix.utf8.count, name.hasSuffix(suffix),
            let number = UInt64(name.dropLast(suffix.count)), number > 0, path(ofFirst: number) == "\(folder)/\(name)"
        else { return nil }
        return number
    }

    static func isFileName(_ name: String) -> Bool { firstNumber(ofFile: name) != nil }

    /// The files that there are, by their first entries.
    static func list(on disk: any Disk) throws(DiskError) -> [(first: UInt64, path: String)] {
        try disk.list(folder).compactMap { name in firstNumber(ofFile: name).map { ($0, "\(folder)/\(name)") } }
            .sorted { $0.first < $1.first }
    }
}
