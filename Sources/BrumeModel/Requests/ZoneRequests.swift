/// A zone in an answer.
package struct Zone: Equatable, Sendable {
    package var id: ZoneID
    package var capabilities: ZoneCapabilities
    /// A sealed change token from which a first fetch of the zone goes on, as of the answer: its records, and the
    /// deletions from then on. Empty where the answer has none.
    package var changeToken: [UInt8]
    /// Whether the whole zone is shared.
    package var isShared: Bool

    package init(
        id: ZoneID, capabilities: ZoneCapabilities, changeToken: [UInt8] = [], isShared: Bool = false
    ) {
        self.id = id
        self.capabilities = capabilities
        self.changeToken = changeToken
        self.isShared = isShared
    }
}

extension Zone {
    /// A zone that another user shares as a whole, as whoever takes part sees it: it shares nothing further.
    ///
    /// - Parameter isWhole: Whether it is shared as a whole, and not single records of it.
    package static func shared(_ id: ZoneID, isWhole: Bool) -> Zone {
        Zone(id: id, capabilities: [.fetchChanges, .atomic], isShared: isWhole)
    }
}

/// A request to save and delete zones.
package struct ModifyZonesRequest: Equatable, Sendable {
    package var database: DatabaseScope
    package var saves: [ZoneID]
    package var deletions: [ZoneID]
    package var operationID: [UInt8]
    /// The digest of the message that the request came in; the server sets it where there is an operation id.
    package var operationDigest: OperationDigest?

    package init(database: DatabaseScope, saves: [ZoneID] = [], deletions: [ZoneID] = [], operationID: [UInt8] = []) {
        self.database = database
        self.saves = saves
        self.deletions = deletions
        self.operationID = operationID
    }
}

/// Results in the order of the request. For a deletion, nil means success.
package struct ModifyZonesResult: Equatable, Sendable {
    package var saves: [Result<Zone, ServiceError>]
    package var deletions: [ServiceError?]

    package init(saves: [Result<Zone, ServiceError>] = [], deletions: [ServiceError?] = []) {
        self.saves = saves
        self.deletions = deletions
    }
}

/// A request for one page of a database's changes.
package struct DatabaseChangesRequest: Equatable, Sendable {
    package var database: DatabaseScope
    /// The token's bytes; empty to fetch from the start.
    package var token: [UInt8]
    /// The largest number of changes in the page; 0 means the server's own page size.
    package var resultsLimit: Int

    package init(database: DatabaseScope, token: [UInt8] = [], resultsLimit: Int = 0) {
        self.database = database
        self.token = token
        self.resultsLimit = resultsLimit
    }
}

/// One page of a database's changes; `Token` is sealed bytes on the wire and a ``ChangeToken`` in the engine.
package struct DatabaseChangesPage<Token: Equatable & Sendable>: Equatable, Sendable {
    package struct Deletion: Equatable, Sendable {
        package var zone: ZoneID
        package var reason: ZoneDeletionReason

        package init(zone: ZoneID, reason: ZoneDeletionReason) {
            self.zone = zone
            self.reason = reason
        }
    }

    package var changed: [ZoneID]
    package var deletions: [Deletion]
    package var token: Token
    package var moreComing: Bool
    /// Deleted zones whose name another zone has now. That zone has changed and is in this page or in a later one.
    package var earlierDeletions: [Deletion]

    package init(
        changed: [ZoneID], deletions: [Deletion], token: Token, moreComing: Bool, earlierDeletions: [Deletion] = []
    ) {
        self.changed = changed
        self.deletions = deletions
        self.token = token
        self.moreComing = moreComing
        self.earlierDeletions = earlierDeletions
    }
}
