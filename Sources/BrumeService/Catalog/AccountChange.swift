package import BrumeModel
internal import BrumeSystem

/// One change of the accounts, as the operator asks for it.
package enum AccountChange: Equatable, Sendable {
    case add(StoredAccount)
    /// Its data stays. With an id, only the account that has it: not another one that was made under its name since.
    case remove(name: String, id: [UInt8]? = nil)
    /// Makes the token with that hash valid.
    case addToken(hash: [UInt8], name: String)
    /// All tokens of the account.
    case revokeTokens(name: String)
    /// A quota of its own in bytes (0 means no limit) or, with nil, the server's default again.
    case setQuota(bytes: Int?, name: String)

    /// What a change did to an account.
    package struct Effect: Equatable, Sendable {
        /// The account as it was; nil for a new one.
        package let before: StoredAccount?
        /// The account as it is; nil when it was removed.
        package let after: StoredAccount?

        /// How many tokens are no longer valid.
        package var revokedTokenCount: Int { (before?.tokenHashes.count ?? 0) - (after?.tokenHashes.count ?? 0) }
    }

    /// A new account with one token, which is shown this once.
    ///
    /// - Parameter id: 16 bytes that no other account has; nil for random ones.
    package static func adding(
        name: String, email: String, nowMilliseconds: Int64, id: [UInt8]? = nil
    ) -> (change: AccountChange, token: String) {
        let (token, hash) = AccountToken.make()
        let account = StoredAccount(
            name: name, email: email, createdMilliseconds: nowMilliseconds, id: id ?? SecureRandom.bytes(16),
            tokenHashes: [hash])
        return (.add(account), token)
    }

    /// Another token for an account, which is shown this once.
    package static func addingToken(name: String) -> (change: AccountChange, token: String) {
        let (token, hash) = AccountToken.make()
        return (.addToken(hash: hash, name: name), token)
    }
}
