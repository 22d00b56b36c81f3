internal import BrumeModel

/// What the records of a commit mean to query subscriptions, found plainly: each record is matched against each of
/// them.
struct QueryPushes {
    private var subscriptions: [CommitHistory.SubscriptionKey: Subscription]
    /// By owner.
    private(set) var pushes: [String: Set<PushLog.Push>] = [:]
    /// Subscriptions that fire once and have fired: each reports the first record that it matches, and then no more.
    private var spent: Set<CommitHistory.SubscriptionKey> = []

    /// - Parameter subscriptions: The subscriptions before the commit.
    init(_ subscriptions: [CommitHistory.SubscriptionKey: Subscription]) {
        self.subscriptions = subscriptions.filter {
            if case .query = $0.value.kind { true } else { false }
        }
    }

    /// Takes a record that was put or deleted, in the order of the commit. `record` is the new version, or the last
    /// one.
    ///
    /// - Parameter isOfZone: Whether the record goes with its zone, and with others, in no order.
    mutating func changed(
        _ record: Record, in zone: String, _ reason: RecordChangeReason, isOfZone: Bool = false
    ) {
        let option: QuerySubscription.Options =
            switch reason {
            case .created: .creation
            case .updated: .update
            case .deleted: .deletion
            }
        for (key, subscription) in subscriptions {
            guard case .query(let query) = subscription.kind, query.options.contains(option),
                query.recordType == record.system.type, query.zone == nil || query.zone?.name == zone,
                !spent.contains(key), NaivePredicate.holds(query.predicate, record) == true
            else { continue }
            if query.options.contains(.once) {
                spent.insert(key)
                if isOfZone {
                    pushes[key.owner, default: []].insert(.oneDeletion(subscription: subscription.id))
                    continue
                }
            }
            var fields: [String: FieldValue] = [:]
            for field in subscription.notificationInfo?.desiredKeys ?? [] where reason != .deleted {
                if case .encrypted? = record.fields[field] { continue }
                fields[field] = record.fields[field]
            }
            pushes[key.owner, default: []].insert(
                .record(
                    subscription: subscription.id, zone: zone, name: record.system.name, reason: reason, fields: fields)
            )
        }
    }

    /// Checks that a subscription that fires once goes with the commit that fires it, and only then.
    func problem(
        after subscriptions: [CommitHistory.SubscriptionKey: Subscription], in entry: JournalEntry
    ) -> String? {
        if let stayed = spent.first(where: { subscriptions[$0] != nil }) {
            return "I5: \(stayed.id) fired in commit \(entry.sequence), and is still there to fire again"
        }
        let changesRecords = entry.changes.contains {
            if case .recordPut = $0 { return true }
            if case .recordDeletion = $0 { return true }
            return false
        }
        let gone = self.subscriptions.keys.first { subscriptions[$0] == nil && !spent.contains($0) }
        if changesRecords, let gone {
            return "I5: \(gone.id) went with commit \(entry.sequence), which did not fire it"
        }
        return nil
    }
}
