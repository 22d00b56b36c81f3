internal import Synchronization

/// An account's own quota, if the operator gave it one. The account's sessions hold it, on any loop, and see a change
/// at once.
final class QuotaOverride: Sendable {
    /// Negative when there is no quota.
    private let value: Atomic<Int>

    init(_ bytes: Int?) {
        value = Atomic(bytes ?? -1)
    }

    /// The quota; 0 means no limit, nil that the account has none of its own.
    var bytes: Int? {
        get {
            let bytes = value.load(ordering: .relaxed)
            return bytes < 0 ? nil : bytes
        }
        set { value.store(newValue ?? -1, ordering: .relaxed) }
    }
}
