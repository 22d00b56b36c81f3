internal import BrumeModel

/// What a device keeps of the zones of other accounts in which its user takes part.
struct SharedReplica {
    var token: [UInt8] = []
    /// By name and owner.
    var zones: [ZoneID: Replica.Zone] = [:]
    /// Zones that were told as changed and not fetched since.
    var stale: Set<ZoneID> = []
    /// Counts what told it to fetch.
    var newsCount = 0
    /// The account is subscribed, as far as the device knows.
    var isSubscribed = false
    /// What ``newsCount`` was when the last whole fetch began; nil if there was none since the subscription.
    private(set) var fetchedNews: Int?

    /// Counts restores of backups.
    private(set) var era = 0

    /// A whole fetch has ended that began with that count, in that era.
    mutating func fetched(_ count: Int?, era: Int) { if let count, era == self.era { fetchedNews = count } }

    /// Whether the device was told of nothing that it has not fetched.
    var isUpToDate: Bool { fetchedNews == newsCount && stale.isEmpty }

    /// A backup took the place of what the server had: nothing is known any more.
    mutating func restored() {
        isSubscribed = false
        fetchedNews = nil
        era += 1
    }
}
