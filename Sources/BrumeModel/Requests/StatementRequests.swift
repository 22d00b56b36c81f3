/// A request to keep an account's next statement, or a first one in the place of all.
package struct AppendStatementRequest: Equatable, Sendable {
    /// Signed.
    package var statement: SharedBytes
    /// The hash of the last statement, if this one takes the place of all there are; else empty.
    package var replacedHash: [UInt8]

    package init(statement: SharedBytes, replacedHash: [UInt8] = []) {
        self.statement = statement
        self.replacedHash = replacedHash
    }
}

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
