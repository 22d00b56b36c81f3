package import BrumeModel

/// The accounts at one moment, for look-ups by name and by token, and what a change makes of them.
///
/// Every catalog decides changes here, so that all refuse the same. Tokens are random (256 bits), so a plain SHA-256
/// keeps them; a look-up is by hash, and its time says nothing about a token.
package struct AccountTable: Sendable {
    /// By name.
    private(set) var accounts: [String: StoredAccount] = [:]
    /// By the hash of a token.
    private(set) var holders: [[UInt8]: AccountHolder] = [:]
    /// The names of the accounts that have a handle.
    private var names: [Handle: String] = [:]
    /// By the account's id: the same object for as long as the account exists.
    private(set) var storages: [[UInt8]: AccountStorage] = [:]

    /// Takes accounts as they were kept. Files from before there were rules for handles may give one to two accounts:
    /// the older of them has it, and the other has none from then on, as who has a text that is none.
    package init(_ accounts: [StoredAccount] = []) {
        for var account in accounts.sorted(by: { ($0.createdMilliseconds, $0.name) < ($1.createdMilliseconds, $1.name) }
        ) {
            if !isFree(Handle(email: account.email)) { account.email = "" }
            if !isFree(Handle(phone: account.phone)) { account.phone = "" }
            add(account)
        }
    }

    private func isFree(_ handle: Handle?) -> Bool { handle.map { names[$0] == nil } ?? false }

    /// All accounts, by name.
    package var list: [StoredAccount] { accounts.values.sorted { $0.name < $1.name } }

    /// Makes a change, or throws why it can't be made and leaves everything as it was.
    package mutating func apply(_ change: AccountChange) throws(AccountError) -> AccountChange.Effect {
        switch change {
        case .add(var account):
            try check(account)
            account.email = try checked(email: account.email, of: account.name)
            account.phone = try checked(phone: account.phone, of: account.name)
            add(account)
            return AccountChange.Effect(before: nil, after: account)
        case .remove(let name): return removeForGood(try existing(name))
        case .removeEmptied(let name, let id):
            let account = try existing(name)
            if account.id != id { throw Self.unknown(name) }
            guard account.tokenHashes.isEmpty else {
                throw AccountError(.inUse, "\(name) has got a token meanwhile")
            }
            return removeForGood(account)
        case .addToken(let hash, let name):
            return try modify(name) { (account) throws(AccountError) in
                guard account.tokenHashes.count < ServiceLimits.tokensPerAccount else {
                    throw AccountError(
                        .limit,
                        "\(name) has \(account.tokenHashes.count) tokens, which is the limit; revoke them and make new"
                            + " ones")
                }
                account.tokenHashes.append(hash)
            }
        case .revokeTokens(let name): return try modify(name) { (account) in account.tokenHashes = [] }
        case .setHandles(let change, let name): return try setHandles(change, of: name)
        case .setQuota(let bytes, let name): return try modify(name) { (account) in account.quotaBytes = bytes }
        }
    }

    private mutating func setHandles(
        _ change: HandleChange, of name: String
    ) throws(AccountError) -> AccountChange.Effect {
        let before = try existing(name)
        let email = if let email = change.email { try checked(email: email, of: name) } else { before.email }
        let phone = if let phone = change.phone { try checked(phone: phone, of: name) } else { before.phone }
        return try modify(name) { (account) in (account.email, account.phone) = (email, phone) }
    }

    private mutating func modify(
        _ name: String, _ body: (inout StoredAccount) throws(AccountError) -> Void
    ) throws(AccountError) -> AccountChange.Effect {
        let before = try existing(name)
        var after = before
        try body(&after)
        remove(before)
        add(after)
        return AccountChange.Effect(before: before, after: after)
    }

    private mutating func add(_ account: StoredAccount) {
        accounts[account.name] = account
        let storage = storages[account.id] ?? AccountStorage(ofAccount: account.id, quotaBytes: account.quotaBytes)
        storages[account.id] = storage
        for handle in account.handles { names[handle] = account.name }
        for hash in account.tokenHashes {
            holders[hash] = AccountHolder(name: account.name, id: account.id, storage: storage)
        }
    }

    private mutating func removeForGood(_ account: StoredAccount) -> AccountChange.Effect {
        remove(account)
        storages[account.id] = nil
        return AccountChange.Effect(before: account, after: nil)
    }

    private mutating func remove(_ account: StoredAccount) {
        accounts[account.name] = nil
        for handle in account.handles { names[handle] = nil }
        for hash in account.tokenHashes { holders[hash] = nil }
    }

    // MARK: Refusals

    private func existing(_ name: String) throws(AccountError) -> StoredAccount {
        guard let account = accounts[name] else { throw Self.unknown(name) }
        return account
    }

    package static func unknown(_ name: String) -> AccountError {
        AccountError(.unknown, "there is no account named \(name); brume account list shows their names")
    }

    private func check(_ account: StoredAccount) throws(AccountError) {
        let name = account.name
        if let problem = Names.problemWithAccountName(name) { throw AccountError(.invalid, problem) }
        guard accounts[name] == nil else {
            throw AccountError(
                .exists,
                "an account named \(name) exists; choose another name, or make a token for it: brume account token"
                    + " \(name)")
        }
        guard accounts.count < ServiceLimits.accounts else {
            throw AccountError(.limit, "the server has \(ServiceLimits.accounts) accounts, which is the limit")
        }
    }

    /// An e-mail address that the account may have, or an empty text for none.
    private func checked(email: String, of name: String) throws(AccountError) -> String {
        if email.isEmpty { return "" }
        guard let handle = Handle(email: email) else { throw AccountError(.invalid, Handle.emailForm) }
        try checkIsFree(handle, for: name, "the e-mail address")
        return email
    }

    /// A phone number that the account may have, in the form in which it is kept, or an empty text for none.
    private func checked(phone: String, of name: String) throws(AccountError) -> String {
        if phone.isEmpty { return "" }
        guard let handle = Handle(phone: phone), case .phone(let number) = handle else {
            throw AccountError(.invalid, Handle.phoneForm)
        }
        try checkIsFree(handle, for: name, "the phone number")
        return number
    }

    private func checkIsFree(_ handle: Handle, for name: String, _ title: String) throws(AccountError) {
        guard let holder = names[handle], holder != name else { return }
        throw AccountError(
            .exists, "\(title) is that of \(holder), and belongs to one account; see brume account handles \(holder)")
    }
}
