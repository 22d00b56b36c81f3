internal import Synchronization

/// What an account stores, and how much it may. The account's clients hold it, on any loop, and see a change at once.
package final class AccountStorage: Sendable {
    /// The account's id.
    let id: [UInt8]
    /// Negative when the account has no quota of its own.
    private let ownQuotaBytes: Atomic<Int>
    private let bytes = Atomic<Int>(0)
    private let isCounted = Atomic<Bool>(false)

    init(ofAccount id: [UInt8], quotaBytes: Int?) {
        self.id = id
        ownQuotaBytes = Atomic(quotaBytes ?? -1)
    }

    /// The quota that the operator gave the account; 0 means no limit, nil that the account has none of its own.
    var quotaBytes: Int? {
        get {
            let bytes = ownQuotaBytes.load(ordering: .relaxed)
            return bytes < 0 ? nil : bytes
        }
        set { ownQuotaBytes.store(newValue ?? -1, ordering: .relaxed) }
    }

    /// The bytes of all private databases that are known to be the account's.
    var usedBytes: Int { bytes.load(ordering: .relaxed) }

    func change(by growth: Int) { bytes.add(growth, ordering: .relaxed) }

    /// Claims the search for the databases that the account has from before the start. Returns true to the first
    /// caller only.
    func beginCounting() -> Bool { !isCounted.exchange(true, ordering: .relaxed) }
}
