internal import BrumeSystem
internal import Foundation

/// The demo's server: a process of this executable that can be killed and started again on its folder.
final class DemoServer {
    /// The time limit of a start.
    private static let startMilliseconds = 30_000

    let dataFolder: String
    private let certificates: Certificates
    private let executable: String
    private let logPath: String
    private var process: ChildProcess?
    private(set) var address = "127.0.0.1:0"

    init(
        dataFolder: String, workFolder: String, executable: String = ChildProcess.ownExecutable
    ) throws(CommandError) {
        self.dataFolder = dataFolder
        self.executable = executable
        certificates = Certificates(folder: workFolder + "/certificates")
        logPath = workFolder + "/server.log"
        try certificates.issue(names: Certificates.localNames)
    }

    var caPath: String { certificates.caPath }

    /// Starts it where it listened before; returns the milliseconds from start to readiness.
    func start() throws(CommandError) -> Double {
        let started = MonotonicClock.nowNanoseconds
        let process: ChildProcess
        do throws(SystemError) {
            process = try ChildProcess(
                executable: executable,
                arguments: [
                    "serve", "--data", dataFolder, "--listen", address, "--certificate", certificates.certificatePath,
                    "--key", certificates.keyPath, "--ca", certificates.caPath, "--log-level", "warning",
                    "--with-parent",
                ], errors: .file(logPath))
        } catch {
            throw CommandError(.failed, "the server can't be started: \(error)")
        }
        self.process = process
        let deadline = started + UInt64(Self.startMilliseconds) * 1_000_000
        while true {
            // A killed server's file names another process.
            if let file = try ServerFile(dataFolder: dataFolder), file.pid == process.pid {
                address = file.server
                return Double(MonotonicClock.nowNanoseconds - started) / 1e6
            }
            // The end of its output is its end.
            if process.hasEnded || MonotonicClock.nowNanoseconds > deadline {
                throw CommandError(.failed, "the server did not start: \(logTail)")
            }
            usleep(500)
        }
    }

    /// Ends it as a power cut would: with a signal that it can't catch.
    func killHard() {
        process?.send(SIGKILL)
        _ = process?.wait()
        process = nil
    }

    /// Stops it in order, and says whether it ended well.
    func stop() -> Bool {
        process?.send(SIGTERM)
        let status = process?.wait()
        process = nil
        return status == 0
    }

    /// The end of its log.
    private var logTail: String {
        let text = FileManager.default.contents(atPath: logPath).map { String(decoding: $0, as: UTF8.self) } ?? ""
        return text.split(separator: "\n").suffix(3).joined(separator: " / ")
    }
}
