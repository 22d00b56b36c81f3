internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// Devices that are told of changes in zones of others. On the loop of their user's own database.
///
/// There is no ring: an event names nothing but the shared database, so a device that comes back behind changes is told
/// once that there were some, and where that is not known any more that it may have missed some.
extension Shard {
    /// A device begins to listen.
    ///
    /// - Parameter place: Where its last stream ended; nil if it says nothing.
    func listenToShared(_ stream: DeviceStream, place: StreamPosition.Place?, in loaded: LoadedDatabase) {
        let home = loaded.database.id
        sharedStreams[home, default: []].append(stream)
        if loaded.database.sharedZones.isEmpty, !loaded.database.hasSharedSubscriptions { return }
        let now = placeOfTouches(in: loaded.database)
        if place == now { return }
        // One that says nothing may have heard everything of an earlier life of the server, or nothing of this one.
        stream.shared.note(SharedNews.Change(types: nil, isMissed: place?.run != now.run, place: now))
        hasNews(stream)
    }

    func leaveShared(_ stream: DeviceStream) {
        let home = stream.privateID
        sharedStreams[home]?.removeAll { $0 === stream }
        if sharedStreams[home]?.isEmpty == true { sharedStreams[home] = nil }
    }

    /// Tells the devices of a user of a change, but for the one that made it.
    ///
    /// - Parameter types: Types of the records that changed; nil where a zone came or went.
    func tellOfShared(_ home: DatabaseID, types: Set<String>?, origin: ChangeOrigin, committedMilliseconds: Int64) {
        guard let streams = sharedStreams[home], let database = databases.known(home)?.database,
            database.hasSharedSubscriptions
        else { return }
        let change = SharedNews.Change(
            types: types, committedMilliseconds: committedMilliseconds, place: placeOfTouches(in: database))
        for stream in streams where origin.user != home.owner || origin.device != stream.device {
            stream.shared.note(change)
            hasNews(stream)
        }
        if !streamsWithNews.isEmpty { tellDevicesNextTurn() }
    }

    /// The subscriptions that a change is told for, by id; an empty id stands for an order to fetch.
    func subscriptions(for change: SharedNews.Change, home: DatabaseID) -> [String] {
        guard let database = databases.known(home)?.database, database.hasSharedSubscriptions else { return [] }
        if change.isMissed { return [""] }
        return database.sharedSubscriptions.filter { subscription in
            guard case .database(let type) = subscription.kind, !type.isEmpty, let types = change.types else {
                return true
            }
            return types.contains(type)
        }.map(\.id)
    }

    /// The event that tells of a change; nil if its subscription was deleted meanwhile.
    func event(of change: SharedNews.Change, for id: String, home: DatabaseID) -> [UInt8]? {
        let subscription = id.isEmpty ? nil : databases.known(home)?.database.sharedSubscription(id)
        if subscription == nil, !id.isEmpty { return nil }
        return NotificationHub.encode(
            id.isEmpty ? .fetchFromToken(.shared) : .databaseChanged(.shared), at: change.place, in: .shared,
            coder: eventCoder, subscription: subscription, committedMilliseconds: change.committedMilliseconds)
    }

    private func placeOfTouches(in database: Database) -> StreamPosition.Place {
        let touches = touchTable.touches(of: database.id, run: database.run)
        return StreamPosition.Place(run: touches.run, position: ChangePosition(rawValue: touches.sequence))
    }
}
