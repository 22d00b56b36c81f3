package import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

extension StoreCoder {
    /// Appends the body of the account file to `bytes`.
    package static func encodeAccounts(_ accounts: [StoredAccount], into bytes: inout [UInt8]) {
        append(to: &bytes) { arena in
            let message = arena.make(brume__store__v1__account_file__init)
            message.pointee.n_accounts = accounts.count
            message.pointee.accounts = arena.messages(accounts) { account in
                let message = arena.make(brume__store__v1__stored_account__init)
                message.pointee.name = arena.data(account.name)
                message.pointee.email = arena.data(account.email)
                message.pointee.phone = arena.data(account.phone)
                message.pointee.created_milliseconds = account.createdMilliseconds
                message.pointee.id = arena.data(account.id)
                message.pointee.n_token_hashes = account.tokenHashes.count
                message.pointee.token_hashes = arena.list(account.tokenHashes)
                if let bytes = account.quotaBytes {
                    message.pointee.quota = arena.make(brume__store__v1__stored_quota__init)
                    message.pointee.quota.pointee.bytes = UInt64(clamping: bytes)
                }
                return message
            }
            return message
        }
    }

    package static func decodeAccounts(_ bytes: UnsafeRawBufferPointer) throws(StoreCodingError) -> [StoredAccount] {
        try unpack(brume__store__v1__account_file__unpack, bytes, "the account file") {
            (message) throws(StoreCodingError) in
            try values(message.pointee.accounts, message.pointee.n_accounts) { (account) throws(StoreCodingError) in
                StoredAccount(
                    name: try text(account.pointee.name, "an account name"),
                    email: try text(account.pointee.email, "an email address"),
                    phone: try text(account.pointee.phone, "a phone number"),
                    createdMilliseconds: account.pointee.created_milliseconds, id: account.pointee.id.array,
                    tokenHashes: UnsafeBufferPointer(
                        start: account.pointee.token_hashes, count: account.pointee.n_token_hashes
                    ).map(\.array),
                    quotaBytes: account.pointee.quota.map { Int(clamping: $0.pointee.bytes) })
            }
        }
    }
}
