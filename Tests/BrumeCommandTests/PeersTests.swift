internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

/// The load generator of Benchmarks/peers, which speaks the protocol in C: what it measures has to be what the server
/// did.
@Suite("The peers' load generator", .timeLimit(.minutes(4)))
struct PeersTests {
    @Test("saves, reads, fetches, asks, connects and is pushed to by Brume's protocol")
    func speaksTheProtocol() throws {
        let folder = try TestFolder()
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path + "/../../Benchmarks/peers"
        let lg = folder.path + "/lg"
        try #require(
            Tool.run(["make", "-s", "-C", source, "FLAGS=-O0", "BIN=\(folder.path)", lg]).status == 0,
            "the load generator can't be built; it needs make, a C compiler and libssl-dev")
        let server = try ServerProcess(folder: folder)
        try server.start(options: ["--asset-limit", "1MiB"])
        defer { server.kill() }
        _ = try folder.write("accounts", server.addAccount("ada") + "\n" + server.addAccount("bob") + "\n")
        let port = String(try #require(server.port))

        /// What it prints: a line of JSON for each result.
        func measure(_ mode: String, _ options: String...) throws -> [String] {
            let run = try CommandRun(
                [mode, "brume", "-p", port, "-P", String(server.pid), "-t", "0.2", "-r", "1"] + options, executable: lg,
                environment: ["PEERBENCH_BRUME": folder.path], in: folder)
            guard run.status == 0 else { throw CommandError(.failed, "\(mode) \(options): \(run.errors)") }
            return run.output
        }
        #expect(try measure("init").isEmpty)
        #expect(try measure("load", "-c", "2", "-b", "400", "-n", "800", "-k", "800").count == 1)
        // From the token behind the zone's beginning: pages of 400, of 1 KiB each.
        let fetched = try measure("fetch", "-k", "800")
        #expect(fetched.count == 1 && fetched[0].contains("\"changes\":800"), "\(fetched)")
        #expect(throws: (any Error).self, "there are no 801 changes") { try measure("fetch", "-k", "801") }
        #expect(try measure("write", "-c", "4", "-u", "2", "-k", "800").count == 1)
        #expect(try measure("read", "-c", "4", "-k", "800").count == 1)
        #expect(throws: (any Error).self, "records that are not there") { try measure("read", "-k", "900000") }
        #expect(try measure("read", "-S", "-k", "800").count == 1)
        let resumed = try measure("hs", "-c", "2", "-R")
        #expect(resumed.count == 1 && resumed[0].contains("\"resumed_share\":1,"), "\(resumed)")
        // What comes down is compared with what went up. With -M records name what goes up, and nothing comes down.
        #expect(try measure("assets", "-c", "2", "-n", "3", "-s", "200000").count == 2)
        #expect(try measure("assets", "-M", "-n", "2", "-s", "1").count == 1)
        #expect(try measure("assets-beside", "-s", "1000000").count == 3)
        // One publication at a time, then four in flight: each reaches each of the devices, or it fails.
        let pushed = try measure("fanout", "-c", "5", "-w", "4")
        #expect(pushed.count == 2 && pushed.allSatisfy { !$0.contains("\"deliveries_s\":0,") }, "\(pushed)")
    }
}
