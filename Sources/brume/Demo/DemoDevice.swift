internal import BrumeSystem
internal import Foundation

/// The demo's handle on a device's process: sends orders and reads answers.
final class DemoDevice {
    /// No order of the demo takes that long; a device that is silent for longer has failed.
    static let answerMilliseconds = 120_000

    let name: String
    private let process: ChildProcess

    init(
        name: String, role: String, server: DemoServer, token: String, stateFolder: String
    ) throws(CommandError) {
        self.name = name
        let variables = [
            "BRUME_SERVER": server.address, "BRUME_CA": server.caPath, "BRUME_TOKEN": token,
            "BRUME_CONTAINER": DemoCommand.container, "BRUME_ENVIRONMENT": "development",
            "BRUME_STATE": stateFolder, "BRUME_CONFIG": "",
        ]
        do throws(SystemError) {
            process = try ChildProcess(
                executable: ChildProcess.ownExecutable, arguments: ["demo-device", "--role", role],
                environment: ChildProcess.ownEnvironment.merging(variables) { $1 })
        } catch {
            throw CommandError(.failed, "\(name) can't be started: \(error)")
        }
    }

    /// Sends an order and waits for its answer. `step` is called for intermediate answers, which have the key
    /// `stepKey`.
    @discardableResult
    func order(
        _ words: String, stepKey: String? = nil, step: (Int64) throws(CommandError) -> Void = { _ in }
    ) throws(CommandError) -> JSONValue {
        process.write(words + "\n")
        while true {
            let answer = try answer(to: words)
            guard let stepKey, case .integer(let number)? = answer[stepKey] else { return answer }
            try step(number)
        }
    }

    /// Shuts the device down cleanly.
    func quit() {
        process.send(SIGTERM)
        _ = process.wait()
    }

    private func answer(to words: String) throws(CommandError) -> JSONValue {
        guard let line = process.output.readLine(timeoutMilliseconds: Self.answerMilliseconds) else {
            let how = process.hasEnded ? "ended" : "did not answer in \(Self.answerMilliseconds / 1000) s"
            throw CommandError(.failed, "\(name) \(how) at \"\(words.prefix(40))\"")
        }
        do { return try JSONParser.value(of: line) } catch {
            throw CommandError(.failed, "\(name) answered \"\(line.prefix(80))\"")
        }
    }
}
