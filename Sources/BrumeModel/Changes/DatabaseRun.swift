/// A run of the server in a database's history: its first commit there, and the random number that names it.
package struct DatabaseRun: Equatable, Sendable {
    /// Sequence of the run's first commit in the database. The run ends where the next one begins.
    package var firstSequence: UInt64
    package var id: UInt32

    package init(firstSequence: UInt64, id: UInt32) {
        self.firstSequence = firstSequence
        self.id = id
    }
}
