internal import BrumeKit
internal import BrumeSystem
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

/// The executable as a server, `brume serve` or `brume dev`: a process that a test starts, hurts, kills, and starts
/// again where it was.
final class ServerProcess {
    let folder: TestFolder
    let dataFolder: String
    private(set) var caPath: String
    private(set) var address = "127.0.0.1:0"
    var port: UInt16? { address.split(separator: ":").last.flatMap { UInt16($0) } }
    /// What `brume dev` wrote when it was ready.
    private(set) var ready = JSONValue.null
    let readyPath: String
    /// What the server is told to use of its certificates; nil for `brume dev`, which makes its own.
    private let certificates: Certificates?
    private let saysAuthority: Bool
    private let logPath: String
    private var process: ChildProcess?

    /// `brume serve`, which ``start(environment:options:)`` starts, with certificates that `brume certs` made.
    ///
    /// - Parameters:
    ///   - dataFolder: Where its data is; nil: in the test's folder.
    ///   - saysAuthority: Whether it is told where the certificate of its CA is.
    init(folder: TestFolder, dataFolder: String? = nil, saysAuthority: Bool = true) throws {
        let certificates = Certificates(folder: folder.file("certificates"))
        self.folder = folder
        self.dataFolder = dataFolder ?? folder.file("data")
        self.certificates = certificates
        self.saysAuthority = saysAuthority
        caPath = certificates.caPath
        readyPath = ""
        logPath = folder.file("server.log")
        let made = try CommandRun(["certs", "--folder", certificates.folder], in: folder)
        #expect(made.status == 0, "\(made.errors)")
    }

    /// `brume dev`, and the arguments of its command line.
    private init(dev folder: TestFolder, _ arguments: [String]) {
        self.folder = folder
        dataFolder = arguments.firstIndex(of: "--data").map { arguments[$0 + 1] } ?? ""
        certificates = nil
        saysAuthority = true
        caPath = ""
        readyPath = folder.file("ready-\(UUID().uuidString).json")
        logPath = folder.file("dev.log")
    }

    /// `brume dev`, ready.
    static func dev(folder: TestFolder, arguments: [String] = []) throws -> ServerProcess {
        let server = ServerProcess(dev: folder, arguments)
        let process = try server.launch(["dev", "--with-parent", "--ready-file", server.readyPath] + arguments)
        // The line comes when the file is there.
        let line = process.output.readLine(timeoutMilliseconds: CommandRun.timeoutMilliseconds)
        #expect(line?.hasPrefix("brume dev serves on 127.0.0.1:") == true, "\(server.log)")
        server.ready = try JSONParser.value(
            of: String(decoding: FileManager.default.contents(atPath: server.readyPath) ?? Data(), as: UTF8.self))
        server.address = try #require(server.ready["server"]?.text)
        server.caPath = try #require(server.ready["ca"]?.text)
        return server
    }

    /// Starts `brume serve` where it listened before.
    func start(environment: [String: String] = [:], options: [String] = []) throws {
        guard let certificates else { preconditionFailure("`brume dev` is started once") }
        let process = try launch(
            [
                "serve", "--data", dataFolder, "--listen", address, "--certificate", certificates.certificatePath,
                "--key", certificates.keyPath, "--with-parent", "--journal-segment-bytes", "1048576",
            ] + (saysAuthority ? ["--ca", caPath] : []) + (options.contains("--config") ? [] : ["--log-level", "info"])
                + options, environment: environment)
        let deadline = MonotonicClock.nowNanoseconds + UInt64(CommandRun.timeoutMilliseconds) * 1_000_000
        while true {
            // A killed server's file names another process.
            if let file = try ServerFile(dataFolder: dataFolder), file.pid == process.pid {
                address = file.server
                return
            }
            if process.hasEnded || MonotonicClock.nowNanoseconds > deadline {
                throw TestFailure("the server did not start: \(log.suffix(500))")
            }
            usleep(1_000)
        }
    }

    private func launch(_ arguments: [String], environment: [String: String] = [:]) throws -> ChildProcess {
        let process = try ChildProcess(
            executable: CommandRun.executable, arguments: arguments,
            environment: CommandRun.clean(["TMPDIR": folder.path].merging(environment) { $1 }),
            errors: .file(logPath))
        self.process = process
        return process
    }

    // MARK: Certificates

    /// Puts another certificate, of the same authority, and its key in the place of those that it has.
    func renewCertificate() throws { try certificates?.issue(names: Certificates.localNames) }

    /// Takes away the CA's certificate, so that the server can't know it: only a client that is told where it is now.
    func hideAuthority() throws {
        let hidden = folder.file("elsewhere.pem")
        try FileManager.default.moveItem(atPath: caPath, toPath: hidden)
        caPath = hidden
    }

    // MARK: The process

    var pid: Int32 { process?.pid ?? 0 }
    var log: String { FileManager.default.contents(atPath: logPath).map { String(decoding: $0, as: UTF8.self) } ?? "" }

    /// Waits for a line of the log.
    func waitForLog(_ text: String) async throws {
        try await waitUntil("the log says \"\(text)\"") { log.contains(text) }
    }

    func send(_ signal: Int32) { process?.send(signal) }

    /// Ends what it reads, as its parent's end does.
    func closeInput() { process?.closeInput() }

    /// Whether the kernel has stopped all of its threads: a signal is on its way for a moment.
    var isStopped: Bool {
        let folder = "/proc/\(pid)/task"
        guard let tasks = try? FileManager.default.contentsOfDirectory(atPath: folder), !tasks.isEmpty else {
            return false
        }
        return tasks.allSatisfy { task in
            let status = (try? String(contentsOfFile: "\(folder)/\(task)/stat", encoding: .utf8)) ?? ""
            // The state stands behind the name, which is in parentheses and may hold anything.
            return status.split(separator: ")").last?.hasPrefix(" T") ?? false
        }
    }

    /// Waits for its end: its exit code, or 128 and the signal that ended it.
    func end() async throws -> Int32 {
        guard let process else { return -1 }
        try await waitUntil("the server ends") { process.hasEnded }
        return wait()
    }

    /// The same, on the test's thread.
    @discardableResult
    func wait() -> Int32 {
        defer { process = nil }
        return process?.wait() ?? -1
    }

    /// Stops it in order: its exit code.
    func stop() -> Int32 {
        send(SIGTERM)
        return wait()
    }

    func kill() {
        send(SIGKILL)
        wait()
    }
}
