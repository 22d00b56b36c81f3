/// The containers of a server whose operator has named none: which hold data, and which accounts have opened new ones.
///
/// Every account may always open a container that holds data, so no account can keep others from theirs. A new one may
/// be opened by an account that has few: it uses nobody's share but its own. As long as nothing is written to a new
/// container it leaves no trace: it is forgotten with the account's last client in it.
struct ServedContainers {
    enum Opening: Equatable {
        /// It holds data.
        case known
        /// It holds no data yet. ``close(_:account:)`` must be called when the client has gone.
        case new
        case refused
    }

    private(set) var holdingData: Set<String>
    /// Containers with data that an account is known to have, up to the limit: more would change nothing.
    private var ofAccount: [[UInt8]: Set<String>] = [:]
    /// Accounts whose containers from before the start have been counted.
    private var countedAccounts: Set<[UInt8]> = []
    /// How many clients each account has in each container without data.
    private var newOfAccount: [[UInt8]: [String: Int]] = [:]
    private let accountLimit: Int

    /// - Parameters:
    ///   - holdingData: The containers that are known from the start to hold data.
    ///   - accountLimit: The number of containers at which an account can open no new one.
    init(holdingData: Set<String> = [], accountLimit: Int = ServiceLimits.containersPerAccount) {
        self.holdingData = holdingData
        self.accountLimit = accountLimit
    }

    func holdsData(_ container: String) -> Bool { holdingData.contains(container) }

    /// A client of an account opens a container.
    ///
    /// - Parameters:
    ///   - isOnDisk: Asked when nothing is known of the container: whether it holds data all the same.
    ///   - hasData: Asked once for an account that opens a new container: whether the account has data in one of those
    ///     that were there at the start.
    mutating func open(
        _ container: String, account: [UInt8], isOnDisk: () -> Bool, hasData: (String) -> Bool
    ) -> Opening {
        if holdingData.contains(container) {
            note(container, of: account)
            return .known
        }
        if isOnDisk() {
            holdingData.insert(container)
            note(container, of: account)
            return .known
        }
        if newOfAccount[account]?[container] == nil {
            countWhatIsThere(for: account, hasData)
            guard ofAccount[account, default: []].count + (newOfAccount[account]?.count ?? 0) < accountLimit else {
                return .refused
            }
        }
        newOfAccount[account, default: [:]][container, default: 0] += 1
        return .new
    }

    /// A client in a new container has gone.
    mutating func close(_ container: String, account: [UInt8]) {
        guard let sessions = newOfAccount[account]?[container] else { return }
        if sessions > 1 { newOfAccount[account]![container] = sessions - 1 } else { forget(container, of: account) }
    }

    /// An account is about to write to a container that was new when it came.
    mutating func fill(_ container: String, account: [UInt8]) {
        holdingData.insert(container)
        note(container, of: account)
        forget(container, of: account)
    }

    private mutating func forget(_ container: String, of account: [UInt8]) {
        newOfAccount[account]?[container] = nil
        if newOfAccount[account]?.isEmpty == true { newOfAccount[account] = nil }
    }

    private mutating func note(_ container: String, of account: [UInt8]) {
        guard ofAccount[account, default: []].count < accountLimit else { return }
        ofAccount[account, default: []].insert(container)
    }

    /// Counts what an account has from before the start. This is done only when it matters: mostly never.
    private mutating func countWhatIsThere(for account: [UInt8], _ hasData: (String) -> Bool) {
        guard accountLimit < .max, countedAccounts.insert(account).inserted else { return }
        for container in holdingData.prefix(ServiceLimits.countedContainers) {
            if ofAccount[account, default: []].count >= accountLimit { return }
            if hasData(container) { note(container, of: account) }
        }
    }
}
