package import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

/// The operator's requests about schemas, the client's side.
extension MessageCoder {
    package func encodeExportSchemaRequest() -> [UInt8] { encode { $0.make(brume__v1__export_schema_request__init) } }

    package func decodeExportSchemaResponse(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> (text: String, fingerprint: UInt32) {
        let message = try answer(brume__v1__export_schema_response__unpack, bytes)
        return (message.pointee.text.lossyText, message.pointee.fingerprint)
    }

    package func encodeImportSchemaRequest(text: String, validatesOnly: Bool) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__import_schema_request__init)
            message.pointee.text = arena.data(text)
            message.pointee.validate_only = validatesOnly ? 1 : 0
            return message
        }
    }

    package func decodeImportSchemaResponse(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) {
        _ = try answer(brume__v1__import_schema_response__unpack, bytes)
    }

    package func encodeDeploySchemaRequest(fingerprint: UInt32) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__deploy_schema_request__init)
            message.pointee.fingerprint = fingerprint
            return message
        }
    }

    package func decodeDeploySchemaResponse(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) {
        _ = try answer(brume__v1__deploy_schema_response__unpack, bytes)
    }

    package func encodeResetSchemaRequest() -> [UInt8] { encode { $0.make(brume__v1__reset_schema_request__init) } }

    package func decodeResetSchemaResponse(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> ResetSummary {
        let message = try answer(brume__v1__reset_schema_response__unpack, bytes)
        return ResetSummary(databases: Int(message.pointee.databases), records: Int(clamping: message.pointee.records))
    }

    package func encodeSetRoleMemberRequest(role: String, account: String, isMember: Bool) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__set_role_member_request__init)
            message.pointee.role = arena.data(role)
            message.pointee.account = arena.data(account)
            message.pointee.member = isMember ? 1 : 0
            return message
        }
    }

    package func decodeSetRoleMemberResponse(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) {
        _ = try answer(brume__v1__set_role_member_response__unpack, bytes)
    }

    package func encodeListRoleMembersRequest(after user: String) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__list_role_members_request__init)
            message.pointee.after = arena.data(user)
            return message
        }
    }

    package func decodeListRoleMembersResponse(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> (members: [RoleMember], moreComing: Bool) {
        let message = try answer(brume__v1__list_role_members_response__unpack, bytes)
        let members = try values(message.pointee.members, message.pointee.n_members) {
            (member) throws(ServiceError) in
            RoleMember(
                account: member.pointee.account.lossyText, userRecordName: member.pointee.user_record_name.lossyText,
                roles: (0..<member.pointee.n_roles).map { member.pointee.roles[$0].lossyText })
        }
        return (members, message.pointee.more_coming != 0)
    }
}
