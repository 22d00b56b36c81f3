internal import BrumeServer
internal import Foundation

/// `brume doctor`: looks at everything that a server needs, and says what to do about what is wrong.
enum DoctorCommand {
    static let definition = CommandDefinition(
        ["doctor"], "look at all that a server needs, and say what to do about what is wrong",
        options: [
            CommandOptions.json
        ] + ServeCommand.options,
        notes: [
            """
            It takes the options of brume serve, from the same places, and looks at: the options themselves, \
            certificate and key and their days left, the data folder and who may enter it, room on the disk and the \
            time that a write takes to be on it, port, open files, memory against data, the clock, record types that \
            anybody can read, the audit log, and backups. It writes nothing but a small file that it removes.
            """,
            """
            Run it as the server's user: sudo -u brume brume doctor --config /etc/brume/brume.conf. Exit code 0: \
            nothing keeps the server from serving; there may be warnings. 1: something does, or data is in danger.
            """,
        ],
        examples: ["brume doctor --config /etc/brume/brume.conf", "brume doctor --data ./brume-data --json"],
        body: .asynchronous(run))

    private static func run(_ invocation: Invocation) async throws -> ExitCode {
        let style = Style.standardOutput(ProcessInfo.processInfo.environment)
        var findings: [Finding] = []
        do {
            let configuration = try ServeCommand.configuration(invocation)
            let place = invocation.configurationPath ?? "the command line and its defaults"
            findings.append(Finding("options", "brume serve takes those of \(place)"))
            findings += CertificateCheck.findings(configuration) + FolderCheck.findings(configuration)
            findings += AuditCheck.findings(configuration)
            findings += MachineCheck.findings(configuration) + (await SharingCheck.findings(configuration))
        } catch {
            let problem = CommandError(describing: error)
            findings.append(Finding("options", .failure, problem.message, remedy: problem.hint))
        }
        findings += BackupCheck.findings(try invocation.required("backups"))
        for finding in findings {
            if invocation.isOn("json") {
                Terminal.print(finding.json.line)
            } else {
                for line in finding.lines(style) { Terminal.print(line) }
            }
        }
        return findings.contains { $0.severity == .failure } ? .failed : .done
    }
}
