internal import BrumeSystem
internal import Foundation
internal import Synchronization

/// A process that this one starts: lines into its standard input, lines out of its standard output.
///
/// Children stand in process groups of their own, so that Ctrl-C reaches only this process, which ends them. Reading and
/// waiting block. One thread uses an instance.
final class ChildProcess {
    /// What a read line may have: more is not ours.
    private static let lineBytesLimit = 16 * 1024 * 1024

    /// All that run, so that nothing is left behind when this process ends early.
    private static let running = Mutex<Set<pid_t>>([])
    private static let spawning = NSLock()

    let pid: pid_t
    private var input: Int32
    private let output: Int32
    private var buffer: [UInt8] = []
    private var status: Int32?

    /// - Parameters:
    ///   - errorPath: Where its standard error goes; nil: where this process's goes.
    init(
        executable: String, arguments: [String], environment: [String: String] = [:], errorPath: String? = nil
    ) throws(CommandError) {
        // No other child may inherit the pipes between their making and their mark.
        Self.spawning.lock()
        defer { Self.spawning.unlock() }
        let inputPipe = try Self.makePipe()
        let outputPipe = try Self.makePipe()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, inputPipe[0], 0)
        posix_spawn_file_actions_adddup2(&actions, outputPipe[1], 1)
        if let errorPath {
            posix_spawn_file_actions_addopen(&actions, 2, errorPath, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
        var words: [UnsafeMutablePointer<CChar>?] = ([executable] + arguments).map { strdup($0) } + [nil]
        let merged = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        var variables: [UnsafeMutablePointer<CChar>?] = merged.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for pointer in words + variables { free(pointer) } }
        var pid: pid_t = 0
        let result = posix_spawn(&pid, executable, &actions, &attributes, &words, &variables)
        close(inputPipe[0])
        close(outputPipe[1])
        guard result == 0 else {
            close(inputPipe[1])
            close(outputPipe[0])
            throw CommandError(.failed, "\(executable) can't be started: \(String(cString: strerror(result)))")
        }
        self.pid = pid
        input = inputPipe[1]
        output = outputPipe[0]
        _ = Self.running.withLock { $0.insert(pid) }
    }

    deinit {
        if status == nil {
            send(SIGKILL)
            _ = wait()
        }
        closeInput()
        close(output)
    }

    private static func makePipe() throws(CommandError) -> [Int32] {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw CommandError(.failed, "no pipe can be made: \(String(cString: strerror(errno)))")
        }
        for fd in ends { _ = fcntl(fd, F_SETFD, FD_CLOEXEC) }
        return ends
    }

    /// Ends all children at once. From any thread.
    static func killAll() {
        for pid in running.withLock({ $0 }) { kill(pid, SIGKILL) }
    }

    func send(_ signal: Int32) {
        if status == nil { kill(pid, signal) }
    }

    /// Writes a line to its standard input. When it is gone nothing happens: reading tells.
    func write(line: String) {
        let bytes = Array((line + "\n").utf8)
        var offset = 0
        while offset < bytes.count {
            let count = bytes.withUnsafeBytes { Glibc.write(input, $0.baseAddress! + offset, $0.count - offset) }
            if count > 0 { offset += count } else if errno != EINTR { return }
        }
    }

    /// Ends its standard input.
    func closeInput() {
        if input >= 0 { close(input) }
        input = -1
    }

    /// The next line of its standard output; nil when there is none in time, or no more.
    func readLine(timeoutMilliseconds: Int) -> String? {
        let deadline = MonotonicClock.nowNanoseconds + UInt64(timeoutMilliseconds) * 1_000_000
        while true {
            if let end = buffer.firstIndex(of: 0x0A) {
                defer { buffer.removeSubrange(...end) }
                return String(decoding: buffer[..<end], as: UTF8.self)
            }
            let now = MonotonicClock.nowNanoseconds
            guard now < deadline, buffer.count < Self.lineBytesLimit else { return nil }
            var descriptor = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
            guard poll(&descriptor, 1, Int32((deadline - now) / 1_000_000 + 1)) > 0 else { continue }
            var chunk = [UInt8](repeating: 0, count: 65_536)
            let count = read(output, &chunk, chunk.count)
            if count == 0 { return nil }
            if count > 0 { buffer += chunk[..<count] }
        }
    }

    /// Waits for its end: its exit code, or 128 and the signal that ended it.
    func wait() -> Int32 {
        if let status { return status }
        var raw: Int32 = 0
        while waitpid(pid, &raw, 0) < 0, errno == EINTR {}
        let status = raw & 0x7F == 0 ? raw >> 8 & 0xFF : 128 + (raw & 0x7F)
        self.status = status
        _ = Self.running.withLock { $0.remove(pid) }
        return status
    }

    /// Whether it is gone, without waiting.
    var hasEnded: Bool {
        if status != nil { return true }
        var information = siginfo_t()
        return waitid(P_PID, id_t(pid), &information, WEXITED | WNOHANG | WNOWAIT) == 0
            && information.si_signo == SIGCHLD
    }

    /// This executable's path.
    static func ownExecutable() -> String {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
    }
}
