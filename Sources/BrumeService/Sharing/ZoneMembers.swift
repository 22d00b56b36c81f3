internal import BrumeModel
internal import BrumeStore

/// The users who take part in the zones of a loaded database, as their own databases were told: what a commit changes
/// of it is told them when the commit is durable.
struct ZoneMembers {
    struct Member {
        var start: ChangePosition
        /// Their own database, and the shard that it belongs to.
        var home: DatabaseID
        var shard: Int
    }

    /// By the zone's name and the user's record name.
    private var zones: [String: [String: Member]] = [:]

    var isEmpty: Bool { zones.isEmpty }

    init() {}

    /// - Parameter shard: Tells the shard of a database.
    init(of database: Database, shard: (DatabaseID) -> Int) {
        if database.id.scope != .private { return }
        // Most take part in several zones.
        var shards: [DatabaseID: Int] = [:]
        for zone in database.zonesWithMembers {
            update(zone, of: database) { home in
                if let known = shards[home] { return known }
                let index = shard(home)
                shards[home] = index
                return index
            }
        }
    }

    func members(ofZoneNamed name: String) -> some Collection<Member> { (zones[name] ?? [:]).values }

    func member(_ user: String, ofZoneNamed name: String) -> Member? { zones[name]?[user] }

    /// Whether a commit may change who takes part.
    static func mayChange(by commit: Commit) -> Bool {
        commit.zones.contains { $0.isDeleted || $0.recordTypes.contains(Names.shareType) }
    }

    /// Takes over who takes part in a zone now.
    ///
    /// - Parameter users: Those for whom it may be different; nil for all.
    /// - Returns: Those for whom it is.
    @discardableResult
    mutating func update(
        _ zone: String, of database: Database, users: Set<String>? = nil, shard: (DatabaseID) -> Int
    ) -> [Member] {
        let users = users ?? Set(database.starts(inZoneNamed: zone).keys).union(zones[zone]?.keys.map(\.self) ?? [])
        var changes: [Member] = []
        // In a fixed order, so that the same happens in every run.
        for user in users.sorted() {
            guard let start = database.start(of: user, inZoneNamed: zone) else {
                if let gone = zones[zone]?.removeValue(forKey: user) { changes.append(gone) }
                continue
            }
            let known = zones[zone]?[user]
            if known?.start == start { continue }
            let home = database.id.privateDatabase(of: user)
            let member = Member(start: start, home: home, shard: known?.shard ?? shard(home))
            zones[zone, default: [:]][user] = member
            changes.append(member)
        }
        if zones[zone]?.isEmpty == true { zones[zone] = nil }
        return changes
    }
}
