/// What an operation did, item by item: what its client is answered, and what a retry is answered again.
package enum OperationOutcome: Equatable, Sendable {
    /// For each zone of the request.
    case records([ZoneModificationResult<SharedBytes>])
    /// The zones' own tokens are empty; the token from which a first fetch of a saved zone goes on is beside its
    /// result, nil where there is none.
    case zones(ModifyZonesResult, firstFetches: [ChangeToken?])
    case subscriptions(ModifySubscriptionsResult)
}
