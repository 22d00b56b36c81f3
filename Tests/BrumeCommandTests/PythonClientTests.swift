import BrumeSystem
import Foundation
import Testing

/// The second implementation of the protocol, against the real executable.
@Suite("Python client", .timeLimit(.minutes(5)))
struct PythonClientTests {
    /// Debian's own Python: the one that python3-protobuf is for.
    static let python = "/usr/bin/python3"

    @Test("a client written in another language from the protocol's page alone works with the server")
    func pythonClient() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("brume-python-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let ready = folder.appendingPathComponent("ready.json")

        let log = folder.appendingPathComponent("server.log")
        let server = try ChildProcess(
            executable: CommandRun.executable,
            arguments: [
                "dev", "--with-parent", "--accounts", "alice,bob", "--data",
                folder.appendingPathComponent("data").path, "--port", "0", "--ready-file", ready.path,
            ], output: .file(log.path), errors: .file(log.path))
        while !FileManager.default.fileExists(atPath: ready.path) {
            try #require(!server.hasEnded, "brume dev ended: \(Self.text(log))")
            try await Task.sleep(for: .milliseconds(20))
        }

        let outputFile = folder.appendingPathComponent("python.log")
        let status = try await Self.run(
            Self.python, ["-B", Self.package.appendingPathComponent("Tests/Python/test_client.py").path, ready.path],
            output: outputFile)
        let output = Self.text(outputFile)
        #expect(status == 0, "\(output)\n\(Self.text(log))")
        // What ran says so: an empty run would pass as well.
        #expect(output.contains("Ran ") && !output.contains("Ran 0 tests"), "\(output)")

        // A stop by signal is an orderly one.
        server.send(SIGTERM)
        while !server.hasEnded { try await Task.sleep(for: .milliseconds(20)) }
        #expect(server.wait() == 0, "\(Self.text(log))")
    }

    static var package: URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
    }

    /// Runs a program to its end. Its output goes to a file, so that no pipe fills up.
    static func run(_ program: String, _ arguments: [String], output: URL) async throws -> Int32 {
        let process = try ChildProcess(
            executable: program, arguments: arguments, output: .file(output.path), errors: .file(output.path))
        process.closeInput()
        // The time limit cancels the sleep: the process ends with its object, and the test with it.
        while !process.hasEnded { try await Task.sleep(for: .milliseconds(20)) }
        return process.wait()
    }

    static func text(_ url: URL) -> String { (try? String(contentsOf: url, encoding: .utf8)) ?? "" }
}
