internal import BrumeModel

/// Users of a public database who had subscriptions and have none any more, each with the commit that took the last
/// one.
///
/// What fired before is told from memory, which ends with the process: a device that was away then has to be told to
/// query again, even if nothing is left of the subscription, as with one that fires once. A user who never subscribed
/// has missed nothing, and is not bothered.
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

    /// Notes that the user's last subscription is gone.
    mutating func left(_ user: String, at sequence: UInt64) {
        sequences[user] = sequence
        guard sequences.count > limit else { return }
        // Forgets the older half, which takes a sort once in as many departures.
        let kept = sequences.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
        floor = max(floor, kept[kept.count / 2 - 1].value)
        sequences = Dictionary(uniqueKeysWithValues: kept[(kept.count / 2)...].map { ($0.key, $0.value) })
    }

    /// Notes that the user subscribed again.
    mutating func returned(_ user: String) { sequences[user] = nil }

    /// Whether the user had subscriptions at some time after the commit.
    func hadSubscriptions(_ user: String, behind sequence: UInt64) -> Bool {
        (sequences[user] ?? floor) > sequence
    }

    /// A user record name of 33 bytes, and its place in the table.
    private static let entryBytes = 128

    var approximateBytes: Int { sequences.count * Self.entryBytes }
}
