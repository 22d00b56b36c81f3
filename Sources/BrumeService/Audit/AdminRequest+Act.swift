package import BrumeModel

extension AdminRequest {
    /// What the audit log says of it; nil for a look at the server as a whole, which monitoring takes all day.
    ///
    /// A look at accounts is an act: it shows how people are reached, and how much they store.
    package func act(container: String, _ environment: Environment) -> OperatorAct? {
        let place = "\(container) \(environment)"
        return switch self {
        case .addAccount(let name, _, _): OperatorAct("account.add", name)
        // A list comes in pages. Whoever asks for a later one alone sees accounts as well.
        case .listAccounts(let name):
            OperatorAct("account.list", name.isEmpty ? "" : "behind \(name)", isLook: true)
        case .removeAccount(let name, deletesData: true): OperatorAct("account.remove-with-data", name)
        case .removeAccount(let name, deletesData: false): OperatorAct("account.remove", name)
        case .createToken(let name): OperatorAct("token.create", name)
        case .revokeTokens(let name): OperatorAct("token.revoke", name)
        case .handles(let name, let change):
            change.isEmpty
                ? OperatorAct("account.show", name, isLook: true) : OperatorAct("account.handles", name)
        case .quota(let name, nil): OperatorAct("account.show", name, isLook: true)
        case .quota(let name, _?): OperatorAct("account.quota", name)
        case .snapshot: OperatorAct("snapshot")
        case .importSchema(_, validatesOnly: false): OperatorAct("schema.import", place)
        case .deploySchema: OperatorAct("schema.deploy", place)
        case .resetSchema: OperatorAct("schema.reset", place)
        case .setRoleMember(let role, let account, isMember: true):
            OperatorAct("role.add", "\(role) of \(place): \(account)")
        case .setRoleMember(let role, let account, isMember: false):
            OperatorAct("role.remove", "\(role) of \(place): \(account)")
        case .listRoleMembers: OperatorAct("role.list", place, isLook: true)
        case .importSchema(_, validatesOnly: true), .exportSchema, .listContainers, .figures: nil
        }
    }
}
