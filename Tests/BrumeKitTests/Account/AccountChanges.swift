import BrumeKit
import BrumeLock
import Foundation

/// The notifications of a container, from now on: `CKAccountChanged`, or others that come with it in order.
final class AccountChanges: Sendable {
    private let posts: AsyncStream<Void>
    private let counter = Counter()
    // Sendable: only handed back to the notification center, which made it.
    private nonisolated(unsafe) let observer: any NSObjectProtocol

    private final class Counter: Sendable {
        let count = Lock(0)
    }

    init(of container: CKContainer, _ name: Notification.Name = .CKAccountChanged) {
        let (posts, report) = AsyncStream<Void>.makeStream()
        self.posts = posts
        observer = NotificationCenter.default.addObserver(
            forName: name, object: container, queue: nil
        ) { [counter] _ in
            counter.count.withLock { $0 += 1 }
            report.yield()
        }
    }

    deinit { NotificationCenter.default.removeObserver(observer) }

    /// Waits for the next one. The test's time limit ends a wait in vain.
    func next() async throws {
        var iterator = posts.makeAsyncIterator()
        guard await iterator.next() != nil else { throw CancellationError() }
    }

    /// How many there were, once all that was posted before this call has arrived: they come in order, and the sign-out
    /// of a bystander is behind them.
    func count() async throws -> Int {
        let bystander = CKContainer(identifier: "iCloud.bystander", configuration: BrumeConfiguration(token: "t"))
        let changes = AccountChanges(of: bystander)
        bystander.signOut()
        try await changes.next()
        return counter.count.withLock { $0 }
    }
}
