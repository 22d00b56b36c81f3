/// An account as the operator sees it.
package struct Account: Equatable, Sendable {
    package var name: String
    /// Empty for none, as is the phone number.
    package var email: String
    package var phone: String
    package var createdMilliseconds: Int64
    /// How many tokens are valid.
    package var tokens: Int
    /// In the container and environment of the request.
    package var userRecordName: String

    package init(
        name: String, email: String, phone: String = "", createdMilliseconds: Int64, tokens: Int, userRecordName: String
    ) {
        self.name = name
        self.email = email
        self.phone = phone
        self.createdMilliseconds = createdMilliseconds
        self.tokens = tokens
        self.userRecordName = userRecordName
    }
}

/// The quota of an account's private databases in all containers and environments, and what they hold.
package struct AccountQuota: Equatable, Sendable {
    /// The limit in bytes; 0 means no limit.
    package var limitBytes: Int
    /// Whether the limit is the server's for every account.
    package var isDefault: Bool
    /// The bytes in use; nil when they are unknown, because no server has the database.
    package var usedBytes: Int?

    package init(limitBytes: Int, isDefault: Bool, usedBytes: Int?) {
        self.limitBytes = limitBytes
        self.isDefault = isDefault
        self.usedBytes = usedBytes
    }
}

/// What becomes of an account's quota.
package enum QuotaChange: Equatable, Sendable {
    /// A limit in bytes; 0 means no limit.
    case bytes(Int)
    case serverDefault
}

/// One of a container's two environments, as the operator sees it.
package struct ContainerEnvironment: Equatable, Sendable {
    /// Those of its schema.
    package var recordTypes: Int
    /// The bytes of its public database that count against the quota.
    package var publicBytes: Int

    package init(recordTypes: Int = 0, publicBytes: Int = 0) {
        self.recordTypes = recordTypes
        self.publicBytes = publicBytes
    }
}

/// A container as the operator sees it.
package struct ContainerSummary: Equatable, Sendable {
    package var name: String
    package var development: ContainerEnvironment
    package var production: ContainerEnvironment

    package init(
        name: String, development: ContainerEnvironment = ContainerEnvironment(),
        production: ContainerEnvironment = ContainerEnvironment()
    ) {
        self.name = name
        self.development = development
        self.production = production
    }

    package subscript(environment: Environment) -> ContainerEnvironment {
        get { environment == .development ? development : production }
        set { if environment == .development { development = newValue } else { production = newValue } }
    }
}

/// A page of a server's containers.
package struct ContainerPage: Equatable, Sendable {
    package var containers: [ContainerSummary]
    package var moreComing: Bool
    /// What each public database may hold; 0 means no limit.
    package var publicQuotaBytes: Int

    package init(containers: [ContainerSummary], moreComing: Bool, publicQuotaBytes: Int) {
        self.containers = containers
        self.moreComing = moreComing
        self.publicQuotaBytes = publicQuotaBytes
    }
}

/// An account in security roles, in the container and environment of the request.
package struct RoleMember: Equatable, Sendable {
    /// The account's name; empty for an account that was removed.
    package var account: String
    package var userRecordName: String
    package var roles: [String]

    package init(account: String, userRecordName: String, roles: [String]) {
        self.account = account
        self.userRecordName = userRecordName
        self.roles = roles
    }
}

/// What a reset of development emptied, or the removal of an account with its data.
package struct ResetSummary: Equatable, Sendable {
    package var databases: Int
    package var records: Int

    package init(databases: Int, records: Int) {
        self.databases = databases
        self.records = records
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
    /// Writes are refused until there is room on the disk.
    package var isDiskFull: Bool
    /// A file of the data folder turned out to be damaged since the start. The log names it.
    package var isDamageFound: Bool

    package init(
        isServing: Bool, uptimeMilliseconds: UInt64, isDiskFull: Bool = false, isDamageFound: Bool = false
    ) {
        self.isServing = isServing
        self.uptimeMilliseconds = uptimeMilliseconds
        self.isDiskFull = isDiskFull
        self.isDamageFound = isDamageFound
    }
}
