package import BrumeModel

/// A record that a commit made, changed or deleted, for query subscriptions: kept where somebody subscribed to its
/// type.
package struct CommittedRecord: Equatable, Sendable {
    /// The owner is empty, which means the database's own.
    package let zone: ZoneID
    package let name: String
    package let type: String
    package let reason: RecordChangeReason
    /// The encoded record: its new version, or its last one when it was deleted.
    package let bytes: [UInt8]
}

/// A subscription and the record that fired it.
package struct SubscriptionMatch: Sendable {
    package let subscription: KeptSubscription
    package let record: CommittedRecord
    /// Whether the subscription's user made the record.
    package let isOwn: Bool
}

/// What a commit means to query subscriptions.
package struct CommitMatches: Sendable {
    /// In the order of the commit's changes.
    package var matches: [SubscriptionMatch] = []
    /// Users whose subscriptions were not looked at, or not all of them, because the commit would have cost or told too
    /// much: they are told to fetch. In the public database by name; in a private one the empty name.
    package var overflowingOwners: Set<String> = []

    package init() {}

    package var isEmpty: Bool { matches.isEmpty && overflowingOwners.isEmpty }
}

extension RecordChangeReason {
    /// The option that a subscription needs to fire for it.
    var option: QuerySubscription.Options {
        switch self {
        case .created: .creation
        case .updated: .update
        case .deleted: .deletion
        }
    }
}
