internal import BrumeModel
internal import BrumeServer
internal import BrumeSystem
internal import Foundation

/// `brume schema`: the schemas of a container, whether a server runs on the data folder or not.
enum SchemaCommands {
    private static let container = OptionDefinition(
        "container", "NAME", "the container", fallback: "iCloud.brume")
    private static let environment = OptionDefinition(
        "environment", "NAME", "development or production", fallback: "development")
    private static let file = OptionDefinition("file", "FILE", "the schema file; - is the standard input")
    private static let target = OptionDefinition(
        "file", "FILE", "the file to write (default: -, the standard output)")
    private static let against = OptionDefinition(
        "against", "FILE", "another schema file, instead of the data folder's schema")
    private static let yes = CommandOptions.yes
    private static let note = CommandOptions.operatorNote
    private static let containerNote = """
        The container has to exist: it has a schema or data, or brume serve --container names it. A container begins with the first \
        save in development, or with brume schema import, the first step of a new project. brume containers list shows them.
        """
    private static let limits = """
        \(Limits.recordTypesPerSchema) record types, \(Limits.fieldsPerSchema) fields and \(Limits.rolesPerSchema) roles
        """
    private static let languageNote = """
        Schema files are in CloudKit's schema language (.ckdb): what `xcrun cktool export-schema` writes can be imported, and \
        the other way round.
        """

    static let definitions = [
        CommandDefinition(
            ["schema", "export"], "print a schema, or write it to a file",
            options: [container, environment, target, CommandOptions.json] + CommandOptions.operators,
            notes: [languageNote, containerNote, note],
            examples: ["brume schema export --container iCloud.com.example.app --file schema.ckdb"],
            body: .asynchronous(export)),
        CommandDefinition(
            ["schema", "validate"], "check a schema file, and that production would lose nothing by it",
            options: [file, against, container, CommandOptions.json] + CommandOptions.operators,
            notes: [
                """
                It is checked against production's schema of the data folder or, with --against, against another file; when \
                there is neither, for its language alone.
                """
            ],
            examples: ["brume schema validate --file schema.ckdb --against production.ckdb"],
            body: .asynchronous(validate)),
        CommandDefinition(
            ["schema", "diff"], "show what tells two schemas apart",
            options: [file, against, container, environment, CommandOptions.json] + CommandOptions.operators,
            notes: [
                """
                Without a file: from production to development, which is what a deployment is about. With --file: from the \
                schema of the environment, or the file of --against, to that file. It ends with 0 when they are the same, and \
                with 1 when they differ.
                """, containerNote, note,
            ],
            examples: ["brume schema diff", "brume schema diff --file schema.ckdb --environment production"],
            body: .asynchronous(diff)),
        CommandDefinition(
            ["schema", "import"], "replace the schema of development by a file's",
            options: [file, container, CommandOptions.json] + CommandOptions.operators,
            notes: [
                """
                It is refused, and nothing changes, when the file lacks what production's schema has. Records stay. A running server \
                takes schemas of up to 2 MB, comments not counted; a stopped one's folder any that its limits allow: \(limits).
                """,
                "A container that does not exist yet begins with it, and the command says so: look for a mistyped name.",
                languageNote, note,
            ],
            examples: ["brume schema import --file schema.ckdb"], body: .asynchronous(importFile)),
        CommandDefinition(
            ["schema", "deploy"], "add the schema of development to production's",
            options: [yes, container, CommandOptions.json] + CommandOptions.operators,
            notes: [
                """
                Record types, fields and roles are added and never go; indexes and grants of the types that development has \
                become those of development. It shows what changes, and asks.
                """, containerNote, note,
            ],
            examples: ["brume schema deploy --container iCloud.com.example.app --yes"], body: .asynchronous(deploy)),
        CommandDefinition(
            ["schema", "reset"], "empty development: all of its data goes, and its schema becomes production's",
            options: [yes, container, CommandOptions.json] + CommandOptions.operators,
            notes: [
                """
                All zones and records of all users in the container's development environment are deleted; production is not \
                touched. Accounts, what their devices say of their keys, and subscriptions to databases stay. \
                It needs the running server, which goes on meanwhile: what is \
                saved while it runs stays, and teaches the schema anew.
                """, containerNote,
            ],
            examples: ["brume schema reset --container iCloud.com.example.app"], body: .asynchronous(reset)),
        CommandDefinition(
            ["schema", "role"], "put an account into a security role of the schema, or take it out",
            arguments: [
                ArgumentDefinition("ROLE", "a role that the schema makes with CREATE ROLE"),
                ArgumentDefinition("ACCOUNT", "the account's name"),
            ],
            options: [
                OptionDefinition("remove", nil, "take it out"), container, environment, CommandOptions.json,
            ] + CommandOptions.operators,
            notes: ["It takes effect at once, on open connections too.", note],
            examples: ["brume schema role Editor alice --environment production"], body: .asynchronous(role)),
        CommandDefinition(
            ["schema", "members"], "list the accounts that are in security roles",
            options: [container, environment, CommandOptions.json] + CommandOptions.operators, notes: [note],
            body: .asynchronous(members)),
    ]

    // MARK: Commands

    private static func export(_ invocation: Invocation) async throws -> ExitCode {
        let environment = try CommandOptions.environment(invocation)
        let access = try SchemaOperator(invocation)
        try await access.checkContainer()
        let schema = try await access.schema(of: environment).schema
        let text = SchemaPrinter.text(schema)
        if let path = invocation.text("file"), path != "-" {
            do throws(SystemError) {
                try FileSystem.atomicReplace(path, Array(text.utf8), permissions: 0o644)
            } catch {
                throw CommandError(writing: path, error)
            }
            if !invocation.isOn("json") { Terminal.print("wrote \(path): \(summary(of: schema))") }
        } else if !invocation.isOn("json") {
            Terminal.write(text)
        }
        if invocation.isOn("json") {
            Terminal.print(
                JSONValue.object([
                    ("container", .string(try invocation.required("container"))),
                    ("environment", .string(environment.name)),
                    ("recordTypes", .integer(Int64(typeCount(of: schema)))), ("schema", .string(text)),
                ]).line)
        }
        return .done
    }

    private static func validate(_ invocation: Invocation) async throws -> ExitCode {
        let path = try invocation.required("file")
        let schema = try SchemaText.read(path)
        var what = "its language"
        var problems: [String] = []
        if let other = invocation.text("against") {
            what = other
            problems = schema.problems(following: try SchemaText.read(other))
        } else if try invocation.text("server") != nil || mayHold(invocation.required("data")) {
            what = "production"
            let production = try await SchemaOperator(invocation).schema(of: .production).schema
            problems = schema.problems(following: production)
        }
        if invocation.isOn("json") {
            Terminal.print(
                JSONValue.object([
                    ("valid", .bool(problems.isEmpty)), ("checkedAgainst", .string(what)),
                    ("problems", .array(problems.map { .string($0) })),
                ]).line)
        } else {
            for problem in problems { Terminal.print(problem) }
            if problems.isEmpty { Terminal.print("\(path) is valid (\(what)): \(summary(of: schema))") }
        }
        return problems.isEmpty ? .done : .failed
    }

    /// Whether a schema is to be looked for in a folder: not in one that is still to be made.
    private static func mayHold(_ folder: String) throws -> Bool {
        switch try DataFolder.content(of: folder) {
        case .missing, .empty: false
        case .data, .foreign: true
        }
    }

    private static func diff(_ invocation: Invocation) async throws -> ExitCode {
        let old: Schema
        let new: Schema
        if let path = invocation.text("file") {
            new = try SchemaText.read(path)
            if let other = invocation.text("against") {
                old = try SchemaText.read(other)
            } else {
                let environment = try CommandOptions.environment(invocation)
                let access = try SchemaOperator(invocation)
                try await access.checkContainer()
                old = try await access.schema(of: environment).schema
            }
        } else {
            let access = try SchemaOperator(invocation)
            try await access.checkContainer()
            old = try await access.schema(of: .production).schema
            new = try await access.schema(of: .development).schema
        }
        let difference = SchemaDifference(from: old, to: new)
        show(difference, invocation, same: "the schemas are the same")
        return difference.isEmpty ? .done : .failed
    }

    private static func importFile(_ invocation: Invocation) async throws -> ExitCode {
        let schema = try SchemaText.read(try invocation.required("file"))
        let access = try SchemaOperator(invocation, begins: true)
        if let known = try await access.containers(), !known.contains(try invocation.required("container")) {
            Terminal.printError("brume: \(try invocation.required("container")) is a new container")
        }
        let former = try await access.schema(of: .development).schema
        try await access.importSchema(schema, validatesOnly: false)
        let difference = SchemaDifference(from: former, to: schema)
        show(difference, invocation, same: "development had this schema already")
        if !difference.isEmpty, !invocation.isOn("json") { Terminal.print("imported to development") }
        return .done
    }

    private static func deploy(_ invocation: Invocation) async throws -> ExitCode {
        let access = try SchemaOperator(invocation)
        try await access.checkContainer()
        let (development, fingerprint) = try await access.schema(of: .development)
        let production = try await access.schema(of: .production).schema
        let deployed = try production.deploying(development)
        let difference = SchemaDifference(from: production, to: deployed)
        show(difference, invocation, same: "production has all of development's schema already")
        if difference.isEmpty { return .done }
        guard try CommandOptions.isConfirmed("deploy this to production? It can't be taken back", invocation) else {
            throw CommandError(.failed, "nothing was deployed")
        }
        try await access.deploy(fingerprint: fingerprint)
        if !invocation.isOn("json") { Terminal.print("deployed to production") }
        return .done
    }

    private static func reset(_ invocation: Invocation) async throws -> ExitCode {
        let access = try SchemaOperator(invocation)
        let name = try invocation.required("container")
        try await access.checkContainer()
        guard try CommandOptions.isConfirmed("delete all data of all users in development of \(name)?", invocation)
        else {
            throw CommandError(.failed, "nothing was reset")
        }
        let summary = try await access.reset()
        if invocation.isOn("json") {
            Terminal.print(
                JSONValue.object([
                    ("databases", .integer(Int64(summary.databases))), ("records", .integer(Int64(summary.records))),
                ]).line)
        } else {
            Terminal.print(
                "development has production's schema; deleted: "
                    + "\(CountText.text(summary.records, "record")) in \(CountText.text(summary.databases, "database"))"
            )
        }
        return .done
    }

    private static func role(_ invocation: Invocation) async throws -> ExitCode {
        let (role, account) = (invocation.arguments[0], invocation.arguments[1])
        let isMember = !invocation.isOn("remove")
        let access = try SchemaOperator(invocation)
        try await access.checkContainer()
        try await access.setRoleMember(
            role: role, account: account, isMember: isMember, try CommandOptions.environment(invocation))
        if invocation.isOn("json") {
            Terminal.print(
                JSONValue.object([("role", .string(role)), ("account", .string(account)), ("member", .bool(isMember))])
                    .line)
        } else {
            Terminal.print(isMember ? "\(account) is in \(role)" : "\(account) is not in \(role)")
        }
        return .done
    }

    private static func members(_ invocation: Invocation) async throws -> ExitCode {
        let access = try SchemaOperator(invocation)
        try await access.checkContainer()
        let members = try await access.roleMembers(try CommandOptions.environment(invocation))
        if members.isEmpty, !invocation.isOn("json") { Terminal.print("no account is in a role") }
        for member in members {
            if invocation.isOn("json") {
                Terminal.print(
                    JSONValue.object([
                        ("account", .string(member.account)), ("user", .string(member.userRecordName)),
                        ("roles", .array(member.roles.map { .string($0) })),
                    ]).line)
            } else {
                let account = member.account.isEmpty ? "(removed)" : member.account
                Terminal.print("\(account)  \(member.userRecordName)  \(member.roles.joined(separator: ", "))")
            }
        }
        return .done
    }

    // MARK: Output

    private static func summary(of schema: Schema) -> String {
        let fields = schema.fieldCount - Schema.userType.fields.count
        return "\(CountText.text(typeCount(of: schema), "record type")), \(CountText.text(fields, "field"))"
    }

    /// Without the type of user records, which every schema has: as `brume containers` counts.
    private static func typeCount(of schema: Schema) -> Int { schema.recordTypes.count - 1 }

    private static func show(_ difference: SchemaDifference, _ invocation: Invocation, same: String) {
        if invocation.isOn("json") {
            let changes = difference.changes.map { change in
                JSONValue.object([
                    ("change", .string(change.kind.rawValue)), ("subject", .string(change.subject)),
                    ("detail", .string(change.detail)),
                ])
            }
            Terminal.print(JSONValue.object([("changes", .array(changes))]).line)
        } else if difference.isEmpty {
            Terminal.print(same)
        } else {
            for change in difference.changes { Terminal.print(change.line) }
        }
    }
}
