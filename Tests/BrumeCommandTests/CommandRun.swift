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
    init(
        _ arguments: [String], executable: String = Self.executable, environment: [String: String] = [:],
        in folder: TestFolder
    ) throws {
        let errorPath = folder.path + "/stderr-\(UUID().uuidString)"
        let process = try ChildProcess(
            executable: executable, arguments: arguments,
            environment: Self.clean(environment.merging(["TMPDIR": folder.path]) { $1 }),
            errors: .file(errorPath))
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

/// `brume dev` as a process of its own.
final class DevServer {
    let folder: TestFolder
    let process: ChildProcess
    let readyPath: String
    let ready: JSONValue
    let readyNanoseconds: UInt64

    init(folder: TestFolder, arguments: [String] = []) throws {
        self.folder = folder
        readyPath = folder.path + "/ready-\(UUID().uuidString).json"
        let started = MonotonicClock.nowNanoseconds
        process = try ChildProcess(
            executable: CommandRun.executable,
            arguments: ["dev", "--with-parent", "--ready-file", readyPath] + arguments,
            environment: CommandRun.clean(["TMPDIR": folder.path]), errors: .file(folder.path + "/dev.log"))
        // The line comes when the file is there.
        let line = process.output.readLine(timeoutMilliseconds: CommandRun.timeoutMilliseconds)
        readyNanoseconds = MonotonicClock.nowNanoseconds - started
        #expect(line?.hasPrefix("brume dev serves on 127.0.0.1:") == true)
        ready = try JSONParser.value(
            of: String(decoding: FileManager.default.contents(atPath: readyPath) ?? Data(), as: UTF8.self))
    }

    func token(_ account: String = "a") throws -> String {
        try #require(ready["accounts"]?[account]?["token"]?.text)
    }

    /// What a client needs to reach it.
    func environment(account: String = "a") throws -> [String: String] {
        [
            "BRUME_SERVER": try #require(ready["server"]?.text), "BRUME_CA": try #require(ready["ca"]?.text),
            "BRUME_TOKEN": try token(account), "BRUME_STATE": folder.path + "/state-\(account)",
        ]
    }

    func run(_ arguments: String..., account: String = "a", extra: [String: String] = [:]) throws -> CommandRun {
        try CommandRun(arguments, environment: environment(account: account).merging(extra) { $1 }, in: folder)
    }
}
