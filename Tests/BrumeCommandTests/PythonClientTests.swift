import BrumeSystem
import BrumeTestKit
import Foundation
import Testing

/// The second implementation of the protocol, against the real executable.
@Suite("Python client", .timeLimit(.minutes(5)))
struct PythonClientTests {
    /// Debian's own Python: the one that python3-protobuf is for.
    static let python = "/usr/bin/python3"

    @Test("a client written in another language from the protocol's page alone works with the server")
    func pythonClient() async throws {
        let folder = try TestFolder()
        let server = try ServerProcess.dev(
            folder: folder,
            arguments: ["--accounts", "alice,bob,carol", "--data", folder.file("data"), "--port", "0"])
        let outputFile = folder.file("python.log")
        let status = try await Self.run(
            Self.python, ["-B", Self.package + "/Tests/Python/test_client.py", server.readyPath], output: outputFile)
        let output = Self.text(outputFile)
        #expect(status == 0, "\(output)\n\(server.log)")
        // What ran says so: an empty run would pass as well.
        #expect(output.contains("Ran ") && !output.contains("Ran 0 tests"), "\(output)")

        // A stop by signal is an orderly one.
        server.send(SIGTERM)
        #expect(try await server.end() == 0, "\(server.log)")
    }

    static var package: String {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().path
    }

    /// Runs a program to its end. Its output goes to a file, so that no pipe fills up.
    static func run(_ program: String, _ arguments: [String], output: String) async throws -> Int32 {
        let process = try ChildProcess(
            executable: program, arguments: arguments, output: .file(output), errors: .file(output))
        process.closeInput()
        // The time limit cancels the sleep: the process ends with its object, and the test with it.
        try await waitUntil("\(program) ends", seconds: 600) { process.hasEnded }
        return process.wait()
    }

    static func text(_ path: String) -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }
}
