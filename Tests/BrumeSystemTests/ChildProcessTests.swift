import BrumeTestKit
import Glibc
import Testing

@testable import BrumeSystem

@Suite struct ChildProcessTests {
    private func shell(
        _ script: String, environment: [String: String]? = nil, output: ChildProcess.Destination = .reader,
        errors: ChildProcess.Destination = .inherited
    ) throws -> ChildProcess {
        try ChildProcess(
            executable: "/bin/sh", arguments: ["-c", script], environment: environment, output: output, errors: errors)
    }

    /// Runs a script to its end; gives what it wrote to the reader.
    private func text(
        _ script: String, environment: [String: String]? = nil, output: ChildProcess.Destination = .reader,
        errors: ChildProcess.Destination = .inherited
    ) throws -> String {
        let process = try shell(script, environment: environment, output: output, errors: errors)
        let text = process.output.readToEnd()
        #expect(process.wait() == 0)
        return text
    }

    @Test("what a process writes is read by lines, the last one without its end, too; then its exit code is there")
    func lines() throws {
        let process = try shell("printf 'one\\n\\ntwo'; exit 7")
        #expect(process.output.readLine() == "one")
        #expect(process.output.readLine(timeoutMilliseconds: 20_000) == "")
        #expect(process.output.readLine() == "two")
        #expect(process.output.readLine() == nil)
        #expect(process.wait() == 7)
        #expect(process.hasEnded)
    }

    @Test("it reads what is written to it, and sees its end")
    func input() throws {
        let process = try shell("cat; echo end")
        process.write("to the cat\n")
        #expect(process.output.readLine() == "to the cat")
        #expect(!process.hasEnded)
        process.closeInput()
        #expect(process.output.readToEnd() == "end\n")
        #expect(process.wait() == 0)
    }

    @Test("a line that does not come in time is none, and comes later")
    func late() throws {
        let process = try shell("printf begun; read go; echo , ended")
        // Long enough for the first half to have come in most runs: it makes no line.
        #expect(process.output.readLine(timeoutMilliseconds: 50) == nil)
        process.write("go\n")
        #expect(process.output.readLine(timeoutMilliseconds: 20_000) == "begun, ended")
        #expect(process.wait() == 0)
    }

    @Test("outputs and errors go where they are sent")
    func destinations() throws {
        let folder = try TestFolder()
        let script = "echo out; echo err >&2"
        #expect(try text(script, errors: .nowhere) == "out\n")
        #expect(try text(script, output: .nowhere, errors: .reader) == "err\n")
        #expect(try text(script, output: .reader, errors: .reader) == "out\nerr\n")
        let path = folder.file("log")
        for _ in 0..<2 { #expect(try text(script, output: .file(path), errors: .file(path)) == "") }
        #expect(try FileSystem.read(path, limit: 100) == Array("out\nerr\nout\nerr\n".utf8))
        #expect(try FileSystem.permissions(path) == 0o600)
    }

    @Test("it has the variables that it is given, and no descriptor and no blocked signal of this process")
    func surroundings() throws {
        let own = ["LANG": "C", "EMPTY": "", "SIGNS": "a=b c"]
        #expect(try text("echo \"$LANG,$EMPTY,$SIGNS,$HOME\"", environment: own) == "C,,a=b c,\n")
        #expect(ChildProcess.ownEnvironment["PATH"] != nil)
        let inherited = open("/dev/null", O_RDONLY)
        try #require(inherited > STDERR_FILENO)
        defer { close(inherited) }
        #expect(try text("[ -e /proc/self/fd/\(inherited) ] && echo open || echo closed") == "closed\n")
        var signals = sigset_t()
        var before = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGTERM)
        pthread_sigmask(SIG_BLOCK, &signals, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        #expect(try text("grep SigBlk /proc/self/status") == "SigBlk:\t0000000000000000\n")
    }

    @Test("a signal ends it; it ends with its object, and nothing else of it stays")
    func ends() throws {
        let process = try shell("read never")
        #expect(getpgid(process.pid) == process.pid, "Ctrl-C would reach it")
        process.send(SIGTERM)
        #expect(process.wait() == 128 + SIGTERM)
        // It is gone: its number may be another's by now.
        process.send(SIGKILL)
        var forgotten: ChildProcess? = try shell("read never")
        let pid = try #require(forgotten?.pid)
        let output = try #require(forgotten?.output)
        forgotten = nil
        #expect(kill(pid, 0) == -1 && errno == ESRCH)
        #expect(output.readLine(timeoutMilliseconds: 20_000) == nil)
    }

    @Test("an end that something else waited for is known, but not how it was")
    func takenEnd() throws {
        let process = try shell("exit 7")
        var status: Int32 = 0
        #expect(waitpid(process.pid, &status, 0) == process.pid)
        #expect(process.hasEnded)
        process.send(SIGKILL)
        #expect(process.wait() == ChildProcess.unknownStatus)
    }

    @Test("an executable or a file that is not there is named")
    func missing() throws {
        let file = #expect(throws: SystemError.self) { try shell("true", errors: .file("/nowhere/log")) }
        #expect(file?.errno == ENOENT && file?.call == "open")
        #expect(file?.description.contains("/nowhere/log") == true)
        let error = #expect(throws: SystemError.self) {
            try ChildProcess(executable: "/nowhere/brume", arguments: [])
        }
        #expect(error?.errno == ENOENT)
        #expect(error?.description.contains("/nowhere/brume") == true)
    }

    @Test("a signal that this process handles does not end a reader's wait")
    func interruption() throws {
        // A handler without SA_RESTART makes calls that wait fail with EINTR.
        var action = sigaction()
        var before = sigaction()
        action.__sigaction_handler.sa_handler = { _ in }
        sigaction(SIGUSR2, &action, &before)
        defer { sigaction(SIGUSR2, &before, nil) }
        let process = try shell("read go; echo there")
        let (output, line, reader, isReading) = (process.output, Shared<String?>(nil), Shared(pthread_self()), Signal())
        // Threads that run tests have all signals blocked, and so have those that they make.
        let thread = try SystemThread {
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGUSR2)
            pthread_sigmask(SIG_UNBLOCK, &signals, nil)
            reader.change { $0 = pthread_self() }
            isReading.raise()
            line.change { $0 = output.readLine() }
        }
        #expect(isReading.wait())
        for _ in 0..<100 {
            pthread_kill(reader.value, SIGUSR2)
            usleep(200)
        }
        process.write("go\n")
        thread.join()
        #expect(line.value == "there")
        #expect(process.wait() == 0)
    }

    @Test("what is held has a limit: a long line comes in pieces, a long text is cut")
    func limits() throws {
        let process = try shell("head -c 17000000 /dev/zero | tr '\\0' x; echo")
        let first = try #require(process.output.readLine())
        let rest = try #require(process.output.readLine())
        #expect(first.utf8.count >= 16 << 20 && first.utf8.count + rest.utf8.count == 17_000_000)
        #expect(process.wait() == 0)
        #expect(try text("head -c 17000000 /dev/zero | tr '\\0' x").utf8.count == 16 << 20)
    }
}
