/// The account that a token belongs to.
struct AccountHolder: Equatable, Sendable {
    var name: String
    /// 16 random bytes that stay when the account is renamed; user record names derive from them.
    var id: [UInt8]
    var storage: AccountStorage

    static func == (left: AccountHolder, right: AccountHolder) -> Bool {
        left.name == right.name && left.id == right.id
    }
}
