internal import BrumeSystem
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

@Suite("A server that a service manager starts", .timeLimit(.minutes(2)))
struct ManagedServiceTests {
    private let folder: TestFolder
    private let manager: ManagerSocket
    private let server: ServerProcess

    init() throws {
        folder = try TestFolder()
        manager = try ManagerSocket(folder.file("notify"))
        server = try ServerProcess(folder: folder)
    }

    /// The next message that is none of the watchdog's.
    private func next() -> String? {
        while let message = manager.next() {
            if message != "WATCHDOG=1\n" { return message }
        }
        return nil
    }

    @Test("says when it reads its folder, serves, reloads and stops")
    func states() throws {
        try server.start(environment: ["NOTIFY_SOCKET": folder.file("notify")])
        #expect(next() == "STATUS=reading the data folder\n")
        let serving = "READY=1\nSTATUS=serving on \(server.address)\n"
        #expect(next() == serving)
        let before = MonotonicClock.nowNanoseconds / 1_000
        server.send(SIGHUP)
        let lines = (next() ?? "").split(separator: "\n")
        #expect(lines.first == "RELOADING=1" && lines.count == 2)
        let told = lines.last?.split(separator: "=").last.flatMap { UInt64($0) } ?? 0
        #expect((before...before + 60_000_000).contains(told), "\(lines)")
        #expect(next() == serving)
        #expect(server.stop() == 0)
        #expect(next() == "STOPPING=1\nSTATUS=ending calls, and writing everything to the disk\n")
        #expect(manager.next(timeoutMilliseconds: 0) == nil)
    }

    @Test("asks for more time while it reads a large folder, and not where it waits for a disk that gives nothing")
    func longStart() {
        var start = LongStart(nowNanoseconds: 5_000_000_000, cpuNanoseconds: 1_000_000_000)
        #expect(
            start.look(nowNanoseconds: 15_000_000_000, cpuNanoseconds: 9_000_000_000) == [
                .extendedTimeout(microseconds: 120_000_000), .status("reading the data folder, for 10 s so far"),
            ])
        #expect(
            start.look(nowNanoseconds: 25_000_000_000, cpuNanoseconds: 9_010_000_000) == [
                .status("reading the data folder, for 20 s so far; it waits for the disk")
            ])
        #expect(start.look(nowNanoseconds: 35_000_000_000, cpuNanoseconds: 9_100_000_000).count == 2)
    }

    @Test("feeds the watchdog while its loops turn, and no longer")
    func watchdog() async throws {
        try server.start(environment: ["NOTIFY_SOCKET": folder.file("notify"), "WATCHDOG_USEC": "200000"])
        _ = (next(), next())
        for _ in 0..<3 { #expect(manager.next() == "WATCHDOG=1\n") }
        server.send(SIGSTOP)
        try await waitUntil("the server stands still") { server.isStopped }
        // What it said before is heard, and then nothing for as long as the manager waits.
        while manager.next(timeoutMilliseconds: 0) != nil {}
        #expect(manager.next(timeoutMilliseconds: 400) == nil)
        server.send(SIGCONT)
        #expect(manager.next() == "WATCHDOG=1\n")
        #expect(server.stop() == 0)
    }

    /// A manager that listens, starts what its arguments say with the socket, and again when that ends; it prints the
    /// port, and each process.
    private static let listeningManager = """
        import os, socket, sys
        listening = socket.create_server(("127.0.0.1", 0))
        print(listening.getsockname()[1], flush=True)
        while True:
            child = os.fork()
            if child == 0:
                if listening.fileno() == 3:
                    os.set_inheritable(3, True)
                else:
                    os.dup2(listening.fileno(), 3)
                os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
                os.execv(sys.argv[1], sys.argv[1:])
            print(child, flush=True)
            os.waitpid(child, 0)
        """

    @Test("serves the socket that the manager opened, on which clients wait while it is started again")
    func inheritedSocket() throws {
        let certificates = Certificates(folder: folder.file("certificates"))
        let added = try CommandRun(["account", "add", "a", "--data", folder.file("data"), "--json"], in: folder)
        let token = try #require(try added.json()["token"]?.text)
        let serve = [
            CommandRun.executable, "serve", "--data", folder.file("data"), "--certificate",
            certificates.certificatePath, "--key", certificates.keyPath, "--listen", "192.0.2.1:1",
        ]
        let process = try ChildProcess(
            executable: "/usr/bin/python3", arguments: ["-c", Self.listeningManager] + serve,
            environment: CommandRun.clean(["TMPDIR": folder.path]), errors: .file(folder.file("log")))
        // What it has started is of its group.
        defer { kill(-process.pid, SIGKILL) }
        func line() throws -> String {
            try #require(process.output.readLine(timeoutMilliseconds: CommandRun.timeoutMilliseconds))
        }
        let (port, first) = (try line(), try #require(Int32(try line())))
        let environment = [
            "BRUME_SERVER": "127.0.0.1:\(port)", "BRUME_CA": certificates.caPath, "BRUME_TOKEN": token,
            "BRUME_STATE": folder.file("state"),
        ]
        let created = try CommandRun(
            ["zones", "create", "Notes", "--connect-timeout", "60"], environment: environment, in: folder)
        #expect(created.status == 0, "\(created.errors)")
        kill(first, SIGTERM)
        let again = try CommandRun(["zones", "--connect-timeout", "60"], environment: environment, in: folder)
        #expect(again.status == 0 && again.output.contains { $0.contains("Notes") }, "\(again.errors)")
        let log = try String(contentsOfFile: folder.file("log"), encoding: .utf8)
        #expect(log.contains("127.0.0.1:\(port)") && !log.contains("192.0.2.1"), "\(log)")
    }

    @Test("says nothing of a watchdog that is another process's")
    func othersWatchdog() throws {
        try server.start(environment: [
            "NOTIFY_SOCKET": folder.file("notify"), "WATCHDOG_USEC": "20000", "WATCHDOG_PID": "1",
        ])
        _ = (next(), next())
        #expect(manager.next(timeoutMilliseconds: 100) == nil)
        #expect(server.stop() == 0)
    }
}
