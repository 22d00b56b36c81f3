extension CKSyncEngine {
    /// What an engine has to send and how far it has come. May be used from several threads.
    public final class State: Sendable {
        let driver: SyncEngineDriver

        init(driver: SyncEngineDriver) {
            self.driver = driver
        }

        /// The changes to records that wait to be sent, in the order in which they were added, one for each record.
        /// What is on its way is not among them; what waits for its files is.
        public var pendingRecordZoneChanges: [PendingRecordZoneChange] {
            driver.read { $0.state.recordChanges.changes }
        }

        /// The changes to zones that wait to be sent, one for each zone.
        public var pendingDatabaseChanges: [PendingDatabaseChange] {
            driver.read { $0.state.zoneChanges.changes }
        }

        /// Whether the app has changes to send that it keeps itself.
        ///
        /// Set it, and the engine asks the delegate for batches soon, whose records need not be among
        /// ``pendingRecordZoneChanges``. It becomes false when the delegate says that there are no more.
        public var hasPendingUntrackedChanges: Bool {
            get { driver.read { $0.state.hasUntrackedChanges } }
            set { driver.change { machine, now in machine.setHasUntrackedChanges(newValue, now: now) } }
        }

        /// The zones that have changes on the server which this device has not fetched, as far as it has heard.
        public var zoneIDsWithUnfetchedServerChanges: [CKRecordZone.ID] {
            driver.read { $0.state.unfetchedZones.list }
        }

        /// Adds changes to records that are to be sent.
        ///
        /// A change that waits already stays where it is; a deletion takes the place of a save of the same record, and
        /// a save that of a deletion. Add a change again when its record was edited while it was on its way: what is
        /// added then is sent then.
        public func add(pendingRecordZoneChanges: [PendingRecordZoneChange]) {
            driver.change { machine, now in machine.add(pendingRecordZoneChanges, now: now) }
        }

        /// Removes changes, so that they are not sent. One that is on its way may arrive all the same, but is not tried
        /// again.
        public func remove(pendingRecordZoneChanges: [PendingRecordZoneChange]) {
            driver.change { machine, now in machine.remove(pendingRecordZoneChanges, now: now) }
        }

        /// Adds changes to zones that are to be sent. They are sent before any changes to records.
        public func add(pendingDatabaseChanges: [PendingDatabaseChange]) {
            driver.change { machine, now in machine.add(pendingDatabaseChanges, now: now) }
        }

        /// Removes changes to zones, so that they are not sent.
        public func remove(pendingDatabaseChanges: [PendingDatabaseChange]) {
            driver.change { machine, now in machine.remove(pendingDatabaseChanges, now: now) }
        }
    }
}
