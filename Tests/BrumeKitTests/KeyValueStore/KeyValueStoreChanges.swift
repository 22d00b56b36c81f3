import BrumeKit
import Foundation

/// The changes that a store tells of, from now on.
final class KeyValueStoreChanges: Sendable {
    struct Change: Equatable, Sendable {
        var reason: Int
        var keys: [String]
    }

    private let changes: AsyncStream<Change>
    // Sendable: only handed back to the notification center, which made it.
    private nonisolated(unsafe) let observer: any NSObjectProtocol

    init(of store: NSUbiquitousKeyValueStore) {
        let (changes, report) = AsyncStream<Change>.makeStream()
        self.changes = changes
        observer = NotificationCenter.default.addObserver(
            forName: NSUbiquitousKeyValueStore.didChangeExternallyNotification, object: store, queue: nil
        ) { notification in
            let reason = notification.userInfo?[NSUbiquitousKeyValueStoreChangeReasonKey] as? Int
            let keys = notification.userInfo?[NSUbiquitousKeyValueStoreChangedKeysKey] as? [String]
            report.yield(Change(reason: reason ?? -1, keys: keys ?? []))
        }
    }

    deinit { NotificationCenter.default.removeObserver(observer) }

    /// Waits for the next one. The test's time limit ends a wait in vain.
    func next() async throws -> Change {
        var iterator = changes.makeAsyncIterator()
        guard let change = await iterator.next() else { throw CancellationError() }
        return change
    }
}
