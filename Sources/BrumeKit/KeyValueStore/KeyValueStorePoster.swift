internal import BrumeLock
internal import Foundation

/// Posts a store's notifications on a queue of its own: who observes them may call the store.
final class KeyValueStorePoster: Sendable {
    private static let queue = DispatchQueue(label: "brume.key-value-store.changes")

    private struct WeakStore: Sendable {
        weak var store: NSUbiquitousKeyValueStore?
    }

    private let store = Lock(WeakStore())

    func attach(_ store: NSUbiquitousKeyValueStore) {
        self.store.withLock { $0.store = store }
    }

    func post(_ reason: KeyValueStoreStateMachine.Reason, keys: [String]) {
        Self.queue.async { [self] in
            guard let store = store.withLock({ $0.store }) else { return }
            NotificationCenter.default.post(
                name: NSUbiquitousKeyValueStore.didChangeExternallyNotification, object: store,
                userInfo: [
                    NSUbiquitousKeyValueStoreChangeReasonKey: reason.rawValue,
                    NSUbiquitousKeyValueStoreChangedKeysKey: keys,
                ])
        }
    }
}
