internal import Glibc
internal import Synchronization

/// One line per event: time, level, message, `key=value` pairs. Never a token, a record or a field.
package struct Log: Sendable {
    package enum Level: Int, Comparable, Sendable {
        case debug, info, warning, error

        package static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }

        var name: String {
            switch self {
            case .debug: "debug"
            case .info: "info"
            case .warning: "warning"
            case .error: "error"
            }
        }
    }

    /// The level of a log, shared by all of its copies.
    private final class Threshold: Sendable {
        let level: Atomic<Int>

        init(_ level: Level) { self.level = Atomic(level.rawValue) }
    }

    /// How a line is written.
    package enum Format: Sendable {
        /// `2026-11-30T18:00:00.000Z info message key=value`.
        case text
        /// An object with the members `time`, `level`, `message` and the fields, all of them strings.
        case json
    }

    private let threshold: Threshold
    private let format: Format
    private let write: @Sendable (String) -> Void

    /// `write` gets each line without its newline, from any thread.
    package init(minimum: Level, format: Format = .text, write: @escaping @Sendable (String) -> Void) {
        threshold = Threshold(minimum)
        (self.format, self.write) = (format, write)
    }

    /// The lowest level whose lines are made. Any thread may set it, for all copies.
    package var minimum: Level {
        get { Level(rawValue: threshold.level.load(ordering: .relaxed)) ?? .info }
        nonmutating set { threshold.level.store(newValue.rawValue, ordering: .relaxed) }
    }

    /// Lines on the standard error output, one write each.
    package static func standardError(_ minimum: Level, _ format: Format = .text) -> Log {
        Log(minimum: minimum, format: format) { line in
            var text = line + "\n"
            text.withUTF8 { bytes in _ = Glibc.write(STDERR_FILENO, bytes.baseAddress, bytes.count) }
        }
    }

    /// No lines at all.
    package static let none = Log(minimum: .error) { _ in }

    package func debug(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> [(String, String)] = []) {
        line(.debug, message, fields)
    }

    package func info(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> [(String, String)] = []) {
        line(.info, message, fields)
    }

    package func warning(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> [(String, String)] = []) {
        line(.warning, message, fields)
    }

    package func error(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> [(String, String)] = []) {
        line(.error, message, fields)
    }

    private func line(_ level: Level, _ message: () -> String, _ fields: () -> [(String, String)]) {
        guard level >= minimum else { return }
        if case .json = format { return write(Log.object(level, message(), fields())) }
        var line = "\(Log.timestamp()) \(level.name) \(Log.printable(message()))"
        for (key, value) in fields() {
            let text = Log.printable(value)
            line += text.contains(" ") ? " \(key)=\"\(text)\"" : " \(key)=\(text)"
        }
        write(line)
    }

    private static func object(_ level: Level, _ message: String, _ fields: [(String, String)]) -> String {
        let members = [("time", timestamp()), ("level", level.name), ("message", message)] + fields
        return "{" + members.map { "\(string($0.0)):\(string($0.1))" }.joined(separator: ",") + "}"
    }

    /// A string of JSON. What a terminal takes for a command is escaped as well.
    private static func string(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            if isEscaped(scalar) {
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    /// Text from outside can't forge a line, a field or an escape. To some terminals the control characters from U+0080
    /// on are commands, as those below U+0020 are; to some programs U+2028 and U+2029 end a line; and marks of a
    /// direction of writing show a line otherwise than it is.
    private static func isEscaped(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x22, 0x5C, 0x7F...0x9F: true
        case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    private static func printable(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            if isEscaped(scalar) {
                result += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// RFC 3339 with milliseconds, UTC.
    private static func timestamp() -> String {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        var parts = tm()
        gmtime_r(&now.tv_sec, &parts)
        func padded(_ number: Int, _ width: Int) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        let date = [Int(parts.tm_year) + 1900, Int(parts.tm_mon) + 1, Int(parts.tm_mday)].map { padded($0, 2) }
        let time = [Int(parts.tm_hour), Int(parts.tm_min), Int(parts.tm_sec)].map { padded($0, 2) }
        return date.joined(separator: "-") + "T" + time.joined(separator: ":") + "."
            + padded(now.tv_nsec / 1_000_000, 3) + "Z"
    }
}
