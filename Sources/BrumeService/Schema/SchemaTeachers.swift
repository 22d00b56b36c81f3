/// The accounts whose saves teach development schemas. For the others development is as strict as production: what a
/// schema does not know is refused.
package enum SchemaTeachers: Equatable, Sendable {
    case all
    /// Nobody: schemas are what the operator imports.
    case nobody
    case accounts(Set<String>)

    func include(_ account: String) -> Bool {
        switch self {
        case .all: true
        case .nobody: false
        case .accounts(let names): names.contains(account)
        }
    }
}
