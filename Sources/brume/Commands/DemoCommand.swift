internal import BrumeSystem
internal import Foundation

/// `brume demo`: all of Brume at work, in a server and two devices that are separate processes.
enum DemoCommand {
    static let container = "iCloud.brume.demo"

    static let definition = CommandDefinition(
        ["demo"], "see it work: a server, two devices, a crash",
        options: [
            OptionDefinition(
                "data", "DIR", "the server's data folder, which is kept (default: a temporary one)",
                variable: "BRUME_DEMO_DATA"), CommandOptions.json,
        ],
        notes: [
            """
            Device A imports the languages of ISO 639-3 and the world's time zones; device B, a process of its own, is pushed \
            to and follows. The server is killed and started again while A edits; B goes away and comes back with its saved \
            tokens. In the end both hold the same records, or the exit code is 1.
            """,
            "Needs the packages iso-codes and tzdata.",
        ],
        body: .blocking(run))

    private static func run(_ invocation: Invocation) throws -> ExitCode {
        StopSignals.block()
        StopSignals.watch {
            ChildProcess.killAll()
            TemporaryFolder.removeAll()
            _exit(130)
        }
        // Reports missing packages before anything is started.
        let expected = (languages: try Languages.load().count, timeZones: try TimeZones.load().count)
        let workFolder = try TemporaryFolder(forCommand: "brume-demo").path
        defer { TemporaryFolder.removeAll() }
        let report = DemoReport(isJSON: invocation.isOn("json"))
        let demo = try DemoPlay(
            dataFolder: invocation.text("data") ?? workFolder + "/data", workFolder: workFolder, expected: expected,
            report: report)
        let isSame = try demo.play()
        if isSame {
            report.text(
                """

                To run a server for good:
                  brume certs && brume serve --data ./brume-data
                  brume account add alice --data ./brume-data
                """)
        }
        return isSame ? .done : .failed
    }
}
