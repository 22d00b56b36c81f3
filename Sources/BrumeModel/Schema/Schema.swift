/// The record types, fields, indexes and security roles of a container in one environment, which all its databases
/// share (Documentation/CloudKit.md, Schemas).
///
/// A value: learning, importing and deploying make a new one. Copies share their storage.
package struct Schema: Hashable, Sendable {
    /// By name. ``Names/userRecordType`` is always among them.
    package private(set) var recordTypes: [String: RecordTypeSchema]
    /// Those that `CREATE ROLE` made; the default roles are not among them.
    package private(set) var roles: Set<String> = []
    /// The number of fields of all types, without system fields.
    package private(set) var fieldCount: Int
    package private(set) var grantCount: Int

    /// The type of user records as every container has it.
    package static let userType = RecordTypeSchema(
        Names.userRecordType, fields: [.init("roles", SchemaFieldType(.int64, isList: true))],
        grants: [DefaultRole.world: .read, DefaultRole.creator: .write])

    /// The schema of a container in which nothing was saved yet: user records alone.
    package init() {
        recordTypes = [Names.userRecordType: Schema.userType]
        fieldCount = Schema.userType.fields.count
        grantCount = Schema.userType.grants.count
    }

    /// Whether it knows nothing but user records as the server makes them.
    package var isEmpty: Bool { self == Schema() }

    package mutating func put(_ type: RecordTypeSchema) {
        if let former = recordTypes.updateValue(type, forKey: type.name) {
            fieldCount -= former.fields.count
            grantCount -= former.grants.count
        }
        fieldCount += type.fields.count
        grantCount += type.grants.count
    }

    package mutating func addRole(_ role: String) { roles.insert(role) }

    /// Which limit the schema exceeds, or nil; see ``Limits``.
    package var limitProblem: String? { limitProblem(growingByTypes: 0, fields: 0, grants: 0) }

    /// Which limit the schema would exceed with so many more of each, or nil.
    func limitProblem(growingByTypes types: Int, fields: Int, grants: Int) -> String? {
        let (typeCount, fieldCount) = (recordTypes.count + types, fieldCount + fields)
        let grantCount = grantCount + grants
        if typeCount > Limits.recordTypesPerSchema {
            return "a schema would have \(typeCount) record types; the limit is \(Limits.recordTypesPerSchema)"
        }
        if fieldCount > Limits.fieldsPerSchema {
            return "a schema would have \(fieldCount) fields; the limit is \(Limits.fieldsPerSchema)"
        }
        if roles.count > Limits.rolesPerSchema {
            return "a schema would have \(roles.count) roles; the limit is \(Limits.rolesPerSchema)"
        }
        if grantCount > Limits.grantsPerSchema {
            return
                "a schema would have grants to \(grantCount) roles of its types; the limit is \(Limits.grantsPerSchema)"
        }
        return nil
    }
}
