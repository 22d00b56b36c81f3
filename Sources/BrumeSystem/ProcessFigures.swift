internal import Glibc

/// What the kernel says about a process of this machine.
package struct ProcessFigures: Equatable, Sendable {
    /// User and system time since its start.
    package var cpuNanoseconds: UInt64
    package var residentBytes: UInt64

    /// Reads `/proc/PID`, or gives nil when there is no such process.
    package static func read(pid: Int32) -> ProcessFigures? {
        guard let stat = contents("/proc/\(pid)/stat"), let statm = contents("/proc/\(pid)/statm") else { return nil }
        return ProcessFigures(
            stat: stat, statm: statm, ticksPerSecond: UInt64(max(1, sysconf(Int32(_SC_CLK_TCK)))),
            pageBytes: UInt64(max(1, sysconf(Int32(_SC_PAGESIZE)))))
    }

    /// The same about this process.
    package static func readOwn() -> ProcessFigures? { read(pid: getpid()) }

    /// From the texts of `stat` and `statm` (proc(5)).
    package init?(stat: String, statm: String, ticksPerSecond: UInt64, pageBytes: UInt64) {
        // The second field is the program's name in brackets, which may hold anything.
        guard let bracket = stat.lastIndex(of: ")") else { return nil }
        let fields = stat[stat.index(after: bracket)...].split(separator: " ")
        let pages = statm.split(separator: " ")
        guard fields.count > 12, let user = UInt64(fields[11]), let system = UInt64(fields[12]),
            pages.count > 1, let resident = UInt64(pages[1])
        else { return nil }
        cpuNanoseconds = (user + system) * (1_000_000_000 / ticksPerSecond)
        residentBytes = resident * pageBytes
    }

    private static func contents(_ path: String) -> String? {
        let fd = open(path, O_RDONLY | O_CLOEXEC)
        guard fd >= 0 else { return nil }
        defer { close(fd) }
        return withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
            let count = Glibc.read(fd, buffer.baseAddress, buffer.count)
            guard count > 0 else { return nil }
            return String(decoding: buffer[..<count], as: UTF8.self)
        }
    }
}
