/// What an app does for its ``CKSyncEngine``: handles what happens, and gives the records to send.
///
/// The engine holds it weakly. When it is gone, the engine ends what it does and does nothing more.
///
/// Calls come one at a time. ``CKSyncEngine/fetchChanges(_:)`` and ``CKSyncEngine/sendChanges(_:)`` wait until the
/// delegate has handled their events, so a delegate that awaited one of them within its own call would wait for itself:
/// such a call throws `invalidArguments`. Start a `Task` for it.
public protocol CKSyncEngineDelegate: AnyObject, Sendable {
    /// Something happened. The next event comes when this returns.
    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async

    /// The next records to save and ids to delete, or nil when there are no more.
    ///
    /// Called again after each batch until it gives nil, and until a batch has failures. Take the changes from
    /// ``CKSyncEngine/State/pendingRecordZoneChanges`` that the context's scope contains, and make the batch with
    /// ``CKSyncEngine/RecordZoneChangeBatch/init(pendingChanges:recordProvider:)``, which keeps to the server's limits.
    /// Files of the records have to stay where they are until the records are saved or have failed.
    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch?

    /// The options for the next request of a fetch; the context's own by default.
    func nextFetchChangesOptions(
        _ context: CKSyncEngine.FetchChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.FetchChangesOptions
}

extension CKSyncEngineDelegate {
    /// The context's own options.
    public func nextFetchChangesOptions(
        _ context: CKSyncEngine.FetchChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.FetchChangesOptions {
        context.options
    }
}
