package import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

/// The operator's requests about schemas, the server's side.
extension MessageCoder {
    package func decodeExportSchemaRequest(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) {
        _ = try request(brume__v1__export_schema_request__unpack, bytes)
    }

    package func encodeExportSchemaResponse(text: String, fingerprint: UInt32) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__export_schema_response__init)
            message.pointee.text = arena.data(text)
            message.pointee.fingerprint = fingerprint
            return message
        }
    }

    /// The text of the schema to import, not parsed yet.
    package func decodeImportSchemaRequest(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> (text: [UInt8], validatesOnly: Bool) {
        let message = try request(brume__v1__import_schema_request__unpack, bytes)
        let byteCount = message.pointee.text.len
        guard byteCount <= Limits.importedSchemaTextBytes else {
            throw ServiceError(
                .limitExceeded,
                "a schema's text has \(byteCount) bytes; the limit is \(Limits.importedSchemaTextBytes): leave comments "
                    + "out, or import it while the server is stopped")
        }
        return (message.pointee.text.array, message.pointee.validate_only != 0)
    }

    package func encodeImportSchemaResponse() -> [UInt8] { encode { $0.make(brume__v1__import_schema_response__init) } }

    /// The fingerprint of the schema that is to be deployed.
    package func decodeDeploySchemaRequest(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> UInt32 {
        try request(brume__v1__deploy_schema_request__unpack, bytes).pointee.fingerprint
    }

    package func encodeDeploySchemaResponse() -> [UInt8] { encode { $0.make(brume__v1__deploy_schema_response__init) } }

    package func decodeResetSchemaRequest(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) {
        _ = try request(brume__v1__reset_schema_request__unpack, bytes)
    }

    package func encodeResetSchemaResponse(_ summary: ResetSummary) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__reset_schema_response__init)
            message.pointee.databases = UInt32(clamping: summary.databases)
            message.pointee.records = UInt64(clamping: summary.records)
            return message
        }
    }

    package func decodeSetRoleMemberRequest(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> (role: String, account: String, isMember: Bool) {
        let message = try request(brume__v1__set_role_member_request__unpack, bytes)
        let role = try text(message.pointee.role, "a role")
        if let problem = Names.problemWithRole(role) { throw ServiceError(.invalidArguments, problem) }
        let account = try text(message.pointee.account, "an account name")
        if let problem = Names.problemWithAccountName(account) { throw ServiceError(.invalidArguments, problem) }
        return (role, account, message.pointee.member != 0)
    }

    package func encodeSetRoleMemberResponse() -> [UInt8] {
        encode { $0.make(brume__v1__set_role_member_response__init) }
    }

    /// The user record name after which the page begins; empty for the first page.
    package func decodeListRoleMembersRequest(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> String {
        try request(brume__v1__list_role_members_request__unpack, bytes).pointee.after.lossyText
    }

    package func encodeListRoleMembersResponse(_ members: [RoleMember], moreComing: Bool) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__list_role_members_response__init)
            message.pointee.n_members = members.count
            message.pointee.members = arena.messages(members) { member in
                let message = arena.make(brume__v1__role_member__init)
                message.pointee.account = arena.data(member.account)
                message.pointee.user_record_name = arena.data(member.userRecordName)
                message.pointee.n_roles = member.roles.count
                message.pointee.roles = arena.list(member.roles)
                return message
            }
            message.pointee.more_coming = moreComing ? 1 : 0
            return message
        }
    }
}
