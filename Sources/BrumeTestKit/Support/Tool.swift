internal import BrumeSystem

/// A program of the system.
package enum Tool {
    /// Runs a command to its end.
    package static func run(_ arguments: [String], input: String = "") throws -> (status: Int32, output: String) {
        let process = try ChildProcess(
            executable: "/usr/bin/env", arguments: arguments, output: .reader, errors: .reader)
        process.write(input)
        process.closeInput()
        let output = process.output.readToEnd()
        return (process.wait(), output)
    }
}
