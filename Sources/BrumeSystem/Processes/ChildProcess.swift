internal import BrumeLock
internal import CBrume
internal import Glibc

/// A process that this one starts, by posix_spawn(3): text into its standard input, lines out of ``output``.
///
/// It is in a process group of its own, so that Ctrl-C reaches only this process: a child that has to end with it
/// watches its standard input, or is ended by ``killAll()``. It has only the three standard descriptors and no blocked
/// signals, and is killed when this object is released. Waiting blocks. One thread at a time uses an instance; another
/// may read ``output``.
///
/// Foundation's `Process` is not used instead: on Linux it reads the entries of `/proc/self/fd` as if each had the
/// longest possible name, which crashes the process when an entry is at the end of the heap.
package final class ChildProcess {
    /// Where the process writes to.
    package enum Destination: Equatable {
        /// To ``ChildProcess/output``.
        case reader
        /// The same as this process's own output.
        case inherited
        /// The end of a file, which is made with mode 0600 if it does not exist.
        case file(String)

        package static let nowhere = Destination.file("/dev/null")
    }

    /// The running children, so that none is left behind when this process ends early.
    private static let running = Lock<Set<Int32>>([])

    package let pid: Int32
    /// What it writes to its standard output, standard error, or both. At its end from the start when neither goes
    /// here.
    package let output: PipeReader
    private var input: Int32
    private var status: Int32?

    /// Starts it.
    ///
    /// - Parameters:
    ///   - executable: The path of the executable.
    ///   - arguments: The arguments, without the executable's name.
    ///   - environment: All of its variables; nil passes on this process's own.
    ///   - output: The destination of its standard output.
    ///   - errors: The destination of its standard error.
    /// - Throws: ``SystemError`` when there is no such executable, when a file can't be opened, or when there is no
    ///   room for a process or a pipe.
    package init(
        executable: String, arguments: [String], environment: [String: String]? = nil,
        output: Destination = .reader, errors: Destination = .inherited
    ) throws(SystemError) {
        let (inputEnd, inputStart) = try Self.makePipe()
        var hasStarted = false
        defer {
            SystemCall.close(inputEnd)
            if !hasStarted { SystemCall.close(inputStart) }
        }
        let (outputEnd, outputStart) = try Self.makePipe()
        defer { SystemCall.close(outputStart) }
        self.output = PipeReader(fd: outputEnd)

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, inputEnd, STDIN_FILENO)
        var files: [Int32] = []
        defer { for file in files { SystemCall.close(file) } }
        for (destination, fd) in [(output, STDOUT_FILENO), (errors, STDERR_FILENO)] {
            switch destination {
            case .reader: posix_spawn_file_actions_adddup2(&actions, outputStart, fd)
            case .inherited: break
            case .file(let path):
                // Opened here, not in the child: there a failure would look like one of the executable.
                let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC
                let file = try SystemCall.run("open", path) { open(path, flags, 0o600) }
                files.append(file)
                posix_spawn_file_actions_adddup2(&actions, file, fd)
            }
        }
        _ = brume_spawn_close_from(&actions, STDERR_FILENO + 1)

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
        var variables: [UnsafeMutablePointer<CChar>?] =
            (environment ?? [:]).map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for pointer in words + variables { free(pointer) } }
        var pid: pid_t = 0
        let result =
            environment == nil
            ? posix_spawn(&pid, executable, &actions, &attributes, &words, environ)
            : posix_spawn(&pid, executable, &actions, &attributes, &words, &variables)
        guard result == 0 else { throw SystemError(call: "posix_spawn", errno: result, context: executable) }
        hasStarted = true
        self.pid = pid
        input = inputStart
        Self.running.withLock { _ = $0.insert(pid) }
    }

    deinit {
        if status == nil {
            send(SIGKILL)
            _ = wait()
        }
        closeInput()
    }

    private static func makePipe() throws(SystemError) -> (end: Int32, start: Int32) {
        var ends: [Int32] = [-1, -1]
        try SystemCall.run("pipe2") { brume_pipe(&ends) }
        return (ends[0], ends[1])
    }

    /// Ends all children at once. From any thread.
    package static func killAll() {
        running.withLock { for pid in $0 { kill(pid, SIGKILL) } }
    }

    /// Sends it a signal; nothing happens when it has ended.
    package func send(_ signal: Int32) {
        if !hasEnded { kill(pid, signal) }
    }

    /// Writes to its standard input. Nothing happens when that is closed, provided that this process ignores SIGPIPE:
    /// reading shows that the child has ended.
    package func write(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            _ = try? SystemCall.transferAll("write", "a child's input", count: bytes.count) { offset, remaining in
                Glibc.write(input, bytes.baseAddress! + offset, remaining)
            }
        }
    }

    /// Ends its standard input.
    package func closeInput() {
        if input >= 0 { SystemCall.close(input) }
        input = -1
    }

    /// The result of ``wait()`` when it is no longer known how the process ended: other code waited for it, or this
    /// process ignores SIGCHLD.
    package static let unknownStatus: Int32 = 255

    /// Waits for its end: its exit code, or 128 and the signal that ended it, or ``unknownStatus``.
    package func wait() -> Int32 {
        if let status { return status }
        // The child's end is awaited first and collected under the lock: once it is collected, another process may get
        // its number, which ``killAll()`` must not kill.
        var information = siginfo_t()
        _ = try? SystemCall.run("waitid") { waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) }
        let status = Self.running.withLock { running -> Int32 in
            running.remove(pid)
            var raw: Int32 = 0
            guard (try? SystemCall.run("waitpid") { waitpid(pid, &raw, 0) }) == pid else { return Self.unknownStatus }
            return raw & 0x7F == 0 ? raw >> 8 & 0xFF : 128 + (raw & 0x7F)
        }
        self.status = status
        return status
    }

    /// Whether the process has ended, without waiting.
    package var hasEnded: Bool {
        if status != nil { return true }
        var information = siginfo_t()
        // A failure means that other code has waited for it.
        return waitid(P_PID, id_t(pid), &information, WEXITED | WNOHANG | WNOWAIT) != 0
            || information.si_signo == SIGCHLD
    }

    /// The path of the executable that this process runs.
    package static var ownExecutable: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX) + 1) { path in
            let count = readlink("/proc/self/exe", path.baseAddress!, Int(PATH_MAX))
            guard count > 0 else { return CommandLine.arguments[0] }
            path[count] = 0
            return String(cString: path.baseAddress!)
        }
    }

    /// The variables of this process.
    package static var ownEnvironment: [String: String] {
        var variables: [String: String] = [:]
        var next = environ
        while let entry = next.pointee {
            let words = String(cString: entry).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            // The first of two variables with the same name counts, as for getenv(3).
            if words.count == 2, variables[String(words[0])] == nil { variables[String(words[0])] = String(words[1]) }
            next += 1
        }
        return variables
    }
}
