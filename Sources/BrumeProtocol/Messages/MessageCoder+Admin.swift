package import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

/// Admin and health, the server's side.
extension MessageCoder {
    /// Reads a request; the account's name is valid.
    package func decodeAddAccountRequest(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> (name: String, email: String, phone: String) {
        let message = try request(brume__v1__add_account_request__unpack, bytes)
        let email = try text(message.pointee.email, "an email address")
        let phone = try text(message.pointee.phone, "a phone number")
        return (try Self.accountName(message.pointee.name), email, phone)
    }

    /// The name of the account, and what is to become of its handles.
    package func decodeHandlesRequest(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> (name: String, change: HandleChange) {
        let message = try request(brume__v1__handles_request__unpack, bytes)
        var change = HandleChange()
        if let email = message.pointee.email { change.email = try text(email.pointee.text, "an email address") }
        if let phone = message.pointee.phone { change.phone = try text(phone.pointee.text, "a phone number") }
        return (try Self.accountName(message.pointee.name), change)
    }

    package func encodeHandlesResponse(_ account: Account) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__handles_response__init)
            message.pointee.account = arena.account(account)
            return message
        }
    }

    package func encodeAddAccountResponse(account: Account, token: String) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__add_account_response__init)
            message.pointee.account = arena.account(account)
            message.pointee.token = arena.data(token)
            return message
        }
    }

    /// The name after which the page begins; empty for the first page.
    package func decodeListAccountsRequest(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> String {
        try request(brume__v1__list_accounts_request__unpack, bytes).pointee.after.lossyText
    }

    package func encodeListAccountsResponse(_ accounts: [Account], moreComing: Bool) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__list_accounts_response__init)
            message.pointee.n_accounts = accounts.count
            message.pointee.accounts = arena.messages(accounts, arena.account)
            message.pointee.more_coming = moreComing ? 1 : 0
            return message
        }
    }

    /// The name of the account to remove, and whether its data goes too.
    package func decodeRemoveAccountRequest(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> (name: String, deletesData: Bool) {
        let message = try request(brume__v1__remove_account_request__unpack, bytes)
        return (try Self.accountName(message.pointee.name), message.pointee.delete_data != 0)
    }

    package func encodeRemoveAccountResponse(_ summary: ResetSummary) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__remove_account_response__init)
            message.pointee.databases = UInt32(clamping: summary.databases)
            message.pointee.records = UInt64(clamping: summary.records)
            return message
        }
    }

    /// The name after which the page begins; empty for the first page.
    package func decodeListContainersRequest(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> String {
        try request(brume__v1__list_containers_request__unpack, bytes).pointee.after.lossyText
    }

    package func encodeListContainersResponse(_ page: ContainerPage) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__list_containers_response__init)
            message.pointee.n_containers = page.containers.count
            message.pointee.containers = arena.messages(page.containers, arena.container)
            message.pointee.more_coming = page.moreComing ? 1 : 0
            message.pointee.public_quota_bytes = UInt64(clamping: page.publicQuotaBytes)
            return message
        }
    }

    /// The name of the account that gets a token.
    package func decodeCreateTokenRequest(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> String {
        try Self.accountName(try request(brume__v1__create_token_request__unpack, bytes).pointee.name)
    }

    package func encodeCreateTokenResponse(token: String) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__create_token_response__init)
            message.pointee.token = arena.data(token)
            return message
        }
    }

    /// The name of the account whose tokens are revoked.
    package func decodeRevokeTokensRequest(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> String {
        try Self.accountName(try request(brume__v1__revoke_tokens_request__unpack, bytes).pointee.name)
    }

    package func encodeRevokeTokensResponse(revoked: Int) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__revoke_tokens_response__init)
            message.pointee.revoked = UInt32(clamping: revoked)
            return message
        }
    }

    /// The name of the account, and the change of its quota; nil when the request changes nothing.
    package func decodeQuotaRequest(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> (name: String, change: QuotaChange?) {
        let message = try request(brume__v1__quota_request__unpack, bytes)
        let name = try Self.accountName(message.pointee.name)
        switch message.pointee.change_case {
        case BRUME__V1__QUOTA_REQUEST__CHANGE_BYTES:
            guard let count = Int(exactly: message.pointee.bytes) else {
                throw ServiceError(.invalidArguments, "a quota of \(message.pointee.bytes) bytes is more than any disk")
            }
            return (name, .bytes(count))
        case BRUME__V1__QUOTA_REQUEST__CHANGE_SERVER_DEFAULT: return (name, .serverDefault)
        default: return (name, nil)
        }
    }

    package func encodeQuotaResponse(_ quota: AccountQuota) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__quota_response__init)
            message.pointee.limit_bytes = UInt64(clamping: quota.limitBytes)
            message.pointee.server_default = quota.isDefault ? 1 : 0
            message.pointee.used_bytes = UInt64(clamping: quota.usedBytes ?? 0)
            return message
        }
    }

    package func decodeSnapshotRequest(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) {
        _ = try request(brume__v1__snapshot_request__unpack, bytes)
    }

    package func encodeSnapshotResponse(_ summary: SnapshotSummary) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__snapshot_response__init)
            message.pointee.databases = UInt32(clamping: summary.databases)
            message.pointee.segments_removed = UInt32(clamping: summary.segmentsRemoved)
            return message
        }
    }

    package func decodeHealthRequest(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) {
        _ = try request(brume__v1__health_request__unpack, bytes)
    }

    package func encodeHealthResponse(_ status: HealthStatus) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__health_response__init)
            message.pointee.serving = status.isServing ? 1 : 0
            message.pointee.uptime_milliseconds = status.uptimeMilliseconds
            message.pointee.disk_full = status.isDiskFull ? 1 : 0
            message.pointee.damage_found = status.isDamageFound ? 1 : 0
            return message
        }
    }

    private static func accountName(_ data: ProtobufCBinaryData) throws(ServiceError) -> String {
        let name = try text(data, "an account name")
        if let problem = Names.problemWithAccountName(name) { throw ServiceError(.invalidArguments, problem) }
        return name
    }
}

extension MessageArena {
    fileprivate func container(_ container: ContainerSummary) -> Pointer<Brume__V1__Container> {
        let message = make(brume__v1__container__init)
        message.pointee.name = data(container.name)
        message.pointee.development = environment(container.development)
        message.pointee.production = environment(container.production)
        return message
    }

    private func environment(_ environment: ContainerEnvironment) -> Pointer<Brume__V1__ContainerEnvironment> {
        let message = make(brume__v1__container_environment__init)
        message.pointee.record_types = UInt32(clamping: environment.recordTypes)
        message.pointee.public_bytes = UInt64(clamping: environment.publicBytes)
        return message
    }

    fileprivate func account(_ account: Account) -> Pointer<Brume__V1__Account> {
        let message = make(brume__v1__account__init)
        message.pointee.name = data(account.name)
        message.pointee.email = data(account.email)
        message.pointee.phone = data(account.phone)
        message.pointee.created_milliseconds = account.createdMilliseconds
        message.pointee.tokens = UInt32(clamping: account.tokens)
        message.pointee.user_record_name = data(account.userRecordName)
        return message
    }
}
