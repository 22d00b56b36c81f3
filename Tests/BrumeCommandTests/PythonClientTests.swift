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

        let server = Process()
        server.executableURL = try Self.brume
        server.arguments = [
            "dev", "--accounts", "alice,bob", "--data", folder.appendingPathComponent("data").path, "--port", "0",
            "--ready-file", ready.path,
        ]
        server.standardInput = FileHandle.nullDevice
        let log = folder.appendingPathComponent("server.log")
        server.standardOutput = try Self.makeFile(log)
        server.standardError = server.standardOutput
        try server.run()
        defer { if server.isRunning { kill(server.processIdentifier, SIGKILL) } }
        while !FileManager.default.fileExists(atPath: ready.path) {
            try #require(server.isRunning, "brume dev ended: \(Self.text(log))")
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
        server.terminate()
        while server.isRunning { try await Task.sleep(for: .milliseconds(20)) }
        #expect(server.terminationReason == .exit && server.terminationStatus == 0, "\(Self.text(log))")
    }

    /// The executable beside this test's own.
    static var brume: URL {
        get throws {
            let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            return URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent("brume")
        }
    }

    static var package: URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
    }

    /// Runs a program to its end. Its output goes to a file, so that no pipe fills up.
    static func run(_ program: String, _ arguments: [String], output: URL) async throws -> Int32 {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try makeFile(output)
        process.standardError = process.standardOutput
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
                do {
                    try process.run()
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        } onCancel: {
            // The time limit: end it, and the test with it.
            process.terminate()
        }
    }

    private static func makeFile(_ url: URL) throws -> FileHandle {
        try Data().write(to: url)
        return try FileHandle(forWritingTo: url)
    }

    static func text(_ url: URL) -> String { (try? String(contentsOf: url, encoding: .utf8)) ?? "" }
}
