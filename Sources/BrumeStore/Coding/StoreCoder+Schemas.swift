package import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

extension StoreCoder {
    /// Appends the body of a schema file to `bytes`. Schemas are kept in their own language: a later version reads it
    /// as well.
    package static func encodeSchemas(_ schemas: ContainerSchemas, into bytes: inout [UInt8]) {
        append(to: &bytes) { arena in
            let message = arena.make(brume__store__v1__schema_file__init)
            message.pointee.container = arena.data(schemas.container)
            let environments: [Environment] = [.development, .production]
            message.pointee.n_schemas = environments.count
            message.pointee.schemas = arena.messages(environments) { environment in
                let stage = schemas[environment]
                let message = arena.make(brume__store__v1__stored_schema__init)
                message.pointee.environment = UInt32(environment.rawValue)
                message.pointee.text = arena.data(SchemaPrinter.text(stage.schema))
                let users = stage.members.keys.sorted()
                message.pointee.n_members = users.count
                message.pointee.members = arena.messages(users) { user in
                    let message = arena.make(brume__store__v1__stored_role_member__init)
                    message.pointee.user = arena.data(user)
                    let roles = stage.members[user]!.sorted().map { Array($0.utf8) }
                    message.pointee.n_roles = roles.count
                    message.pointee.roles = arena.list(roles)
                    return message
                }
                let teachers = stage.lessons.sorted { $0.key < $1.key }
                message.pointee.n_lessons = teachers.count
                message.pointee.lessons = arena.messages(teachers) { user, taught in
                    let message = arena.make(brume__store__v1__stored_lessons__init)
                    message.pointee.user = arena.data(user)
                    message.pointee.types = UInt32(clamping: taught.types)
                    message.pointee.fields = UInt32(clamping: taught.fields)
                    return message
                }
                return message
            }
            return message
        }
    }

    package static func decodeSchemas(_ bytes: UnsafeRawBufferPointer) throws(StoreCodingError) -> ContainerSchemas {
        try unpack(brume__store__v1__schema_file__unpack, bytes, "the schema file") {
            (message) throws(StoreCodingError) in
            var schemas = ContainerSchemas(container: try text(message.pointee.container, "a container"))
            var seen = Set<Environment>()
            _ = try values(message.pointee.schemas, message.pointee.n_schemas) { (stored) throws(StoreCodingError) in
                guard let environment = UInt8(exactly: stored.pointee.environment).flatMap(Environment.init),
                    seen.insert(environment).inserted
                else { throw StoreCodingError("a schema is of no environment, or of one that had one") }
                schemas[environment] = try stage(stored)
            }
            return schemas
        }
    }

    private static func stage(
        _ stored: UnsafeMutablePointer<Brume__Store__V1__StoredSchema>
    ) throws(StoreCodingError) -> ContainerSchemas.Stage {
        let schema: Schema
        do throws(SchemaSyntaxError) {
            schema = try SchemaParser.parse(stored.pointee.text.array)
        } catch {
            throw StoreCodingError("a schema can't be read: \(error)")
        }
        let members = try values(stored.pointee.members, stored.pointee.n_members) {
            (member) throws(StoreCodingError) in
            var roles = Set<String>()
            for index in 0..<member.pointee.n_roles { roles.insert(try text(member.pointee.roles[index], "a role")) }
            return (try text(member.pointee.user, "a user"), roles)
        }
        let lessons = try values(stored.pointee.lessons, stored.pointee.n_lessons) {
            (lessons) throws(StoreCodingError) in
            (
                try text(lessons.pointee.user, "a user"),
                SchemaShare(types: Int(lessons.pointee.types), fields: Int(lessons.pointee.fields))
            )
        }
        return ContainerSchemas.Stage(
            schema: schema, members: Dictionary(members, uniquingKeysWith: { $0.union($1) }),
            lessons: Dictionary(lessons, uniquingKeysWith: { $1 }))
    }
}
