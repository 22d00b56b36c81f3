internal import BrumeSystem
internal import Foundation

/// `brume serve` as a process of its own, which never outlives this one: it ends with its standard input.
///
/// `@unchecked Sendable`: the process is signalled and waited for by whoever has the owner's lock.
final class SpawnedServer: @unchecked Sendable {
    private let process: ChildProcess

    /// Starts it, and returns when it serves.
    ///
    /// - Parameter forwardsLog: Its lines are written to the standard error output.
    init(executable: URL, arguments: [String], forwardsLog: Bool) throws(TestServerError) {
        do throws(SystemError) {
            process = try ChildProcess(
                executable: executable.path, arguments: arguments,
                // None of the settings of whoever runs the tests.
                environment: ChildProcess.ownEnvironment.filter { !$0.key.hasPrefix("BRUME_") },
                output: .nowhere, errors: .reader)
        } catch {
            throw TestServerError("\(executable.path) can't be started: \(error)")
        }
        let (output, log) = (process.output, SpawnedServerLog(forwards: forwardsLog))
        Thread.detachNewThread { log.read(output) }
        guard log.waitUntilServing() else {
            kill()
            throw TestServerError(
                "\(executable.lastPathComponent) did not serve within \(Int(TestLimits.processSeconds)) s, or ended: "
                    + log.lastLines)
        }
    }

    /// Stops it in order: calls in flight end, and everything is on disk.
    func stop() { end(by: SIGTERM) }

    /// Ends it at once, as a crash or a power cut of its machine's process would.
    func kill() { end(by: SIGKILL) }

    private func end(by signal: Int32) {
        process.send(signal)
        _ = process.wait()
        process.closeInput()
    }
}
