/// An account as the data folder keeps it.
package struct StoredAccount: Equatable, Sendable {
    package var name: String
    /// As the operator wrote it; empty for none.
    package var email: String
    /// In the form of E.164; empty for none.
    package var phone: String
    package var createdMilliseconds: Int64
    /// 16 random bytes; the user record names of every container and environment derive from them.
    package var id: [UInt8]
    /// SHA-256 of each valid token.
    package var tokenHashes: [[UInt8]]
    /// The quota in bytes of each of the account's private databases: 0 means no limit, nil the server's default.
    package var quotaBytes: Int?

    package init(
        name: String, email: String, phone: String = "", createdMilliseconds: Int64, id: [UInt8],
        tokenHashes: [[UInt8]] = [], quotaBytes: Int? = nil
    ) {
        self.name = name
        self.email = email
        self.phone = phone
        self.createdMilliseconds = createdMilliseconds
        self.id = id
        self.tokenHashes = tokenHashes
        self.quotaBytes = quotaBytes
    }

    /// By what other users find the account.
    package var handles: [Handle] { [Handle(email: email), Handle(phone: phone)].compactMap(\.self) }
}
