package import BrumeKit
package import BrumeModel
internal import BrumeProtocol

/// The operator's requests about the schemas of a container and the members of its roles.
extension ClientSession {
    /// The schema of the connection's container and environment, and what tells it from a later one.
    package nonisolated func exportSchema() async throws(ServiceError) -> (text: String, fingerprint: UInt32) {
        try await self.request(
            .adminExportSchema, effect: .none, { $0.encodeExportSchemaRequest() },
            { (coder, bytes) throws(ServiceError) in try coder.decodeExportSchemaResponse(bytes) })
    }

    /// Replaces development's schema, or only says whether that could be.
    package nonisolated func importSchema(text: String, validatesOnly: Bool) async throws(ServiceError) {
        try await self.request(
            .adminImportSchema, effect: .once,
            { $0.encodeImportSchemaRequest(text: text, validatesOnly: validatesOnly) },
            { (coder, bytes) throws(ServiceError) in try coder.decodeImportSchemaResponse(bytes) })
    }

    /// Adds development's schema, which has to be the one with that fingerprint, to production's.
    package nonisolated func deploySchema(fingerprint: UInt32) async throws(ServiceError) {
        try await self.request(
            .adminDeploySchema, effect: .once, { $0.encodeDeploySchemaRequest(fingerprint: fingerprint) },
            { (coder, bytes) throws(ServiceError) in try coder.decodeDeploySchemaResponse(bytes) })
    }

    /// Gives development production's schema, and empties its databases.
    package nonisolated func resetSchema() async throws(ServiceError) -> ResetSummary {
        try await self.request(
            .adminResetSchema, effect: .once, { $0.encodeResetSchemaRequest() },
            { (coder, bytes) throws(ServiceError) in try coder.decodeResetSchemaResponse(bytes) })
    }

    /// Puts an account into a security role, or takes it out.
    package nonisolated func setRoleMember(
        role: String, account: String, isMember: Bool
    ) async throws(ServiceError) {
        try await self.request(
            .adminSetRoleMember, effect: .once,
            { $0.encodeSetRoleMemberRequest(role: role, account: account, isMember: isMember) },
            { (coder, bytes) throws(ServiceError) in try coder.decodeSetRoleMemberResponse(bytes) })
    }

    /// All accounts in roles.
    package nonisolated func listRoleMembers() async throws(ServiceError) -> [RoleMember] {
        var members: [RoleMember] = []
        while true {
            let last = members.last?.userRecordName ?? ""
            let page = try await self.request(
                .adminListRoleMembers, effect: .none, { $0.encodeListRoleMembersRequest(after: last) },
                { (coder, bytes) throws(ServiceError) in try coder.decodeListRoleMembersResponse(bytes) })
            members += page.members
            if !page.moreComing || page.members.isEmpty { return members }
        }
    }
}
