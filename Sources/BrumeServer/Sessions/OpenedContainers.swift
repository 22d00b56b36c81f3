/// The containers that accounts have opened on a server whose operator has named none. Each brings databases, so their number
/// is bounded, for the server and for each account.
struct OpenedContainers {
    private var all: Set<String> = []
    private var ofAccount: [[UInt8]: Set<String>] = [:]
    private let limit: Int
    private let accountLimit: Int

    init(limit: Int = ServerLimits.containers, accountLimit: Int = ServerLimits.containersPerAccount) {
        self.limit = limit
        self.accountLimit = accountLimit
    }

    /// Whether the account may open the container. One that it has opened before it always may.
    mutating func open(_ container: String, account: [UInt8]) -> Bool {
        if ofAccount[account]?.contains(container) == true { return true }
        guard ofAccount[account]?.count ?? 0 < accountLimit else { return false }
        guard all.contains(container) || all.count < limit else { return false }
        all.insert(container)
        ofAccount[account, default: []].insert(container)
        return true
    }
}
