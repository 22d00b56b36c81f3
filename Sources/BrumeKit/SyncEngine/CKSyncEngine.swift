internal import BrumeModel

/// Keeps an app's records in step with a private or shared database: fetches what changes on the server, sends what the
/// app says is to be sent, and tells a delegate.
///
/// In the shared database, zones come when the user accepts a share, and are deleted when the user leaves or is
/// removed. A pending deletion of a zone leaves it.
///
/// The app keeps its data and gives the engine the state of the launch before. It adds changes to ``state``, gives
/// records when the delegate is asked for them, and takes what the delegate is told.
///
/// Of everything that it does, one thing is under way at a time: a fetch or a send, and in it a request or a call of
/// the delegate. Files of records alone are uploaded beside it, four at a time, of which large ones, above 16 MiB,
/// leave one place to others. A record is saved when its files are on the server, and so are the records that can't be
/// saved before it: those below a new parent, or that refer to a new record with `deleteSelf`. Others are not held up,
/// unless a thousand changes wait, or 16 MiB of records. What waits stays pending, and a
/// ``RecordZoneChangeBatch/init(pendingChanges:recordProvider:)`` leaves it out until it is added again; then it is
/// sent within a `willSendChanges` and a `didSendChanges` of its own. So keep the files of a record until
/// ``Event/SentRecordZoneChanges`` names it; where one is gone while it waits, the delegate is asked for the record
/// once more.
///
/// Differs from CloudKit: changes whose records were given stay pending while their files are uploaded,
/// `didSendChanges` may come before these are on the server, and one more pair of `willSendChanges` and
/// `didSendChanges`, between which the delegate is not asked for a batch, encloses what waited.
/// ``Configuration/persistState`` leaves no moment at which a crash loses a change. A change that is added while the
/// delegate makes a batch stays pending, and so does a record whose instance was edited on its way. Changes that are
/// added before the engine has found its first user are kept for that user. A lost answer is tried again, as network
/// failures are. Scheduled sends begin a second after the last change was added, five after the first at most, and
/// leave out of a ``RecordZoneChangeBatch/init(pendingChanges:recordProvider:)`` what was added within that second, as
/// an app may add changes before it commits their records; ``sendChanges(_:)`` sends all at once
/// (``BrumeConfiguration/automaticSendDelay`` has tests wait less). Fetches begin with the push. Records that are saved
/// in a zone before its first fetch are not missed when another device deletes them: the engine has a place in the
/// zone's history from before the save, for which it asks the server once where it has not saved the zone itself. When
/// a token has expired, CloudKit's engine fetches anew and says nothing of what was deleted meanwhile; this one tells
/// the deletion of zones, and says with ``Event/WillFetchRecordZoneChanges/startsOver`` that a zone is fetched from its
/// start, so that the app can find what is gone.
public final class CKSyncEngine: Sendable {
    /// The database that the engine keeps in step with.
    public let database: CKDatabase

    /// What is to be sent, and how far the engine has come.
    public let state: State

    let driver: SyncEngineDriver

    /// Makes an engine, which begins its work at once when it syncs automatically. Without an account it waits for one.
    public init(_ configuration: Configuration) {
        precondition(
            configuration.database.databaseScope != .public,
            "CKSyncEngine: the public database has no changes to fetch; give it a private or a shared one")
        database = configuration.database
        driver = SyncEngineDriver(configuration)
        state = State(driver: driver)
        driver.start(engine: self)
    }

    deinit {
        driver.stop()
    }

    /// Fetches what changed on the server. Returns when the delegate has handled it.
    ///
    /// A fetch that is under way ends first. Calls that wait with the same options share one fetch.
    ///
    /// - Throws: The error that ended the fetch, or `partialFailure` with the errors of those zones that could not be
    ///   fetched under their ids. `notAuthenticated` without an account. `operationCancelled` when the task is
    ///   cancelled, or ``cancelOperations()`` called. `invalidArguments` within a call of the delegate, which it would
    ///   wait for.
    public func fetchChanges(_ options: FetchChangesOptions = .init()) async throws {
        try await driver.call(.fetch(options), name: "fetchChanges")
    }

    /// Sends what waits to be sent, files included. Returns when the delegate has handled the outcome.
    ///
    /// Ends with the first batch that has failures: call it again, when the delegate has mended them, for what still
    /// waits. Files whose uploads began are uploaded meanwhile.
    ///
    /// - Throws: The error that ended the send, or `partialFailure` with the errors of the records and zones that
    ///   failed under their ids. `notAuthenticated` without an account. `operationCancelled` when the task is
    ///   cancelled, or ``cancelOperations()`` called. `invalidArguments` within a call of the delegate, which it would
    ///   wait for.
    public func sendChanges(_ options: SendChangesOptions = .init()) async throws {
        try await driver.call(.send(options), name: "sendChanges")
    }

    /// Ends what is under way. Calls of ``fetchChanges(_:)`` and ``sendChanges(_:)`` throw `operationCancelled`; what
    /// was on its way may still arrive.
    ///
    /// Does not wait for the end, so the delegate may call it. Changes stay pending, and automatic sync goes on after a
    /// pause.
    public func cancelOperations() async {
        driver.cancelOperations()
    }
}

extension CKSyncEngine: CustomStringConvertible {
    /// The database, and how much waits to be sent.
    public var description: String {
        let (records, zones) = driver.read { ($0.state.recordChanges.count, $0.state.zoneChanges.count) }
        return
            "<CKSyncEngine: database=\(database), pendingRecordZoneChanges=\(records), pendingDatabaseChanges=\(zones)>"
    }
}
