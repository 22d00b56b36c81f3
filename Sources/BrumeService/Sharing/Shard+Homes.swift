internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// What becomes of messages of owners' databases. On the loop of the user's own database.
extension Shard {
    func take(_ messages: [(home: DatabaseID, message: HomeMessage)], _ cause: HomeMessageCause) {
        charge(timeShare(of: cause.account)) {
            // Devices are told once for each user, whatever number of zones changed.
            var touched: [DatabaseID: Set<String>?] = [:]
            for (home, message) in messages {
                switch message {
                case .touch(let zone, let types):
                    touchTable.touch(zone, of: home)
                    let known = touched[home] ?? []
                    touched[home] = .some(known.flatMap { known in types.map { known.union($0) } })
                case .part(let news): take(news, home: home, cause)
                case .reminder(let zone): take(zone, home: home)
                }
            }
            for (home, types) in touched.sorted(by: { $0.key.owner < $1.key.owner }) {
                // A device that accepts another share does not have what comes with it.
                tellOfShared(
                    home, types: types, origin: types == nil ? .server : cause.origin,
                    committedMilliseconds: cause.committedMilliseconds)
            }
        }
    }

    private func take(_ news: SharedZoneNews, home: DatabaseID, _ cause: HomeMessageCause) {
        // Nobody is there to be told of an end. When the user comes, all zones are told as changed, and this is found.
        if news.zone == nil, databases.known(home) == nil, databases.load(of: home) == nil {
            return touchTable.forget(home)
        }
        databases.withDatabase(home, of: cause.account, keepsEmpty: news.zone != nil) { [self] outcome in
            guard case .success(let loaded) = outcome, note(news, in: loaded, cause) else {
                return noteLater(news, home: home)
            }
        }
    }

    /// Asks about a zone that the user's database does not list: at once, or when the database is loaded.
    private func take(_ reminder: AskedZone, home: DatabaseID) {
        if let database = databases.known(home)?.database {
            if !database.sharedZones.lists(reminder) { askAgain([reminder], home: home) }
        } else if reminders.count < ServiceLimits.reminders || reminders[home] != nil {
            reminders[home, default: []].insert(reminder)
        }
    }

    /// The zones to ask about for a user whose database has just been loaded.
    func zonesToAsk(by database: Database) -> Set<AskedZone> {
        let zones = database.sharedZones
        guard let reminded = reminders.removeValue(forKey: database.id) else { return zones.asked }
        return zones.asked.union(reminded.filter { !zones.lists($0) })
    }

    /// Notes what became of the user's part in a zone, and tells their devices when it is durable. Returns false if
    /// nothing can be written.
    @discardableResult
    func note(_ news: SharedZoneNews, in loaded: LoadedDatabase, _ cause: HomeMessageCause) -> Bool {
        if loaded.isLost || writeRefusal != nil { return false }
        let head = loaded.database.sharedZones.changeCount
        guard let commit = loaded.database.note(news, nowMilliseconds: wallClockMilliseconds) else { return true }
        guard append(commit, to: loaded, origin: .server, by: nil) else { return false }
        if loaded.database.sharedZones.changeCount == head { return true }
        let home = loaded.database.id
        gate.whenDurable(loaded.lastPosition, of: loaded) { [self] error in
            if error != nil { return }
            touchTable.changedZones(of: home, gone: news.zone == nil ? news.id : nil)
            // A device that accepted a share does not have what is in the zone, as it has what it changes; and one that
            // left a share does not know whether the zone went with it.
            tellOfShared(
                home, types: nil, origin: .server, committedMilliseconds: cause.committedMilliseconds)
        }
        return true
    }

    /// What could not be noted is asked for again. Until then all zones are told as changed, and this one is found.
    private func noteLater(_ news: SharedZoneNews, home: DatabaseID) {
        touchTable.forget(home)
        tellOfShared(home, types: nil, origin: .server, committedMilliseconds: 0)
        if news.incarnation == 0 || databases.isUnloadable(home) { return }
        askLater(AskedZone(owner: news.id.owner, incarnation: news.incarnation), home: home)
    }

    /// Asks a zone's owner in a while how it stands.
    func askLater(_ zone: AskedZone, home: DatabaseID) {
        // One question at a time, however many messages could not be noted.
        guard zonesToAsk[home, default: []].insert(zone).inserted else { return }
        _ = loop.schedule(afterMilliseconds: ServiceLimits.askAgainMilliseconds) { [unowned self] in
            zonesToAsk[home]?.remove(zone)
            if zonesToAsk[home]?.isEmpty == true { zonesToAsk[home] = nil }
            askAgain([zone], home: home)
        }
    }

    /// Asks the owners of zones how it stands: of which a run that ended did not hear the answer, or this one could not
    /// note it.
    func askAgain(_ zones: Set<AskedZone>, home: DatabaseID) {
        for zone in zones.sorted() {
            let owner = home.privateDatabase(of: zone.owner)
            let shard = server.shard(of: owner)
            shard.loop.execute { shard.answer(zone, in: owner, home: home) }
        }
    }

    // MARK: The end of an account

    /// Has a user leave all zones of others, one after the other, before what they have is deleted.
    func leaveAll(_ loaded: LoadedDatabase, then done: @escaping (ServiceError?) -> Void) {
        let zones = loaded.database.sharedZones
        let all = zones.asked.union(zones.zones.map { AskedZone(owner: $0.id.owner, incarnation: $0.incarnation) })
        leave(all.sorted()[...], home: loaded.database.id, then: OnLoop(done))
    }

    private func leave(_ zones: ArraySlice<AskedZone>, home: DatabaseID, then done: OnLoop<ServiceError?>) {
        guard let zone = zones.first else { return done.body(nil) }
        let id = home.privateDatabase(of: zone.owner)
        let owner = server.shard(of: id)
        let rest = zones.dropFirst()
        owner.loop.execute {
            owner.leave(zone, in: id, user: home.owner) { error in
                self.loop.execute {
                    if let error { done.body(error) } else { self.leave(rest, home: home, then: done) }
                }
            }
        }
    }

    /// On the loop of the zone's owner.
    private func leave(
        _ zone: AskedZone, in id: DatabaseID, user: String, _ done: @escaping @Sendable (ServiceError?) -> Void
    ) {
        databases.withDatabase(id, of: .operator, keepsEmpty: false) { [self] outcome in
            do throws(ServiceError) {
                let loaded = try outcome.get()
                if let refusal = writeRefusal { throw refusal }
                let left = loaded.database.leave(zone, user: user, nowMilliseconds: wallClockMilliseconds)
                if let commit = left.commit {
                    guard append(commit, to: loaded, origin: .server, by: nil) else { throw .databaseLost }
                }
                if left.isAll { return gate.whenDurable(loaded.lastPosition, of: loaded) { done($0) } }
                // The rest in a turn of its own.
                loop.execute { [self] in leave(zone, in: id, user: user, done) }
            } catch {
                // What is damaged shows nobody anything, and must not keep the account from going.
                done(databases.isUnloadable(id) ? nil : error)
            }
        }
    }
}
