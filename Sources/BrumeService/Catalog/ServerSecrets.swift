package import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// A server's secrets: a key of 32 random bytes, from which MACs and user record names derive, and the hash of the
/// operator's token.
package struct ServerSecrets: Sendable {
    let key: [UInt8]
    let adminTokenHash: [UInt8]

    package init(key: [UInt8], adminTokenHash: [UInt8]) {
        self.key = key
        self.adminTokenHash = adminTokenHash
    }

    /// Whether `token` is the operator's. Takes the same time for each wrong one.
    func isAdminToken(_ token: String) -> Bool {
        guard let hash = AccountToken.hash(token) else { return false }
        return ConstantTime.isEqual(hash, adminTokenHash)
    }

    /// The user record name of an account in a container and environment: `_` and 32 hexadecimal digits, different in
    /// each (Documentation/CloudKit.md, The model), and revealing nothing about the account.
    package func userRecordName(accountID: [UInt8], container: String, environment: Environment) -> String {
        let message = Array("user".utf8) + accountID + [environment.rawValue] + Array(container.utf8)
        return Names.userRecordName(
            of: MessageAuthentication(key: key).authenticate(message).prefix(Names.userRecordNameBytes))
    }

    /// An account as the operator sees it, with its user record name in a container and environment.
    package func view(_ account: StoredAccount, container: String, environment: Environment) -> Account {
        Account(
            name: account.name, email: account.email, phone: account.phone,
            createdMilliseconds: account.createdMilliseconds,
            tokens: account.tokenHashes.count,
            userRecordName: userRecordName(accountID: account.id, container: container, environment: environment))
    }
}
