/// What an operation did, item by item: what its client is answered, and what a retry is answered again.
package enum OperationOutcome: Equatable, Sendable {
    /// For each zone of the request.
    case records([ZoneModificationResult<SharedBytes>])
    /// The zones' own tokens are empty; the token from which a first fetch of a saved zone goes on is beside its
    /// result, nil where there is none.
    case zones(ModifyZonesResult, firstFetches: [ChangeToken?])
    case subscriptions(ModifySubscriptionsResult)

    /// What kind of request it is the outcome of. Raw values are part of digests, which are stored: records have none
    /// of their own, as in digests from before kinds were told apart.
    package enum Kind: UInt8, Sendable {
        case records = 0
        case zones = 1
        case subscriptions = 2
    }

    package var kind: Kind {
        switch self {
        case .records: .records
        case .zones: .zones
        case .subscriptions: .subscriptions
        }
    }
}
