package import BrumeModel
internal import BrumeSystem

/// One change of the accounts, as the operator asks for it.
package enum AccountChange: Equatable, Sendable {
    /// Adds an account, if its name is free.
    case add(StoredAccount)
    /// Removes the account with its tokens; its data stays.
    case remove(name: String)
    /// Removes the account with that id, whose data was deleted: unless it has got a token meanwhile, and not another
    /// one that was made under its name since.
    case removeEmptied(name: String, id: [UInt8])
    /// Makes the token with that hash valid for the account.
    case addToken(hash: [UInt8], name: String)
    /// Revokes all tokens of the account.
    case revokeTokens(name: String)
    /// Gives the account handles; one without a change stays as it is.
    case setHandles(HandleChange, name: String)
    /// Gives the account a quota of its own in bytes (0 means no limit) or, with nil, the server's default again.
    case setQuota(bytes: Int?, name: String)

    /// What a change did to an account.
    package struct Effect: Equatable, Sendable {
        /// The account as it was; nil for a new one.
        package let before: StoredAccount?
        /// The account as it is; nil when it was removed.
        package let after: StoredAccount?

        /// The hashes of the tokens that are no longer valid.
        package var revokedTokens: Set<[UInt8]> {
            Set(before?.tokenHashes ?? []).subtracting(after?.tokenHashes ?? [])
        }
    }

    /// A new account with one token, which is shown this once.
    ///
    /// - Parameter id: 16 bytes that no other account has; nil for random ones.
    package static func adding(
        name: String, email: String, phone: String = "", nowMilliseconds: Int64, id: [UInt8]? = nil
    ) -> (change: AccountChange, token: String) {
        let (token, hash) = AccountToken.make()
        let account = StoredAccount(
            name: name, email: email, phone: phone, createdMilliseconds: nowMilliseconds,
            id: id ?? SecureRandom.bytes(16),
            tokenHashes: [hash])
        return (.add(account), token)
    }

    /// Another token for an account, which is shown this once.
    package static func addingToken(name: String) -> (change: AccountChange, token: String) {
        let (token, hash) = AccountToken.make()
        return (.addToken(hash: hash, name: name), token)
    }
}
