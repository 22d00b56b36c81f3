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
