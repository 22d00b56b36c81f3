/// Some of an account's statements, the first in front.
package struct StatementsPage: Equatable, Sendable {
    package var statements: [SharedBytes]
    /// The number of the last one that there is; 0 where there is none.
    package var last: UInt32

    package init(statements: [SharedBytes], last: UInt32) {
        self.statements = statements
        self.last = last
    }
}
