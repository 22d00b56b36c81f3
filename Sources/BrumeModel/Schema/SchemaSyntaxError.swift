/// Why a schema's text is none: where, and what should stand there.
package struct SchemaSyntaxError: Error, Equatable, Sendable, CustomStringConvertible {
    /// From 1.
    package let line: Int
    /// From 1, in characters.
    package let column: Int
    package let problem: String

    package init(line: Int, column: Int, problem: String) {
        self.line = line
        self.column = column
        self.problem = problem
    }

    package var description: String { "line \(line), column \(column): \(problem)" }
}
