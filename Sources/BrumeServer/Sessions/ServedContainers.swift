/// The containers of a server whose operator has named none: which hold data, and which accounts have opened new ones.
///
/// One that holds data may be opened by every account, always: so no account can keep others from theirs. A new one may
/// be opened by an account that has few: that uses nobody's share but its own. As long as nothing is written to it, it
/// leaves no trace: with the account's last session in it, it is forgotten.
struct ServedContainers {
    enum Opening: Equatable {
        /// It holds data.
        case known
        /// It holds none yet. ``close(_:account:)`` ends it.
        case new
        case refused
    }

    private var holdingData: Set<String>
    /// Containers with data that an account is known to have, up to the limit: what is beyond changes nothing.
    private var ofAccount: [[UInt8]: Set<String>] = [:]
    /// Accounts of which it is known what the disk had for them at the start.
    private var countedAccounts: Set<[UInt8]> = []
    /// Sessions of accounts in containers without data.
    private var newOfAccount: [[UInt8]: [String: Int]] = [:]
    private let accountLimit: Int

    /// - Parameters:
    ///   - holdingData: What is known from the start.
    ///   - accountLimit: Containers of one account, beyond which it opens no new one.
    init(holdingData: Set<String> = [], accountLimit: Int = ServerLimits.containersPerAccount) {
        self.holdingData = holdingData
        self.accountLimit = accountLimit
    }

    func holdsData(_ container: String) -> Bool { holdingData.contains(container) }

    /// An account's session opens a container.
    ///
    /// - Parameters:
    ///   - isOnDisk: Asked where nothing is known of the container: whether it holds data all the same.
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

    /// A session in a new container has ended.
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

    /// What an account has from before the start is asked for when it matters: mostly never.
    private mutating func countWhatIsThere(for account: [UInt8], _ hasData: (String) -> Bool) {
        guard accountLimit < .max, countedAccounts.insert(account).inserted else { return }
        for container in holdingData.prefix(ServerLimits.countedContainers) {
            if ofAccount[account, default: []].count >= accountLimit { return }
            if hasData(container) { note(container, of: account) }
        }
    }
}
