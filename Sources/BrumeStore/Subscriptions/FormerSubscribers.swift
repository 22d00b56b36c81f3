internal import BrumeModel

/// Users of a public database who had subscriptions and have none any more, each with the commit that took the last
/// one.
///
/// What fired before is told from memory, which ends with the process: a device that was away then has to be told to
/// query again, also when nothing is left of the subscription, as with one that fires once. Who never subscribed has
/// missed nothing, and is not bothered.
struct FormerSubscribers: Equatable, Sendable {
    /// By user.
    private(set) var sequences: [String: UInt64] = [:]
    /// Users who left up to this commit are forgotten: anybody may be one of them.
    private(set) var floor: UInt64 = 0
    private let limit: Int

    init(floor: UInt64 = 0, limit: Int = Limits.formerSubscribersPerDatabase) {
        self.floor = floor
        self.limit = limit
    }

    /// The user's last subscription went.
    mutating func left(_ user: String, at sequence: UInt64) {
        sequences[user] = sequence
        guard sequences.count > limit else { return }
        // The older half: a sort for each, which is once in as many departures.
        let kept = sequences.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
        floor = max(floor, kept[kept.count / 2 - 1].value)
        sequences = Dictionary(uniqueKeysWithValues: kept[(kept.count / 2)...].map { ($0.key, $0.value) })
    }

    /// The user subscribed again.
    mutating func returned(_ user: String) { sequences[user] = nil }

    /// Whether the user had subscriptions at some time behind the commit.
    func hadSubscriptions(_ user: String, behind sequence: UInt64) -> Bool {
        (sequences[user] ?? floor) > sequence
    }

    /// A user record name of 33 bytes, and its place in the table.
    private static let entryBytes = 128

    var approximateBytes: Int { sequences.count * Self.entryBytes }
}
