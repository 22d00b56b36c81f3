internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// What the loop does around its databases as they come and go, and what their calls cost.
extension Shard: DatabaseCacheHost {
    func makeLoaded(
        _ database: Database, storage: DatabaseStorage?, savedSequence: UInt64
    ) -> LoadedDatabase {
        database.subscriptionGate = subscriptionGate(for: database.id)
        database.giveBack = { [unowned server] in server.giveBack($0) }
        let salt = sealer.scope(database.id, zone: nil).reduce(0) { $0 << 8 | UInt64($1) }
        database.tagNumber = { [tagNumbers] run, sequence in tagNumbers.number(salt ^ UInt64(run), sequence) }
        if database.id.scope == .private { database.shareAddresses = shareURLs.addresses(of: database.id) }
        database.indexedZoneMinimum = server.configuration.indexedZoneMinimum
        let id = database.id
        let members = ZoneMembers(of: database) { [server] in server.shard(of: $0).index }
        if storage != nil {
            let asked = zonesToAsk(by: database)
            let reminders = reminders(of: members, in: database)
            // In a turn of its own, when it is among the others.
            if !asked.isEmpty || !reminders.isEmpty {
                loop.execute { [self] in
                    askAgain(asked, home: id)
                    remind(reminders)
                }
            }
        }
        let loaded = LoadedDatabase(
            database: database,
            hub: NotificationHub(
                database: database, head: .end(ofSequence: database.sequence), coder: eventCoder,
                mayHaveForgotten: mayHaveForgottenDevices, backlogEvents: server.configuration.backlogEvents,
                waitingEventsLimit: server.configuration.waitingEvents, figures: push),
            storage: storage, members: members, savedSequence: savedSequence)
        database.blobs.grace = server.configuration.assetGraceSeconds
        database.blobs.beginGraces(now: nowSeconds)
        loaded.unneededBlobLimit = server.configuration.departedBlobsPerDatabase
        return loaded
    }

    func databaseEnters(_ loaded: LoadedDatabase) {
        switch departedAssets.comeBack(loaded.database.id) {
        case .each(let blobs)?: loaded.database.blobs.restore(blobs)
        case .sum(let sum)?: loaded.database.blobs.forgot(sum)
        case nil: break
        }
    }

    func databaseArrived(_ loaded: LoadedDatabase, clients: [Client], users: [Identity]) {
        for client in clients { settle(client, in: loaded) }
        // Some may have been revoked while they waited.
        for user in users where server.isStillValid(user) { ensureUserRecord(of: user.userRecordName, in: loaded) }
    }

    func databaseFailed(isDamaged: Bool) {
        if isDamaged { server.noteDamage() }
    }

    func databaseLeaves(_ loaded: LoadedDatabase) {
        // A device that listened to an empty database will be unknown when it listens again, here or to another one.
        if loaded.database.sequence == 0, loaded.hub.knowsDevices { mayHaveForgottenDevices = true }
        // A database that is lost may have been changed by its new owner since.
        if !loaded.isLost { departedAssets.leave(loaded.database.id, loaded.database.blobs) }
        // Runs after everything that holds the database in this turn, so that its memory is freed in the
        // background and not here.
        let remains = Remains(of: loaded.database)
        loop.execute { [server] in server.giveBack(remains) }
    }

    /// Sends away all who use the database. In a turn of its own: a request of somebody may be under way, on this
    /// database or another one.
    func databaseLost(_ loaded: LoadedDatabase) {
        if loaded.isListedAsUnsaved { unsaved.removeAll { $0 == loaded.database.id } }
        let turn = OnLoop<Void> { [self] in
            for client in clients.all where client.home === loaded { client.home = nil }
            gate.refuse(showing: loaded)
            loaded.hub.endStreams(.databaseLost)
        }
        loop.execute { turn.body(()) }
    }

    func mayRunCall(of account: ClientShare.Key) -> Bool { mayGoOn(timeShare(of: account)) }

    func mayRunCallSoon(of account: ClientShare.Key) -> Bool { !waitsForDisk(timeShare(of: account)) }

    func runCall(of account: ClientShare.Key, _ body: () -> Void) { charge(timeShare(of: account), body) }
}

extension DatabaseCache.Limits {
    init(_ configuration: ServiceConfiguration) {
        memoryBudgetBytes = configuration.memoryBudgetBytes
        callsPerLoad = configuration.callsPerLoad
    }
}

extension ServerCore {
    /// Gives memory back in the background, where nobody waits. Any thread.
    func giveBack(_ remains: Remains) { background.execute { remains.giveBack() } }
}
