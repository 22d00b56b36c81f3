/// What is wrong with one row of a file.
struct RowError: Error, Equatable, Sendable {
    /// Counted from 1.
    let line: Int
    let message: String
}
