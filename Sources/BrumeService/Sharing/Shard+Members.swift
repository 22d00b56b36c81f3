internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// What an owner's database tells the databases of those who take part in its zones. On the loop of the former.
///
/// Messages of one database to another arrive in the order of its commits: the queues between loops keep it. They are
/// lost when the server ends; what then is out of date is found when it is used: see
/// ``Database/ask(_:nowMilliseconds:)``.
extension Shard {
    /// What one database tells another.
    enum HomeMessage: Sendable {
        /// The user's part in a zone began or ended.
        case part(SharedZoneNews)
        /// Records of these types changed in a zone; nil where the user sees more of it than before, or less.
        case touch(ZoneID, types: Set<String>?)
        /// The user takes part in a zone, as they know; but see ``reminders(of:in:)``.
        case reminder(AskedZone)
    }

    /// What messages of one commit have in common.
    struct HomeMessageCause: Sendable {
        /// The account whose request it was, which what follows is charged to.
        var account: ClientShare.Key
        var origin = ChangeOrigin.server
        var committedMilliseconds: Int64 = 0
    }

    /// Tells of a commit, once it is durable: whoever takes part in its zones that these changed, and whoever comes or
    /// goes with it that they do.
    func tellMembers(
        of commit: Commit, in loaded: LoadedDatabase, origin: ChangeOrigin, by account: ClientShare.Key
    ) {
        let mayChange = ZoneMembers.mayChange(by: commit)
        if loaded.members.isEmpty, !mayChange { return }
        let database = loaded.database
        var messages: [Int: [(home: DatabaseID, message: HomeMessage)]] = [:]
        for zone in commit.zones where zone.incarnation != 0 {
            let name = zone.zone.name
            var told = Set<DatabaseID>()
            if mayChange {
                // Where single records are shared, the commit says who comes to them or leaves.
                let users = zone.trees.map { trees in
                    trees.reduce(into: Set<String>()) { if $1.recordTypes == nil { $0.formUnion($1.users) } }
                }
                let changes = loaded.members.update(name, of: database, users: users) { [server] in
                    server.shard(of: $0).index
                }
                for member in changes {
                    let news = database.news(of: member.home.owner, inZoneNamed: name, incarnation: zone.incarnation)
                    messages[member.shard, default: []].append((member.home, .part(news)))
                    told.insert(member.home)
                }
            }
            let id = ZoneID(name: name, owner: database.id.owner)
            guard let trees = zone.trees else {
                let types = Set(zone.recordTypes)
                for member in loaded.members.members(ofZoneNamed: name) where !told.contains(member.home) {
                    messages[member.shard, default: []].append((member.home, .touch(id, types: types)))
                }
                continue
            }
            // A user is told nothing of records that they don't see, not even that they changed.
            for (user, types) in TouchedTree.typesByUser(trees) {
                guard let member = loaded.members.member(user, ofZoneNamed: name), !told.contains(member.home) else {
                    continue
                }
                messages[member.shard, default: []].append((member.home, .touch(id, types: types)))
            }
        }
        if messages.isEmpty { return }
        var cause = HomeMessageCause(account: account)
        // A device of the owner is none of those that are told.
        cause.origin = origin.user.isEmpty ? ChangeOrigin(user: database.id.owner, device: origin.device) : origin
        cause.committedMilliseconds = commit.entry.committedMilliseconds
        gate.whenDurable(loaded.lastPosition, of: loaded) { [self, messages, cause] error in
            if error != nil { return }
            for (shard, messages) in messages.sorted(by: { $0.key < $1.key }) {
                tell(messages, onShard: shard, cause)
            }
        }
    }

    /// Messages that remind users of their parts in a database's zones, by shard, when it is loaded for the first time
    /// since the start; none later. Found at once: it may have left the memory again by the next turn.
    ///
    /// A backup holds each database as it was at a moment of its own: a restored one may have a user take part whose
    /// own database does not know of it any more. Metadata then say that they have accepted, so no app accepts again.
    func reminders(
        of members: ZoneMembers, in database: Database
    ) -> [Int: [(home: DatabaseID, message: HomeMessage)]] {
        if members.isEmpty || !databasesWithMembers.insert(database.id).inserted { return [:] }
        var messages: [Int: [(home: DatabaseID, message: HomeMessage)]] = [:]
        for name in database.zonesWithMembers {
            guard let incarnation = database.incarnation(of: ZoneID(name: name)) else { continue }
            let zone = AskedZone(owner: database.id.owner, incarnation: incarnation)
            for member in members.members(ofZoneNamed: name) {
                messages[member.shard, default: []].append((member.home, .reminder(zone)))
            }
        }
        return messages
    }

    func remind(_ messages: [Int: [(home: DatabaseID, message: HomeMessage)]]) {
        for (shard, messages) in messages.sorted(by: { $0.key < $1.key }) {
            tell(messages, onShard: shard, HomeMessageCause(account: .operator))
        }
    }

    /// Tells a user's own database of zones in a request that they take no part in, though it lists them. Of some: the
    /// next request tells of others.
    func tellOfLost(_ zones: [ZoneID], in loaded: LoadedDatabase, identity: Identity, by account: ClientShare.Key) {
        guard loaded.isKept, let home = identity.privateDatabase else { return }
        let database = loaded.database
        let lost = zones.lazy.filter { database.start(of: identity.userRecordName, inZoneNamed: $0.name) == nil }
            .prefix(ServiceLimits.lostZonesPerRequest)
        let messages = lost.map { zone in
            let news = database.news(of: identity.userRecordName, inZoneNamed: zone.name, incarnation: 0)
            return (home: home, message: HomeMessage.part(news))
        }
        if messages.isEmpty { return }
        let all = Array(messages)
        gate.whenDurable(loaded.lastPosition, of: loaded) { [self] error in
            if error == nil { tell(all, onShard: server.shard(of: home).index, HomeMessageCause(account: account)) }
        }
    }

    /// Answers a user's own database which asks how it stands with a zone. If it can't be answered now, it is asked
    /// again: see ``askLater(_:home:)``.
    func answer(_ zone: AskedZone, in id: DatabaseID, home: DatabaseID) {
        databases.withDatabase(id, of: .operator, keepsEmpty: false) { [self] outcome in
            guard case .success(let loaded) = outcome else {
                // Until the next start nothing can be known of a damaged one.
                if databases.isUnloadable(id) { return }
                let shard = server.shard(of: home)
                return shard.loop.execute { shard.askLater(zone, home: home) }
            }
            let news = loaded.database.news(of: home.owner, about: zone)
            gate.whenDurable(loaded.lastPosition, of: loaded) { [self] error in
                if error != nil { return }
                tell([(home, .part(news))], onShard: server.shard(of: home).index, HomeMessageCause(account: .operator))
            }
        }
    }

    private func tell(
        _ messages: [(home: DatabaseID, message: HomeMessage)], onShard index: Int, _ cause: HomeMessageCause
    ) {
        let shard = server.shards[index]
        shard.loop.execute { shard.take(messages, cause) }
    }
}
