/// Reads a schema in the language of `.ckdb` files (Documentation/CloudKit.md, Schemas).
///
/// Keywords may be written in either case. Types, fields and roles may come in any order; each name once. An option
/// that a field's type can't have, such as `QUERYABLE` on an encrypted field, is an error, so that nobody relies on an
/// index that can't exist.
package struct SchemaParser {
    private var scanner: SchemaScanner
    private var token: SchemaScanner.Token
    private var schema = Schema()
    private var seenTypes = Set<String>()
    /// The roles that are granted something, and the offsets of the grants: a role may be defined further down.
    private var grantedRoles: [(role: String, offset: Int)] = []

    /// The schema that `text` defines.
    ///
    /// It has only the record types that the text names, and the one of user records, which every container has.
    package static func parse(_ text: [UInt8]) throws(SchemaSyntaxError) -> Schema {
        guard text.count <= Limits.schemaTextBytes else {
            throw SchemaSyntaxError(
                line: 1, column: 1,
                problem: "the text has \(text.count) bytes; the limit is \(Limits.schemaTextBytes): leave comments out")
        }
        var parser = try SchemaParser(text)
        return try parser.parse()
    }

    package static func parse(_ text: String) throws(SchemaSyntaxError) -> Schema { try parse(Array(text.utf8)) }

    private init(_ text: [UInt8]) throws(SchemaSyntaxError) {
        scanner = SchemaScanner(text)
        token = try scanner.next()
    }

    private mutating func parse() throws(SchemaSyntaxError) -> Schema {
        try expect(keyword: "DEFINE", "DEFINE SCHEMA")
        try expect(keyword: "SCHEMA", "SCHEMA")
        if token.isSign(";") { try advance() }
        while token.kind != .end {
            if token.isKeyword("CREATE") {
                try role()
            } else if token.isKeyword("RECORD") {
                try recordType()
            } else {
                throw unexpected("RECORD TYPE or CREATE ROLE")
            }
            try expect(sign: ";")
        }
        for (role, offset) in grantedRoles where !DefaultRole.all.contains(role) && !schema.roles.contains(role) {
            throw scanner.error(
                "there is no role \"\(role.prefix(64))\"; make it with CREATE ROLE, or grant to _world, _icloud or _creator",
                at: offset)
        }
        return schema
    }

    // MARK: Items

    private mutating func role() throws(SchemaSyntaxError) {
        try advance()
        try expect(keyword: "ROLE", "ROLE")
        let place = token.offset
        let name = try name("a role's name")
        // The default roles exist already; naming them does no harm.
        if DefaultRole.all.contains(name) { return }
        if let problem = Names.problemWithRole(name) { throw scanner.error(problem, at: place) }
        if schema.roles.contains(name) {
            throw scanner.error("the role \"\(name)\" is made twice; leave one out", at: place)
        }
        schema.addRole(name)
        try checkLimits(at: place)
    }

    private mutating func recordType() throws(SchemaSyntaxError) {
        try advance()
        try expect(keyword: "TYPE", "TYPE")
        let place = token.offset
        let name = try name("a record type's name")
        if let problem = Names.problemWithRecordType(name) { throw scanner.error(problem, at: place) }
        guard seenTypes.insert(name).inserted else {
            throw scanner.error("the record type \"\(name)\" is defined twice; put its fields together", at: place)
        }
        var type = RecordTypeSchema(name)
        var seenSystemFields = Set<SystemField>()
        var fields: [RecordTypeSchema.Field] = []
        var seenFields = Set<String>()
        try expect(sign: "(")
        while !token.isSign(")") {
            if token.isKeyword("GRANT") {
                try grant(in: &type)
            } else {
                let place = token.offset
                let fieldName = try self.name("a field's name, GRANT or \")\"")
                if let system = SystemField(name: fieldName) {
                    guard seenSystemFields.insert(system).inserted else { throw repeatedField(fieldName, at: place) }
                    try systemField(system, in: &type)
                } else {
                    guard seenFields.insert(fieldName).inserted else { throw repeatedField(fieldName, at: place) }
                    fields.append(try field(fieldName, of: name, at: place))
                    guard fields.count <= Limits.fieldsPerSchema else {
                        throw scanner.error(
                            "a schema has more than \(Limits.fieldsPerSchema) fields, which is the limit", at: place)
                    }
                }
            }
            if token.isSign(",") {
                try advance()
                if token.isSign(")") { throw unexpected("a field or GRANT behind the comma") }
            } else if !token.isSign(")") {
                throw unexpected("\",\" or \")\"")
            }
        }
        try advance()
        type = RecordTypeSchema(name, fields: fields, grants: type.grants, systemOptions: type.systemOptions)
        schema.put(type)
        try checkLimits(at: place)
    }

    private mutating func field(
        _ name: String, of recordType: String, at place: Int
    ) throws(SchemaSyntaxError) -> RecordTypeSchema.Field {
        if name.hasPrefix("_") {
            throw scanner.error(
                "\"\(name.prefix(64))\" is no system field; those are "
                    + SystemField.allCases.map(\.name).joined(separator: ", "), at: place)
        }
        if let problem = Names.problemWithFieldKey(name, ofType: recordType) { throw scanner.error(problem, at: place) }
        let type = try fieldType()
        return RecordTypeSchema.Field(name, type, try options(of: name, applicable: type.applicableOptions, type))
    }

    private mutating func systemField(
        _ field: SystemField, in type: inout RecordTypeSchema
    ) throws(SchemaSyntaxError) {
        let place = token.offset
        let fieldType = try fieldType()
        guard fieldType == field.type else {
            throw scanner.error("\(field.name) is \(field.type.textWithArticle); it can't be another type", at: place)
        }
        type.set(try options(of: field.name, applicable: field.applicableOptions, fieldType), of: field)
    }

    private mutating func grant(in type: inout RecordTypeSchema) throws(SchemaSyntaxError) {
        var permissions: Permissions = []
        repeat {
            try advance()
            guard let known = Permissions.keywords.first(where: { token.isKeyword($0.keyword) }) else {
                throw unexpected("READ, CREATE or WRITE")
            }
            permissions.insert(known.permission)
            try advance()
        } while token.isSign(",")
        try expect(keyword: "TO", "TO, or a comma and another permission")
        let place = token.offset
        let role = try name("a role's name")
        grantedRoles.append((role, place))
        type.set(permissions.union(type.grants[role] ?? []), of: role)
        guard type.grants.count <= Limits.grantsPerSchema else {
            throw scanner.error("a schema has grants to more than \(Limits.grantsPerSchema) roles", at: place)
        }
    }

    // MARK: Types and options

    private mutating func fieldType() throws(SchemaSyntaxError) -> SchemaFieldType {
        guard token.isKeyword("LIST") else { return try elementType(isList: false) }
        try advance()
        try expect(sign: "<")
        let type = try elementType(isList: true)
        try expect(sign: ">")
        return type
    }

    private mutating func elementType(isList: Bool) throws(SchemaSyntaxError) -> SchemaFieldType {
        let isEncrypted = token.isKeyword("ENCRYPTED")
        if isEncrypted { try advance() }
        let known = SchemaFieldType.Element.allCases.first { token.isKeyword($0.keyword) }
        guard let element = known, !isEncrypted || element.mayBeEncrypted else {
            let choices = SchemaFieldType.Element.allCases.filter { !isEncrypted || $0.mayBeEncrypted }.map(\.keyword)
            throw unexpected(
                "a type: " + choices.joined(separator: ", ")
                    + (isEncrypted ? "" : isList ? " or ENCRYPTED and a type" : ", LIST<type> or ENCRYPTED and a type"))
        }
        try advance()
        var preference: SchemaFieldType.Preference?
        if element == .number, !isList, token.isKeyword("PREFERRED") {
            try advance()
            try expect(keyword: "AS", "AS")
            guard token.isKeyword("INT64") || token.isKeyword("DOUBLE") else { throw unexpected("INT64 or DOUBLE") }
            preference = token.isKeyword("INT64") ? .int64 : .double
            try advance()
        }
        return SchemaFieldType(element, isList: isList, isEncrypted: isEncrypted, preference: preference)
    }

    private mutating func options(
        of name: String, applicable: IndexOptions, _ type: SchemaFieldType
    ) throws(SchemaSyntaxError) -> IndexOptions {
        var options: IndexOptions = []
        while let known = IndexOptions.keywords.first(where: { token.isKeyword($0.keyword) }) {
            guard applicable.contains(known.option) else {
                let rule = applicable.isEmpty ? "it can have no index" : "it can be \(applicable.text)"
                throw scanner.error(
                    "\"\(name)\" is \(type.textWithArticle) and can't be \(known.keyword); \(rule)", at: token.offset)
            }
            options.insert(known.option)
            try advance()
        }
        return options
    }

    // MARK: Tokens

    private mutating func name(_ what: String) throws(SchemaSyntaxError) -> String {
        guard case .word(let isQuoted) = token.kind else { throw unexpected(what) }
        let name = token.text
        if !isQuoted, SchemaPrinter.isReserved(name) {
            throw scanner.error("\(name) is a reserved word; write \"\(name)\" where it is a name", at: token.offset)
        }
        try advance()
        return name
    }

    private mutating func expect(keyword: String, _ what: String) throws(SchemaSyntaxError) {
        guard token.isKeyword(keyword) else { throw unexpected(what) }
        try advance()
    }

    private mutating func expect(sign: String) throws(SchemaSyntaxError) {
        guard token.isSign(sign) else { throw unexpected("\"\(sign)\"") }
        try advance()
    }

    private mutating func advance() throws(SchemaSyntaxError) { token = try scanner.next() }

    private func unexpected(_ expected: String) -> SchemaSyntaxError {
        scanner.error("expected \(expected); found \(token.found)", at: token.offset)
    }

    private func repeatedField(_ name: String, at offset: Int) -> SchemaSyntaxError {
        scanner.error("the field \"\(name.prefix(64))\" stands twice in its record type; leave one out", at: offset)
    }

    private func checkLimits(at offset: Int) throws(SchemaSyntaxError) {
        if let problem = schema.limitProblem { throw scanner.error(problem, at: offset) }
    }
}
