internal import BrumeSystem
internal import Foundation

/// Whether there is a backup of late.
enum BackupCheck {
    private static let hoursMax = 36.0
    private static let remedy = """
        enable brume-backup.timer, or run brume backup each night; name their folder with --backups. A copy belongs on \
        another machine
        """

    static func findings(_ folder: String) -> [Finding] {
        guard FileSystem.isDirectory(folder), let names = try? FileSystem.list(folder) else {
            return [Finding("backups", .warning, "there is no folder \(folder)", remedy: remedy)]
        }
        let backups = names.filter { name in
            name.hasPrefix("brume-") && !name.contains(".unverified") && !name.hasSuffix(".removing")
        }
        guard let newest = backups.max() else {
            return [Finding("backups", .warning, "\(folder) has none", remedy: remedy)]
        }
        let attributes = try? FileManager.default.attributesOfItem(atPath: "\(folder)/\(newest)")
        let made = Self.date(of: newest) ?? attributes?[.modificationDate] as? Date ?? .distantPast
        let hours = Date().timeIntervalSince(made) / 3_600
        let text = "\(CountText.text(backups.count, "backup")) in \(folder), the newest \(newest)"
        if newest.contains("-lacking") {
            return [
                Finding(
                    "backups", .failure, "\(text), which lacks files of assets", remedy: "brume verify names them")
            ]
        }
        return hours > hoursMax
            ? [Finding("backups", .warning, "\(text), is \(Int(hours)) hours old", remedy: remedy)]
            : [Finding("backups", "\(text), is \(Int(hours)) hours old")]
    }

    /// The time in the name of a backup: brume-20261130T021500Z.
    private static func date(of name: String) -> Date? {
        let digits = name.dropFirst("brume-".count).prefix(16)
        let style = Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted)
        return try? style.parse(String(digits))
    }
}
