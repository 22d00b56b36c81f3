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
    /// - Returns: Those for whom it is different.
    @discardableResult
    mutating func update(
        _ zone: String, of database: Database, shard: (DatabaseID) -> Int
    ) -> [Member] {
        let starts = database.starts(inZoneNamed: zone)
        var members = zones[zone] ?? [:]
        var changes: [Member] = []
        // In a fixed order, so that the same happens in every run.
        for user in members.keys.sorted() where starts[user] == nil {
            changes.append(members.removeValue(forKey: user)!)
        }
        for (user, start) in starts.sorted(by: { $0.key < $1.key }) where members[user]?.start != start {
            let home = database.id.privateDatabase(of: user)
            let member = Member(start: start, home: home, shard: members[user]?.shard ?? shard(home))
            members[user] = member
            changes.append(member)
        }
        zones[zone] = members.isEmpty ? nil : members
        return changes
    }
}
