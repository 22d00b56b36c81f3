internal import BrumeServer
internal import BrumeSystem

/// Whether there is a backup of late.
enum BackupCheck {
    private static let hoursMax = 36
    private static let remedy = """
        enable brume-backup.timer, or run brume-backup-daily each night; name their folder with --backups. A copy \
        belongs on another machine
        """

    static func findings(_ folder: String) -> [Finding] {
        guard let backups = try? BackupsFolder(folder).backups else {
            return [Finding("backups", .warning, "there is no folder \(folder) to be read", remedy: remedy)]
        }
        guard let newest = backups.last else {
            return [Finding("backups", .warning, "\(folder) has none", remedy: remedy)]
        }
        let text = "\(CountText.text(backups.count, "backup")) in \(folder), the newest \(newest.name)"
        if newest.isLacking {
            return [
                Finding(
                    "backups", .failure, "\(text), which lacks files of assets", remedy: "brume verify names them")
            ]
        }
        let hours = (Int(SystemClock.nowMilliseconds / 1_000) - newest.seconds) / 3_600
        return hours > hoursMax
            ? [Finding("backups", .warning, "\(text), is \(hours) hours old", remedy: remedy)]
            : [Finding("backups", "\(text), is \(hours) hours old")]
    }
}
