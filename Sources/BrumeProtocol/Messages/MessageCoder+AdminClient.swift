package import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

/// Admin and health, the client's side.
extension MessageCoder {
    package func encodeAddAccountRequest(name: String, email: String, phone: String = "") -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__add_account_request__init)
            message.pointee.name = arena.data(name)
            message.pointee.email = arena.data(email)
            message.pointee.phone = arena.data(phone)
            return message
        }
    }

    package func encodeHandlesRequest(name: String, change: HandleChange) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__handles_request__init)
            message.pointee.name = arena.data(name)
            func handle(_ text: String) -> UnsafeMutablePointer<Brume__V1__Handle> {
                let handle = arena.make(brume__v1__handle__init)
                handle.pointee.text = arena.data(text)
                return handle
            }
            if let email = change.email { message.pointee.email = handle(email) }
            if let phone = change.phone { message.pointee.phone = handle(phone) }
            return message
        }
    }

    package func decodeHandlesResponse(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> Account {
        let message = try answer(brume__v1__handles_response__unpack, bytes)
        guard let account = message.pointee.account else { throw Self.unreadableAnswer("it holds no account") }
        return Account(account)
    }

    package func decodeAddAccountResponse(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> (account: Account, token: String) {
        let message = try answer(brume__v1__add_account_response__unpack, bytes)
        guard let account = message.pointee.account else { throw Self.unreadableAnswer("it holds no account") }
        return (Account(account), message.pointee.token.lossyText)
    }

    package func encodeListAccountsRequest(after name: String) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__list_accounts_request__init)
            message.pointee.after = arena.data(name)
            return message
        }
    }

    package func decodeListAccountsResponse(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> (accounts: [Account], moreComing: Bool) {
        let message = try answer(brume__v1__list_accounts_response__unpack, bytes)
        let accounts = try values(message.pointee.accounts, message.pointee.n_accounts) {
            (account) throws(ServiceError) in Account(account)
        }
        return (accounts, message.pointee.more_coming != 0)
    }

    package func encodeRemoveAccountRequest(name: String, deletesData: Bool = false) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__remove_account_request__init)
            message.pointee.name = arena.data(name)
            message.pointee.delete_data = deletesData ? 1 : 0
            return message
        }
    }

    /// What was emptied with the account.
    package func decodeRemoveAccountResponse(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> ResetSummary {
        let message = try answer(brume__v1__remove_account_response__unpack, bytes)
        return ResetSummary(
            databases: Int(message.pointee.databases), records: Int(clamping: message.pointee.records))
    }

    package func encodeListContainersRequest(after name: String) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__list_containers_request__init)
            message.pointee.after = arena.data(name)
            return message
        }
    }

    package func decodeListContainersResponse(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> ContainerPage {
        let message = try answer(brume__v1__list_containers_response__unpack, bytes)
        let containers = try values(message.pointee.containers, message.pointee.n_containers) {
            (container) throws(ServiceError) in
            ContainerSummary(
                name: container.pointee.name.lossyText,
                development: ContainerEnvironment(container.pointee.development),
                production: ContainerEnvironment(container.pointee.production))
        }
        return ContainerPage(
            containers: containers, moreComing: message.pointee.more_coming != 0,
            publicQuotaBytes: Int(clamping: message.pointee.public_quota_bytes))
    }

    package func encodeCreateTokenRequest(name: String) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__create_token_request__init)
            message.pointee.name = arena.data(name)
            return message
        }
    }

    /// The new token.
    package func decodeCreateTokenResponse(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> String {
        try answer(brume__v1__create_token_response__unpack, bytes).pointee.token.lossyText
    }

    package func encodeRevokeTokensRequest(name: String) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__revoke_tokens_request__init)
            message.pointee.name = arena.data(name)
            return message
        }
    }

    /// How many tokens were revoked.
    package func decodeRevokeTokensResponse(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> Int {
        Int(try answer(brume__v1__revoke_tokens_response__unpack, bytes).pointee.revoked)
    }

    package func encodeQuotaRequest(name: String, change: QuotaChange?) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__quota_request__init)
            message.pointee.name = arena.data(name)
            switch change {
            case .bytes(let count)?:
                message.pointee.change_case = BRUME__V1__QUOTA_REQUEST__CHANGE_BYTES
                message.pointee.bytes = UInt64(clamping: count)
            case .serverDefault?:
                message.pointee.change_case = BRUME__V1__QUOTA_REQUEST__CHANGE_SERVER_DEFAULT
                message.pointee.server_default = 1
            case nil: break
            }
            return message
        }
    }

    package func decodeQuotaResponse(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> AccountQuota {
        let message = try answer(brume__v1__quota_response__unpack, bytes)
        return AccountQuota(
            limitBytes: Int(clamping: message.pointee.limit_bytes), isDefault: message.pointee.server_default != 0,
            usedBytes: Int(clamping: message.pointee.used_bytes))
    }

    package func encodeSnapshotRequest() -> [UInt8] {
        encode { $0.make(brume__v1__snapshot_request__init) }
    }

    package func decodeSnapshotResponse(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> SnapshotSummary {
        let message = try answer(brume__v1__snapshot_response__unpack, bytes)
        return SnapshotSummary(
            databases: Int(message.pointee.databases), segmentsRemoved: Int(message.pointee.segments_removed))
    }

    package func encodeHealthRequest() -> [UInt8] {
        encode { $0.make(brume__v1__health_request__init) }
    }

    package func decodeHealthResponse(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> HealthStatus {
        let message = try answer(brume__v1__health_response__unpack, bytes)
        return HealthStatus(
            isServing: message.pointee.serving != 0, uptimeMilliseconds: message.pointee.uptime_milliseconds,
            isDiskFull: message.pointee.disk_full != 0, isDamageFound: message.pointee.damage_found != 0)
    }
}

extension Account {
    fileprivate init(_ account: UnsafeMutablePointer<Brume__V1__Account>) {
        self.init(
            name: account.pointee.name.lossyText, email: account.pointee.email.lossyText,
            phone: account.pointee.phone.lossyText, createdMilliseconds: account.pointee.created_milliseconds,
            tokens: Int(account.pointee.tokens),
            userRecordName: account.pointee.user_record_name.lossyText)
    }
}

extension ContainerEnvironment {
    fileprivate init(_ environment: UnsafeMutablePointer<Brume__V1__ContainerEnvironment>?) {
        self.init(
            recordTypes: Int(environment?.pointee.record_types ?? 0),
            publicBytes: Int(clamping: environment?.pointee.public_bytes ?? 0))
    }
}
