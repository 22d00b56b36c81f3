internal import Glibc

/// Writes to the standard descriptors, and asks whether a person is behind them.
enum Terminal {
    static let standardInput: Int32 = 0
    static let standardOutput: Int32 = 1
    static let standardError: Int32 = 2

    static func isTerminal(_ fd: Int32) -> Bool { isatty(fd) == 1 }

    /// Columns of the terminal behind `fd`, or 80.
    static func columns(_ fd: Int32) -> Int {
        var size = winsize()
        guard ioctl(fd, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    /// Writes all of `text`. When the reader is gone, ends the process as SIGPIPE would.
    static func write(_ text: String, to fd: Int32 = standardOutput) {
        var text = text
        text.withUTF8 { bytes in
            var offset = 0
            while offset < bytes.count {
                let count = Glibc.write(fd, bytes.baseAddress! + offset, bytes.count - offset)
                if count >= 0 {
                    offset += count
                } else if errno == EPIPE {
                    _exit(128 + SIGPIPE)
                } else if errno != EINTR {
                    return
                }
            }
        }
    }

    static func print(_ line: String) { write(line + "\n") }

    static func printError(_ line: String) { write(line + "\n", to: standardError) }
}
