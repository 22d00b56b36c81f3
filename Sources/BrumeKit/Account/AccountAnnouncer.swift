internal import BrumeLock
internal import Foundation

/// Posts `CKAccountChanged` and `CKEncryptionDevicesChanged` for a container, on a queue of its own: who observes them
/// may call the container, and hold locks while it signs in.
final class AccountAnnouncer: Sendable {
    /// One for the process, so that changes are told in their order.
    private static let queue = DispatchQueue(label: "brume.account-changes")

    private struct WeakContainer: Sendable {
        weak var container: CKContainer?
    }

    /// What happened to a container's account.
    enum Change: Sendable {
        /// The app signed in, out, or another account in.
        case switched(AccountBinding)
        /// The server says something else of the account than before.
        case standing
    }

    private struct State {
        var container = WeakContainer()
        var followers: [ObjectIdentifier: @Sendable (Change) -> Void] = [:]
    }

    private let state = Lock(State())

    /// The container that the notifications name.
    func attach(_ container: CKContainer) {
        state.withLock { $0.container.container = container }
    }

    /// The SDK's own parts hear of each change before the app does, and before the call returns that made it.
    func follow(_ follower: ObjectIdentifier, _ body: @escaping @Sendable (Change) -> Void) {
        state.withLock { $0.followers[follower] = body }
    }

    func unfollow(_ follower: ObjectIdentifier) {
        state.withLock { $0.followers[follower] = nil }
    }

    /// The account of the container changed, or what can be done with it.
    func announce(_ change: Change) {
        for follower in state.withLock({ Array($0.followers.values) }) { follower(change) }
        post(.CKAccountChanged)
    }

    /// The account's encryption keys have other devices, or another recovery code.
    func announceDevices() { post(.CKEncryptionDevicesChanged) }

    private func post(_ name: Notification.Name) {
        Self.queue.async { [self] in
            guard let container = state.withLock({ $0.container.container }) else { return }
            NotificationCenter.default.post(name: name, object: container)
        }
    }
}
