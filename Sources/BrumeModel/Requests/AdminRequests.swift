/// An account as the operator sees it.
package struct Account: Equatable, Sendable {
    package var name: String
    package var email: String
    package var createdMilliseconds: Int64
    /// How many tokens are valid.
    package var tokens: Int
    /// In the container and environment of the request.
    package var userRecordName: String

    package init(name: String, email: String, createdMilliseconds: Int64, tokens: Int, userRecordName: String) {
        self.name = name
        self.email = email
        self.createdMilliseconds = createdMilliseconds
        self.tokens = tokens
        self.userRecordName = userRecordName
    }
}

/// What a snapshot on demand did.
package struct SnapshotSummary: Equatable, Sendable {
    /// Snapshots written.
    package var databases: Int
    /// Journal segments that were no longer needed.
    package var segmentsRemoved: Int

    package init(databases: Int, segmentsRemoved: Int) {
        self.databases = databases
        self.segmentsRemoved = segmentsRemoved
    }
}

/// Whether the server serves.
package struct HealthStatus: Equatable, Sendable {
    /// False while it drains.
    package var isServing: Bool
    package var uptimeMilliseconds: UInt64

    package init(isServing: Bool, uptimeMilliseconds: UInt64) {
        self.isServing = isServing
        self.uptimeMilliseconds = uptimeMilliseconds
    }
}
