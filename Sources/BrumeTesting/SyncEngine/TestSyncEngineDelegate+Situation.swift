internal import BrumeKit

extension TestSyncEngineDelegate {
    /// What holds an engine up, as far as its state and the events tell.
    func situation(of engine: CKSyncEngine?) -> String {
        let events = events
        var text = ""
        if let state = engine?.state {
            let pending =
                state.pendingDatabaseChanges.map(\.description) + state.pendingRecordZoneChanges.map(\.description)
            if !pending.isEmpty {
                var names = Array(pending.prefix(TestLimits.namedItemsMax))
                if pending.count > names.count { names.append("…") }
                text += "; \(pending.count) changes are pending: \(names.joined(separator: ", "))"
            }
        }
        if let error = events.reversed().lazy.compactMap(\.firstError).first {
            text += "; its last error was \(error.code): \(error.localizedDescription)"
        }
        return events.isEmpty
            ? text + "; it has told no event"
            : text + "; its last events were \(events.suffix(3).map(\.description).joined(separator: ", "))"
    }
}

extension CKSyncEngine.Event {
    /// Why something failed that the event tells of.
    fileprivate var firstError: CKError? {
        switch self {
        case .sentDatabaseChanges(let sent): sent.failedZoneSaves.first?.error ?? sent.failedZoneDeletes.values.first
        case .sentRecordZoneChanges(let sent):
            sent.failedRecordSaves.first?.error ?? sent.failedRecordDeletes.values.first
        case .didFetchRecordZoneChanges(let fetched): fetched.error
        default: nil
        }
    }
}
