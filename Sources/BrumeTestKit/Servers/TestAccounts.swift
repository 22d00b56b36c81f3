package import BrumeModel
internal import BrumeSystem

/// Accounts and tokens that test servers begin with.
package enum TestAccounts {
    /// A token that is well formed, and begins with `text`.
    package static func token(_ text: String) -> String {
        "brume_" + text + String(repeating: "x", count: 43 - text.count)
    }

    /// - Parameter number: From 1: what the account's user record names derive from.
    package static func account(_ name: String, number: Int, token: String) -> StoredAccount {
        StoredAccount(
            name: name, email: "", createdMilliseconds: 0, id: id(number),
            tokenHashes: [SHA256.digest(Array(token.utf8))])
    }

    package static func id(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(number), count: 16) }
}
