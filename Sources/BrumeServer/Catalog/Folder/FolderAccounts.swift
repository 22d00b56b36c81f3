package import BrumeModel
package import BrumeService
internal import BrumeSystem

/// The accounts of a data folder that no server has open: for the commands that administer a stopped server.
///
/// Holds the folder's lock until ``release()``; records are neither read nor recovered.
package final class FolderAccounts {
    private let folder: StoppedFolder
    private var accounts: AccountStore { folder.accounts }

    /// Opens the folder; makes it when it is missing. User record names are those of the container and environment.
    ///
    /// - Parameter isOperators: Whether the audit log has notes of what is done.
    /// - Throws: `folderInUse` while a server, or another command, has the folder.
    package init(
        dataFolder: String, container: String, environment: Environment, isOperators: Bool = false
    ) throws(ServerError) {
        folder = try StoppedFolder(
            dataFolder, container: container, environment: environment, isOperators: isOperators)
    }

    /// Releases the folder for a server.
    package func release() { folder.release() }

    /// Makes an account with one token, which is returned this once.
    package func add(
        name: String, email: String, phone: String = ""
    ) throws(AccountError) -> (account: Account, token: String) {
        try audited(.addAccount(name: name, email: email, phone: phone)) { () throws(AccountError) in
            let (account, token) = try accounts.add(
                name: name, email: email, phone: phone, nowMilliseconds: SystemClock.nowMilliseconds)
            return (folder.view(account), token)
        }
    }

    /// All accounts, by name.
    package func list() throws(AccountError) -> [Account] {
        try audited(.listAccounts(after: "")) { () throws(AccountError) in
            accounts.directory.list().map(folder.view)
        }
    }

    /// Removes an account with its tokens. Its data stays.
    package func remove(name: String) throws(AccountError) {
        try audited(.removeAccount(name: name, deletesData: false)) { () throws(AccountError) in
            _ = try accounts.change(.remove(name: name))
        }
    }

    /// Makes another token for an account.
    package func createToken(name: String) throws(AccountError) -> String {
        try audited(.createToken(name: name)) { () throws(AccountError) in try accounts.createToken(name: name) }
    }

    /// Revokes all tokens of an account and returns how many there were.
    package func revokeTokens(name: String) throws(AccountError) -> Int {
        try audited(.revokeTokens(name: name)) { () throws(AccountError) in
            try accounts.change(.revokeTokens(name: name)).revokedTokens.count
        }
    }

    /// An account after the change of its handles, if there is one.
    package func handles(of name: String, _ change: HandleChange) throws(AccountError) -> Account {
        try audited(.handles(name: name, change)) { () throws(AccountError) in
            if !change.isEmpty { _ = try accounts.change(.setHandles(change, name: name)) }
            guard let account = accounts.directory.account(named: name) else { throw AccountTable.unknown(name) }
            return folder.view(account)
        }
    }

    /// An account's quota, after the change, if there is one. How much is used is unknown here, since records are not
    /// read. The server's default is unknown too: this gives that of a server that is not configured otherwise.
    package func quota(ofAccount name: String, change: QuotaChange?) throws(AccountError) -> AccountQuota {
        try audited(.quota(name: name, change)) { () throws(AccountError) in
            switch change {
            case .bytes(let bytes)?: _ = try accounts.change(.setQuota(bytes: bytes, name: name))
            case .serverDefault?: _ = try accounts.change(.setQuota(bytes: nil, name: name))
            case nil: break
            }
            guard let account = accounts.directory.account(named: name) else { throw AccountTable.unknown(name) }
            return AccountQuota(
                limitBytes: account.quotaBytes ?? ServiceLimits.quotaBytes, isDefault: account.quotaBytes == nil,
                usedBytes: nil)
        }
    }

    private func audited<Value>(
        _ request: AdminRequest, _ body: () throws(AccountError) -> Value
    ) throws(AccountError) -> Value {
        try folder.audited(
            request, reported: ServerCore.serviceError,
            refused: { AccountError($0 == .diskFull ? .full : .notKept, $0.message) }, body)
    }
}
