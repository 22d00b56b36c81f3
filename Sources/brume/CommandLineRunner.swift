internal import BrumeKit
internal import BrumeLock
internal import Dispatch
internal import Foundation

/// Runs one command line: understands it, runs the command, and tells a person about errors.
enum CommandLineRunner {
    private static func parser(_ environment: [String: String]) -> ArgumentParser {
        ArgumentParser(commands: CommandTable.commands, environment: environment) { path in
            guard let data = FileManager.default.contents(atPath: path), data.count <= ConfigurationFile.bytesLimit
            else { return nil }
            return String(validating: data, as: UTF8.self)
        }
    }

    /// Parses this process's command line again, with the configuration file as it is now.
    static func readAgain() throws -> Invocation? {
        let words = Array(CommandLine.arguments.dropFirst())
        guard case .run(let invocation) = try parser(ProcessInfo.processInfo.environment).parse(words) else {
            return nil
        }
        return invocation
    }

    static func run(_ words: [String]) -> ExitCode {
        let environment = ProcessInfo.processInfo.environment
        let parser = parser(environment)
        do {
            switch try parser.parse(words) {
            case .help(let topic):
                let style = Style.standardOutput(environment)
                Terminal.write(HelpText(commands: CommandTable.commands, style: style).text(for: topic))
                // The command line was empty: print the help, but don't let a script believe that something was done.
                return words.isEmpty ? .usage : .done
            case .run(let invocation):
                do { return try run(invocation) } catch { return report(error, environment, for: invocation) }
            }
        } catch {
            return report(error, environment)
        }
    }

    private static func run(_ invocation: Invocation) throws -> ExitCode {
        switch invocation.command.body {
        case .blocking(let body): return try body(invocation)
        case .asynchronous(let body):
            let result = Lock<Result<ExitCode, any Error>?>(nil)
            let done = DispatchSemaphore(value: 0)
            Task.detached {
                let outcome: Result<ExitCode, any Error>
                do { outcome = .success(try await body(invocation)) } catch { outcome = .failure(error) }
                result.withLock { $0 = outcome }
                done.signal()
            }
            done.wait()
            return try result.withLock { $0! }.get()
        }
    }

    private static func report(
        _ error: any Error, _ environment: [String: String], for invocation: Invocation? = nil
    ) -> ExitCode {
        let style = Style.standardError(environment)
        let scope = invocation.flatMap { try? ClientContext.scope($0) }
        var failure = CommandError(describing: error, scope: scope ?? .private)
        if let invocation, isOperatorElsewhere(invocation), failure.hint.isEmpty, failure.message.contains("BRUME_") {
            failure = CommandError(
                failure.code, failure.message,
                hint:
                    "for an operator's command these are --server (BRUME_OPERATOR_SERVER) and --ca (BRUME_OPERATOR_CA)")
        }
        let (message, hint) = (failure.message.printable(keepsLines: true), failure.hint.printable(keepsLines: true))
        Terminal.printError("\(style.red("brume:")) \(message)")
        if !hint.isEmpty { Terminal.printError("       \(style.dim(hint))") }
        return failure.code
    }

    /// Whether a command is an operator's with a server on another machine, where the SDK's messages name the variables
    /// of an app.
    private static func isOperatorElsewhere(_ invocation: Invocation) -> Bool {
        invocation.command.option(named: CommandOptions.operatorTokenFile) != nil && invocation.text("server") != nil
    }
}
