internal import BrumeLock
internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// The server's accounts: names, e-mail addresses and hashes of tokens, in one file of the data folder.
///
/// The file is replaced whole at each change, synced before the change takes effect. A failed sync ends the server,
/// because nobody knows which of the two files a start will find. Tokens are random (256 bits), so a plain SHA-256
/// keeps them; a look-up is by hash, and its time says nothing about a token.
///
/// `@unchecked Sendable`: everything that changes is behind the lock; reads from the loops hold it for one look-up, and
/// a change only to take effect, not while it is written.
final class AccountStore: @unchecked Sendable {
    /// The account that a token belongs to.
    struct Holder: Equatable, Sendable {
        var name: String
        /// 16 random bytes that stay when the account is renamed; user record names derive from them.
        var id: [UInt8]
        var storage: AccountStorage

        static func == (left: Holder, right: Holder) -> Bool { left.name == right.name && left.id == right.id }
    }

    fileprivate struct State {
        var accounts: [String: StoredAccount] = [:]
        var holders: [[UInt8]: Holder] = [:]
        /// By the account's id: the same object for as long as the account exists.
        var storages: [[UInt8]: AccountStorage] = [:]
    }

    /// The file's name in the data folder.
    static let file = "accounts"

    /// The data folder; nil when the accounts are in no folder.
    private let disk: (any Disk)?
    /// Ends the server after a failed sync; nil when the error is only thrown, because the process is about to end
    /// anyway.
    private let failStop: FailStop?
    private let state: Lock<State>
    /// One change after the other. Held while the disk works, so never by a loop.
    private let changing = Lock(())

    /// Reads the account file of a data folder, if there is one.
    convenience init(folder: String, failStop: FailStop? = nil) throws(ServerError) {
        try self.init(disk: RealDisk(folder: folder), named: folder, failStop: failStop)
    }

    /// The same for the data folder that `disk` stands for.
    init(disk: any Disk, named folder: String, failStop: FailStop?) throws(ServerError) {
        self.disk = disk
        self.failStop = failStop
        var state = State()
        let bytes: [UInt8]?
        do throws(DiskError) {
            bytes = try disk.readWhole(Self.file, limit: ServerLimits.accountFileBytes)
        } catch {
            throw ServerError(.folder, "the account file can't be read: \(error)")
        }
        if let bytes {
            for account in try AccountFile.decode(bytes, path: folder + "/" + Self.file) {
                State.add(account, to: &state)
            }
        } else if try Self.isOpened(disk, folder) {
            throw ServerError(
                .damaged, "\(folder)/\(Self.file) is missing, but the folder holds data; restore it from a backup")
        }
        self.state = Lock(state)
    }

    /// Whether a server has opened the folder, after which it has an account file.
    private static func isOpened(_ disk: any Disk, _ folder: String) throws(ServerError) -> Bool {
        do throws(StoreError) {
            return try MetaFile.read(from: disk)?.hasManifest ?? false
        } catch {
            if case .disk = error { throw ServerError(.folder, "\(folder): \(error)") }
            throw ServerError(.damaged, "\(folder): \(error)")
        }
    }

    /// Makes the account file when there are no accounts yet, so that a missing file is damage from then on.
    func makeFileIfMissing() throws(ServerError) {
        guard let disk else { return }
        do throws(DiskError) {
            if try disk.list("").contains(Self.file) { return }
            try disk.replaceFile(Self.file, in: "", with: AccountFile.encode(list()))
        } catch {
            throw refusal(error)
        }
    }

    /// Accounts that are in no folder: changes are kept in memory only.
    init(fixed accounts: [StoredAccount]) {
        disk = nil
        failStop = nil
        var state = State()
        for account in accounts { State.add(account, to: &state) }
        self.state = Lock(state)
    }

    // MARK: Look-up

    /// The holder of a token; nil if there is none.
    func holder(ofToken token: String) -> Holder? {
        guard let hash = AccountToken.hash(token) else { return nil }
        return state.withLock { $0.holders[hash] }
    }

    /// Whether a token with this hash is valid.
    func isValid(tokenHash: [UInt8]) -> Bool { state.withLock { $0.holders[tokenHash] != nil } }

    /// The account of that name.
    func account(named name: String) -> StoredAccount? { state.withLock { $0.accounts[name] } }

    /// What the account of that name stores, and may.
    func storage(ofAccount name: String) -> AccountStorage? {
        state.withLock { state in state.accounts[name].flatMap { state.storages[$0.id] } }
    }

    /// All accounts, by name.
    func list() -> [StoredAccount] {
        state.withLock { $0.accounts.values.sorted { $0.name < $1.name } }
    }

    // MARK: Changes

    /// Makes an account with one token. The token is returned this once.
    ///
    /// - Parameter id: 16 bytes that no other account has; nil for random ones.
    func add(name: String, email: String, nowMilliseconds: Int64, id: [UInt8]? = nil) throws(ServerError) -> (
        account: StoredAccount, token: String
    ) {
        if let problem = Self.problem(name: name, email: email) { throw ServerError(.accountInvalid, problem) }
        let token = AccountToken.make()
        let account = StoredAccount(
            name: name, email: email, createdMilliseconds: nowMilliseconds, id: id ?? SecureRandom.bytes(16),
            tokenHashes: [AccountToken.hash(token)!])
        try change { (state) throws(ServerError) in
            guard state.accounts[name] == nil else {
                throw ServerError(
                    .accountExists,
                    "an account named \(name) exists; choose another name, or make a token for it: brume account token"
                        + " \(name)")
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
            state.storages[account.id] = nil
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

    /// Gives an account a quota of its own (0 means no limit) or, with nil, the server's default again. Sessions have
    /// it at once.
    func setQuota(_ bytes: Int?, ofAccount name: String) throws(ServerError) {
        let storage = try change { (state) throws(ServerError) in
            var account = try Self.existing(name, in: state)
            State.remove(account, from: &state)
            account.quotaBytes = bytes
            State.add(account, to: &state)
            return state.storages[account.id]!
        }
        storage.quotaBytes = bytes
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
                do throws(DiskError) {
                    let accounts = changed.accounts.values.sorted { $0.name < $1.name }
                    try disk?.replaceFile(Self.file, in: "", with: AccountFile.encode(accounts))
                } catch {
                    return .failure(refusal(error))
                }
                state.withLock { $0 = changed }
                return .success(outcome)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    private func refusal(_ error: DiskError) -> ServerError {
        guard error.isFailedSync else {
            return ServerError(
                error.isFull ? .diskFull : .folder, "the account file can't be written, nothing changed: \(error)")
        }
        let reason =
            "the account file can't be synced: \(error). Whether it changed shows at the next start; check the disk first"
        failStop?(reason)
        return ServerError(.folder, reason)
    }

    private static func existing(_ name: String, in state: State) throws(ServerError) -> StoredAccount {
        guard let account = state.accounts[name] else {
            throw ServerError(
                .accountUnknown, "there is no account named \(name); brume account list shows their names")
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
        let storage =
            state.storages[account.id] ?? AccountStorage(ofAccount: account.id, quotaBytes: account.quotaBytes)
        state.storages[account.id] = storage
        for hash in account.tokenHashes {
            state.holders[hash] = AccountStore.Holder(name: account.name, id: account.id, storage: storage)
        }
    }

    fileprivate static func remove(_ account: StoredAccount, from state: inout AccountStore.State) {
        state.accounts[account.name] = nil
        for hash in account.tokenHashes { state.holders[hash] = nil }
    }
}
