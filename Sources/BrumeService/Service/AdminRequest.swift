package import BrumeModel

/// A request of the operator. Its outcome is an ``AdminAnswer``.
package enum AdminRequest: Sendable {
    case addAccount(name: String, email: String, phone: String = "")
    case listAccounts(after: String)
    case removeAccount(name: String, deletesData: Bool)
    case listContainers(after: String)
    case createToken(name: String)
    case revokeTokens(name: String)
    case handles(name: String, HandleChange)
    case quota(name: String, QuotaChange?)
    case snapshot
    case exportSchema
    case importSchema([UInt8], validatesOnly: Bool)
    case deploySchema(fingerprint: UInt32)
    case resetSchema
    case setRoleMember(role: String, account: String, isMember: Bool)
    case listRoleMembers(after: String)
    case figures
}
