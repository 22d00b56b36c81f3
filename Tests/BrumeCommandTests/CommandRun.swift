internal import BrumeSystem
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

/// One run of the real executable, which stands beside the running test bundle.
struct CommandRun {
    /// Nothing that a test runs takes as long; one that does is ended and fails.
    static let timeoutMilliseconds = 60_000

    let status: Int32
    let output: [String]
    let errors: String

    static let executable: String = {
        let bundle = ChildProcess.ownExecutable
        return URL(fileURLWithPath: bundle).deletingLastPathComponent().path + "/brume"
    }()

    /// No setting of whoever runs the tests reaches the executable.
    static func clean(_ environment: [String: String]) -> [String: String] {
        ChildProcess.ownEnvironment.filter { !$0.key.hasPrefix("BRUME_") }.merging(environment) { $1 }
    }

    /// Runs the executable, or another, to its end.
    ///
    /// - Parameter input: What its standard input holds.
    init(
        _ arguments: [String], executable: String = Self.executable, environment: [String: String] = [:],
        input: String = "", in folder: TestFolder
    ) throws {
        let errorPath = folder.path + "/stderr-\(UUID().uuidString)"
        let process = try ChildProcess(
            executable: executable, arguments: arguments,
            environment: Self.clean(environment.merging(["TMPDIR": folder.path]) { $1 }),
            errors: .file(errorPath))
        if !input.isEmpty { process.write(input) }
        process.closeInput()
        var lines: [String] = []
        while let line = process.output.readLine(timeoutMilliseconds: Self.timeoutMilliseconds) { lines.append(line) }
        if !process.hasEnded { process.send(SIGKILL) }
        status = process.wait()
        output = lines
        errors = String(decoding: FileManager.default.contents(atPath: errorPath) ?? Data(), as: UTF8.self)
    }

    /// The last line of output as JSON.
    func json() throws -> JSONValue { try JSONParser.value(of: output.last ?? "") }
}
