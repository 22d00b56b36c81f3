internal import BrumeModel
internal import BrumeSystem
internal import BrumeWire
internal import Synchronization

/// The server's accounts: names, e-mail addresses and hashes of tokens, in one file of the data folder.
///
/// The file is replaced whole at each change, synced before the change takes effect. Tokens are random (256 bits), so a
/// plain SHA-256 keeps them; a look-up is by hash, and its time says nothing of a token.
///
/// `@unchecked Sendable`: everything that changes is behind the lock; reads from the loops hold it for one look-up, and a
/// change only to take effect, not while it is written.
final class AccountStore: @unchecked Sendable {
    /// Who a token belongs to.
    struct Holder: Equatable, Sendable {
        var name: String
        /// 16 random bytes that stay when the account is renamed; user record names derive from them.
        var id: [UInt8]
    }

    fileprivate struct State {
        var accounts: [String: StoredAccount] = [:]
        var holders: [[UInt8]: Holder] = [:]
    }

    /// Nil: the accounts are in no folder.
    private let path: String?
    private let state: Mutex<State>
    /// One change after the other. Held while the disk works, so never by a loop.
    private let changing = Mutex(())

    /// Reads the account file, if there is one.
    init(folder: String) throws(ServerError) {
        let path = folder + "/accounts"
        self.path = path
        var state = State()
        do {
            if FileSystem.exists(path) {
                let bytes = try FileSystem.read(path, limit: ServerLimits.accountFileBytes)
                for account in try AccountFile.decode(bytes, path: path) { State.add(account, to: &state) }
            }
        } catch let error as ServerError {
            throw error
        } catch {
            throw ServerError(.folder, "the account file can't be read: \(error)")
        }
        self.state = Mutex(state)
    }

    /// Accounts that are in no folder: what changes is in memory only.
    init(fixed accounts: [StoredAccount]) {
        path = nil
        var state = State()
        for account in accounts { State.add(account, to: &state) }
        self.state = Mutex(state)
    }

    // MARK: Look-up

    /// Who holds the token, or nil.
    func holder(ofToken token: String) -> Holder? {
        guard let hash = AccountToken.hash(token) else { return nil }
        return state.withLock { $0.holders[hash] }
    }

    /// Whether a token with this hash is valid.
    func isValid(tokenHash: [UInt8]) -> Bool { state.withLock { $0.holders[tokenHash] != nil } }

    /// The account of that name.
    func account(named name: String) -> StoredAccount? { state.withLock { $0.accounts[name] } }

    /// All accounts, by name.
    func list() -> [StoredAccount] {
        state.withLock { $0.accounts.values.sorted { $0.name < $1.name } }
    }

    // MARK: Changes

    /// Makes an account with one token. The token is returned this once.
    func add(name: String, email: String, nowMilliseconds: Int64) throws(ServerError) -> (
        account: StoredAccount, token: String
    ) {
        if let problem = Self.problem(name: name, email: email) { throw ServerError(.accountInvalid, problem) }
        let token = AccountToken.make()
        let account = StoredAccount(
            name: name, email: email, createdMilliseconds: nowMilliseconds, id: SecureRandom.bytes(16),
            tokenHashes: [AccountToken.hash(token)!])
        try change { (state) throws(ServerError) in
            guard state.accounts[name] == nil else {
                throw ServerError(
                    .accountExists, "an account named \(name) exists; choose another name, or make a token for it")
            }
            guard state.accounts.count < ServerLimits.accounts else {
                throw ServerError(.limit, "the server has \(ServerLimits.accounts) accounts, which is the limit")
            }
            State.add(account, to: &state)
        }
        return (account, token)
    }

    /// Removes an account with its tokens. Its data stays.
    func remove(name: String) throws(ServerError) -> StoredAccount {
        try change { (state) throws(ServerError) in
            let account = try Self.existing(name, in: state)
            State.remove(account, from: &state)
            return account
        }
    }

    /// Makes another token for an account.
    func createToken(name: String) throws(ServerError) -> String {
        let token = AccountToken.make()
        try addToken(hash: AccountToken.hash(token)!, to: name)
        return token
    }

    /// Makes the token with that hash valid for an account.
    func addToken(hash: [UInt8], to name: String) throws(ServerError) {
        try change { (state) throws(ServerError) in
            var account = try Self.existing(name, in: state)
            guard account.tokenHashes.count < ServerLimits.tokensPerAccount else {
                throw ServerError(
                    .limit,
                    "\(name) has \(account.tokenHashes.count) tokens, which is the limit; revoke them and make new ones"
                )
            }
            State.remove(account, from: &state)
            account.tokenHashes.append(hash)
            State.add(account, to: &state)
        }
    }

    /// Revokes all tokens of an account and returns how many there were.
    func revokeTokens(name: String) throws(ServerError) -> Int {
        try change { (state) throws(ServerError) in
            var account = try Self.existing(name, in: state)
            State.remove(account, from: &state)
            let count = account.tokenHashes.count
            account.tokenHashes = []
            State.add(account, to: &state)
            return count
        }
    }

    // MARK: Inside

    /// Changes a copy, writes it, and takes it over only when it is on disk.
    private func change<Outcome>(
        _ body: (inout State) throws(ServerError) -> Outcome
    ) throws(ServerError) -> Outcome {
        let result: Result<Outcome, ServerError> = changing.withLock { _ in
            var changed = state.withLock { $0 }
            do throws(ServerError) {
                let outcome = try body(&changed)
                do throws(SystemError) {
                    let accounts = changed.accounts.values.sorted { $0.name < $1.name }
                    if let path { try FileSystem.atomicReplace(path, AccountFile.encode(accounts)) }
                } catch {
                    return .failure(
                        ServerError(
                            error.isDiskFull ? .diskFull : .folder,
                            "the account file can't be written, nothing changed: \(error)"))
                }
                state.withLock { $0 = changed }
                return .success(outcome)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    private static func existing(_ name: String, in state: State) throws(ServerError) -> StoredAccount {
        guard let account = state.accounts[name] else {
            throw ServerError(.accountUnknown, "there is no account named \(name); list them to see their names")
        }
        return account
    }

    private static func problem(name: String, email: String) -> String? {
        if let problem = Names.problemWithAccountName(name) { return problem }
        if email.utf8.count > 254 || email.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            return "an e-mail address has at most 254 bytes and no control characters"
        }
        return nil
    }
}

extension AccountStore.State {
    fileprivate static func add(_ account: StoredAccount, to state: inout AccountStore.State) {
        state.accounts[account.name] = account
        for hash in account.tokenHashes {
            state.holders[hash] = AccountStore.Holder(name: account.name, id: account.id)
        }
    }

    fileprivate static func remove(_ account: StoredAccount, from state: inout AccountStore.State) {
        state.accounts[account.name] = nil
        for hash in account.tokenHashes { state.holders[hash] = nil }
    }
}
