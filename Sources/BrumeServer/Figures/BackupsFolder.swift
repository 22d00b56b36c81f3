package import BrumeSystem
internal import Glibc

/// The backups of a folder in which `brume-backup-daily` keeps them: its page says how they are named.
package struct BackupsFolder {
    package struct Backup {
        /// `brume-20261130T021500Z`; a file ends in `.brume`.
        package let name: String
        /// When it was begun, in seconds since 1970.
        package let seconds: Int
        /// Whether files of assets were missing where it was made: `-lacking` stands behind the time.
        package let isLacking: Bool
    }

    /// Those that were verified, the oldest first.
    package let backups: [Backup]

    /// Throws where the folder can't be read, also since it is not there.
    package init(_ path: String) throws(SystemError) {
        backups = try FileSystem.list(path).compactMap(Backup.init).sorted { $0.name < $1.name }
    }

    /// When the newest was begun that lacks nothing; nil where there is none.
    package var newestWholeSeconds: Int? { backups.last { !$0.isLacking }?.seconds }
}

extension BackupsFolder.Backup {
    /// Nil for what is no backup, such as one that is being made, verified or removed.
    fileprivate init?(_ name: String) {
        let prefix = "brume-"
        guard name.hasPrefix(prefix) else { return nil }
        let text = Array(name.utf8.dropFirst(prefix.utf8.count))
        guard text.count >= 16, text[8] == UInt8(ascii: "T"), text[15] == UInt8(ascii: "Z"),
            text.indices.prefix(15).allSatisfy({ $0 == 8 || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(text[$0]) }
            )
        else { return nil }
        switch String(decoding: text[16...], as: UTF8.self) {
        case "", ".brume": isLacking = false
        case "-lacking", "-lacking.brume": isLacking = true
        default: return nil
        }
        func number(_ range: Range<Int>) -> Int32 { range.reduce(0) { $0 * 10 + Int32(text[$1] - UInt8(ascii: "0")) } }
        var time = tm()
        (time.tm_year, time.tm_mon, time.tm_mday) = (number(0..<4) - 1900, number(4..<6) - 1, number(6..<8))
        (time.tm_hour, time.tm_min, time.tm_sec) = (number(9..<11), number(11..<13), number(13..<15))
        self.name = name
        seconds = timegm(&time)
    }
}
