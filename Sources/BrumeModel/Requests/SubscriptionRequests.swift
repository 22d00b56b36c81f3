/// A request to save and delete subscriptions.
package struct ModifySubscriptionsRequest: Equatable, Sendable {
    package var database: DatabaseScope
    package var saves: [Subscription]
    package var deletions: [String]
    package var operationID: [UInt8]
    /// The digest of the message that the request came in; the server sets it where there is an operation id.
    package var operationDigest: OperationDigest?

    package init(
        database: DatabaseScope, saves: [Subscription] = [], deletions: [String] = [], operationID: [UInt8] = []
    ) {
        self.database = database
        self.saves = saves
        self.deletions = deletions
        self.operationID = operationID
    }
}

/// Results in the order of the request. For a deletion, nil means success.
package struct ModifySubscriptionsResult: Equatable, Sendable {
    package var saves: [Result<Subscription, ServiceError>]
    package var deletions: [ServiceError?]

    package init(saves: [Result<Subscription, ServiceError>] = [], deletions: [ServiceError?] = []) {
        self.saves = saves
        self.deletions = deletions
    }
}
