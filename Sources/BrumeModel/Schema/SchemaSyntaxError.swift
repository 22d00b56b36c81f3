/// Why a text is not a schema: where the error is, and what is expected there.
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
