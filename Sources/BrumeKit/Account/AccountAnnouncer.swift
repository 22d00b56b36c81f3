internal import Foundation
internal import Synchronization

/// Posts `CKAccountChanged` for a container, on a queue of its own: who observes it may call the container, and hold locks
/// while it signs in.
final class AccountAnnouncer: Sendable {
    /// One for the process, so that changes are told in their order.
    private static let queue = DispatchQueue(label: "brume.account-changes")

    private struct WeakContainer: Sendable {
        weak var container: CKContainer?
    }

    private let container = Mutex(WeakContainer())

    /// The container that the notifications name.
    func attach(_ container: CKContainer) {
        self.container.withLock { $0.container = container }
    }

    /// The account of the container changed, or what can be done with it.
    func announce() {
        Self.queue.async { [self] in
            guard let container = container.withLock({ $0.container }) else { return }
            NotificationCenter.default.post(name: .CKAccountChanged, object: container)
        }
    }
}
