internal import BrumeModel

/// The query subscriptions of a database, in groups by record type and zone.
struct SubscriptionIndex {
    private struct GroupKey: Hashable {
        let recordType: String
        /// Nil for all zones.
        let zone: String?
    }

    private var groups: [GroupKey: SubscriptionGroup] = [:]
    /// The number of groups of each record type: looked up first for every changed record, and alone where nobody
    /// subscribed to the type.
    private var groupCounts: [String: Int] = [:]

    var isEmpty: Bool { groups.isEmpty }

    /// Whether anybody wants to be told of records of the type.
    func concerns(_ recordType: String) -> Bool { groupCounts[recordType] != nil }

    mutating func add(_ query: QuerySubscription, owner: String, slot: Int32) {
        let key = GroupKey(recordType: query.recordType, zone: query.zone?.name)
        let group: SubscriptionGroup
        if let known = groups[key] {
            group = known
        } else {
            group = SubscriptionGroup()
            groups[key] = group
            groupCounts[key.recordType, default: 0] += 1
        }
        group.add(query, owner: owner, slot: slot)
    }

    mutating func remove(_ query: QuerySubscription, owner: String, slot: Int32) {
        let key = GroupKey(recordType: query.recordType, zone: query.zone?.name)
        let group = groups[key]!
        group.remove(owner: owner, slot: slot)
        guard group.isEmpty else { return }
        groups[key] = nil
        groupCounts[key.recordType]! -= 1
        if groupCounts[key.recordType] == 0 { groupCounts[key.recordType] = nil }
    }

    /// Calls `body` with the groups that a record is looked up in.
    func forEachGroup(ofType recordType: String, zone: String, _ body: (SubscriptionGroup) -> Void) {
        if let group = groups[GroupKey(recordType: recordType, zone: zone)] { body(group) }
        if let group = groups[GroupKey(recordType: recordType, zone: nil)] { body(group) }
    }
}
