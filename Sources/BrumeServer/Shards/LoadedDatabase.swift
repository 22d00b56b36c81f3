internal import BrumeModel
internal import BrumeStore

/// A database in the memory of the shard that owns it.
final class LoadedDatabase {
    let database: Database
    let hub: NotificationHub
    /// Where the database's last commit stands among the shard's submissions: what shows it waits for that to be durable.
    var lastPosition: UInt64 = 0
    /// The sequence that its snapshot on disk holds.
    var snapshotSequence: UInt64

    init(database: Database, hub: NotificationHub, snapshotSequence: UInt64) {
        self.database = database
        self.hub = hub
        self.snapshotSequence = snapshotSequence
    }
}
