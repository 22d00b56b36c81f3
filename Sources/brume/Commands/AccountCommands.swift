internal import BrumeModel
internal import Foundation

/// `brume account`: the accounts of a data folder, whether a server runs on it or not.
enum AccountCommands {
    private static let name = ArgumentDefinition("NAME", "the account's name: letters, digits, \"-\", \"_\" and \".\"")
    private static let options =
        [
            OptionDefinition(
                "container", "NAME", "the container whose user record names are shown", fallback: "iCloud.brume"),
            OptionDefinition("environment", "NAME", "development or production", fallback: "development"),
            CommandOptions.json,
        ] + CommandOptions.operators
    private static let note = CommandOptions.operatorNote

    static let definitions = [
        CommandDefinition(
            ["account", "add"], "make an account and print its token, this once", arguments: [name],
            options: [
                OptionDefinition("email", "ADDRESS", "by which other users find it"),
                OptionDefinition("phone", "NUMBER", "by which other users find it, such as \"+49 30 1234567\""),
                OptionDefinition(
                    "quota", "SIZE", "a quota of its own, such as 10GiB; 0: no limit; counts in the command line only"),
            ] + options, notes: [note],
            examples: [
                "brume account add alice --email alice@example.com --data ./brume-data",
                "brume account add bob --quota 10GiB",
            ],
            body: .asynchronous(add)),
        CommandDefinition(
            ["account", "list"], "list the accounts", options: options, notes: [note], body: .asynchronous(list)),
        CommandDefinition(
            ["account", "show"], "show one account, with its quota and what is used of it", arguments: [name],
            options: options, notes: [note], body: .asynchronous(show)),
        CommandDefinition(
            ["account", "handles"], "show or change by what other users find an account", arguments: [name],
            options: [
                OptionDefinition("email", "ADDRESS", "its e-mail address from now on"),
                OptionDefinition("phone", "NUMBER", "its phone number from now on, such as \"+49 30 1234567\""),
                OptionDefinition("no-email", nil, "it has no e-mail address any more"),
                OptionDefinition("no-phone", nil, "it has no phone number any more"),
            ] + options,
            notes: [
                note,
                """
                An address belongs to one account of the server, in whatever case it is written, and so does a number: \
                one that another account has is refused. Nothing is sent to either.
                """,
            ],
            examples: [
                "brume account handles alice --email alice@example.com --data ./brume-data",
                "brume account handles alice --no-phone",
            ],
            body: .asynchronous(handles)),
        CommandDefinition(
            ["account", "remove"], "remove an account with its tokens and, if you say so, its private data",
            arguments: [name],
            options: [
                OptionDefinition(
                    "with-data", nil, "delete what is in its private databases, in all containers and environments"),
                CommandOptions.yes,
            ] + options,
            notes: [
                """
                It asks before, or takes --yes: a removal can't be undone. Without --with-data its private data stays \
                on disk and goes on taking room, and nobody can read or delete it any more but those who take part in \
                its shares: for them its zones stay as they are, and whoever has the URL of a share with a public \
                permission may still come. In the shares of others it keeps its place until their owners remove it. An \
                account that is made later under the same name is another one.
                """,
                """
                With --with-data, which needs the running server, its tokens are revoked, it leaves the shares of \
                others, all records, zones and subscriptions of its private databases are deleted, and then the \
                account. Those who took part in its shares are told that its zones are gone. What it saved in public \
                databases and in zones of others stays, as do backups, and of the private ones a user record without \
                fields and the names of deleted zones. The disk has the room back when the server has written its next \
                snapshots (brume snapshot). If it fails midway, the account is still there: run it again.
                """, note,
            ],
            examples: ["brume account remove alice --with-data --data ./brume-data"], body: .asynchronous(remove)),
        CommandDefinition(
            ["account", "token"], "make another token for an account and print it, this once", arguments: [name],
            options: [OptionDefinition("revoke", nil, "revoke all tokens that it had")] + options,
            notes: [note, "Revoked tokens' connections are closed."], body: .asynchronous(token)),
        CommandDefinition(
            ["account", "quota"], "show or change what the records of an account's private databases may take",
            arguments: [
                name,
                ArgumentDefinition(
                    "SIZE", "such as 512MiB or 10GiB; 0: no limit; without it the quota is only shown", isOptional: true
                ),
            ],
            options: [OptionDefinition("default", nil, "the server's --quota again")] + options,
            notes: [
                note,
                """
                The limit is for all private databases of the account together, in every container and environment. \
                What is used is known to a server that runs. A change holds at once, also for connections that are \
                open.
                """,
            ],
            examples: ["brume account quota alice 10GiB --data ./brume-data", "brume account quota alice --default"],
            body: .asynchronous(quota)),
    ]

    private static func add(_ invocation: Invocation) async throws -> ExitCode {
        try CommandOptions.checkAccountName(invocation.arguments[0], invocation)
        let change = try handleChange(invocation)
        // A variable, or a file for several commands, means the quota of a server.
        let quota = invocation.flags.contains("quota") ? try invocation.byteSize("quota") : nil
        let access = try Operator(invocation, makesFolder: true)
        let (account, token) = try await access.add(
            name: invocation.arguments[0], email: change.email ?? "", phone: change.phone ?? "")
        if invocation.isOn("json") {
            Terminal.print(JSONValue.object(members(of: account) + [("token", .string(token))]).line)
        } else {
            Terminal.print("account \(account.name), user \(account.userRecordName)")
            Terminal.print("token (shown this once): \(token)")
        }
        // The token is out by now: it would be lost if this failed.
        if let quota { _ = try await access.quota(ofAccount: account.name, change: .bytes(quota)) }
        return .done
    }

    /// What `--email`, `--phone` and their opposites say, once it is known to be right.
    ///
    /// A variable, or a file for several commands, means no account of its own.
    private static func handleChange(_ invocation: Invocation) throws -> HandleChange {
        func text(_ option: String) -> String? { invocation.flags.contains(option) ? invocation.text(option) : nil }
        let change = HandleChange(email: text("email"), phone: text("phone"))
        for (option, text, isHandle, form) in [
            ("email", change.email, change.email.flatMap(Handle.init(email:)) != nil, Handle.emailForm),
            ("phone", change.phone, change.phone.flatMap(Handle.init(phone:)) != nil, Handle.phoneForm),
        ] {
            if let text, !isHandle { throw UsageError("--\(option) \"\(text)\": \(form)", command: invocation.command) }
        }
        return change
    }

    private static func handles(_ invocation: Invocation) async throws -> ExitCode {
        var change = try handleChange(invocation)
        for (option, keyPath) in [("email", \HandleChange.email), ("phone", \HandleChange.phone)]
        where invocation.flags.contains("no-\(option)") {
            guard change[keyPath: keyPath] == nil else {
                throw UsageError("give --\(option) or --no-\(option), not both", command: invocation.command)
            }
            change[keyPath: keyPath] = ""
        }
        let account = try await Operator(invocation).handles(ofAccount: invocation.arguments[0], change: change)
        if invocation.isOn("json") {
            Terminal.print(JSONValue.object(members(of: account)).line)
        } else {
            Terminal.print("\(account.name): \(handles(of: account) ?? "no e-mail address, no phone number")")
        }
        return .done
    }

    /// By what others find an account; nil if there is nothing.
    private static func handles(of account: Account) -> String? {
        let handles = [account.email, account.phone].filter { !$0.isEmpty }
        return handles.isEmpty ? nil : handles.joined(separator: ", ")
    }

    private static func show(_ invocation: Invocation) async throws -> ExitCode {
        let name = invocation.arguments[0]
        let access = try Operator(invocation)
        let account = try await account(named: name, access)
        let quota = try await access.quota(ofAccount: name, change: nil)
        if invocation.isOn("json") {
            Terminal.print(JSONValue.object(members(of: account) + [("quota", json(quota, access))]).line)
            return .done
        }
        Terminal.print(
            """
            name:    \(account.name)
            email:   \(account.email.isEmpty ? "-" : account.email)
            phone:   \(account.phone.isEmpty ? "-" : account.phone)
            user:    \(account.userRecordName)
            created: \(created(account))
            tokens:  \(account.tokens)
            quota:   \(text(quota, access))
            """)
        return .done
    }

    private static func account(named name: String, _ access: Operator) async throws -> Account {
        let accounts = try await access.list()
        if let account = accounts.first(where: { $0.name == name }) { return account }
        throw CommandError(
            .notFound, "there is no account named \(name)",
            hint: NearestName.find(name, among: accounts.map(\.name)).map { "did you mean \($0)?" }
                ?? "brume account list shows their names")
    }

    private static func list(_ invocation: Invocation) async throws -> ExitCode {
        let accounts = try await Operator(invocation).list()
        if accounts.isEmpty, !invocation.isOn("json") {
            Terminal.print("there is none yet: brume account add NAME makes one")
        }
        for account in accounts {
            if invocation.isOn("json") {
                Terminal.print(JSONValue.object(members(of: account)).line)
            } else {
                let tokens = account.tokens == 1 ? "1 token" : "\(account.tokens) tokens"
                Terminal.print("\(account.name)  \(handles(of: account) ?? "-")  \(tokens)  \(account.userRecordName)")
            }
        }
        return .done
    }

    private static func remove(_ invocation: Invocation) async throws -> ExitCode {
        let name = invocation.arguments[0]
        let deletesData = invocation.isOn("with-data")
        let access = try Operator(invocation)
        _ = try await account(named: name, access)
        if deletesData { try access.requireServer() }
        let usedBytes = try await access.quota(ofAccount: name, change: nil).usedBytes
        let keepsData = !deletesData && usedBytes != 0
        guard try CommandOptions.isConfirmed(removal(of: name, deletesData, keepsData), invocation) else {
            throw CommandError(.failed, "nothing was removed")
        }
        let emptied = try await access.remove(name: name, deletesData: deletesData)
        if invocation.isOn("json") {
            Terminal.print(
                JSONValue.object([
                    ("name", .string(name)), ("dataDeleted", .bool(deletesData)),
                    ("databases", .integer(Int64(emptied.databases))), ("records", .integer(Int64(emptied.records))),
                ]).line)
        } else if deletesData {
            Terminal.print(
                "removed \(name); deleted: \(CountText.text(emptied.records, "record")) in "
                    + CountText.text(emptied.databases, "database"))
        } else {
            Terminal.print(
                keepsData
                    ? "removed \(name). Its private data stays on disk, where nobody can read or delete it any more but"
                        + " those who take part in its shares"
                    : "removed \(name), which had no private data")
        }
        return .done
    }

    /// The question before a removal, with what it costs.
    private static func removal(of name: String, _ deletesData: Bool, _ keepsData: Bool) -> String {
        if deletesData { return "remove \(name) and delete all of its private data?" }
        if !keepsData { return "remove \(name)?" }
        return """
            remove \(name) and leave its private data on disk, where nobody can read or delete it any more but those \
            who take part in its shares (--with-data deletes it, and ends its shares)?
            """
    }

    private static func token(_ invocation: Invocation) async throws -> ExitCode {
        let access = try Operator(invocation)
        let name = invocation.arguments[0]
        let revoked = invocation.isOn("revoke") ? try await access.revokeTokens(name: name) : 0
        let token = try await access.createToken(name: name)
        if invocation.isOn("json") {
            Terminal.print(
                JSONValue.object([
                    ("name", .string(name)), ("token", .string(token)), ("revoked", .integer(Int64(revoked))),
                ]).line)
        } else {
            if invocation.isOn("revoke") { Terminal.print("revoked: \(revoked)") }
            Terminal.print("token (shown this once): \(token)")
        }
        return .done
    }

    private static func quota(_ invocation: Invocation) async throws -> ExitCode {
        let name = invocation.arguments[0]
        var change: QuotaChange?
        if invocation.arguments.count > 1 {
            guard !invocation.isOn("default") else {
                throw UsageError("give a size or --default, not both", command: invocation.command)
            }
            guard let size = ByteSize(invocation.arguments[1]) else {
                throw UsageError(
                    "SIZE is \(ByteSize.form), or 0 for no limit, not \"\(invocation.arguments[1])\"",
                    command: invocation.command)
            }
            change = .bytes(size.bytes)
        } else if invocation.isOn("default") {
            change = .serverDefault
        }
        let access = try Operator(invocation)
        let quota = try await access.quota(ofAccount: name, change: change)
        if invocation.isOn("json") {
            guard case .object(let members) = json(quota, access) else { preconditionFailure("a quota is an object") }
            Terminal.print(JSONValue.object([("name", .string(name))] + members).line)
        } else {
            Terminal.print("\(name): \(text(quota, access))")
        }
        return .done
    }

    /// Whether the limit is known: a stopped server may be started with any default.
    private static func isLimitKnown(_ quota: AccountQuota, _ access: Operator) -> Bool {
        if case .stopped = access { !quota.isDefault } else { true }
    }

    private static func json(_ quota: AccountQuota, _ access: Operator) -> JSONValue {
        .object([
            ("limit", isLimitKnown(quota, access) ? .integer(Int64(quota.limitBytes)) : .null),
            ("default", .bool(quota.isDefault)), ("used", quota.usedBytes.map { .integer(Int64($0)) } ?? .null),
        ])
    }

    private static func text(_ quota: AccountQuota, _ access: Operator) -> String {
        let limit = quota.limitBytes == 0 ? "no limit" : ByteSize(bytes: quota.limitBytes).figures
        let used =
            quota.usedBytes.map { "\(CountText.grouped($0)) bytes used" } ?? "start the server to see what is used"
        let isKnown = isLimitKnown(quota, access)
        return
            "\(isKnown ? limit : "the server's --quota")\(quota.isDefault && isKnown ? " (the server's default)" : "")"
            + " for all private databases; \(used)"
    }

    private static func created(_ account: Account) -> String {
        TypedValue.text(of: Date(timeIntervalSince1970: Double(account.createdMilliseconds) / 1000))
    }

    private static func members(of account: Account) -> [(key: String, value: JSONValue)] {
        [
            ("name", .string(account.name)), ("email", .string(account.email)),
            ("phone", .string(account.phone)), ("user", .string(account.userRecordName)),
            ("tokens", .integer(Int64(account.tokens))),
            ("created", .string(created(account))),
        ]
    }
}

extension CommandOptions {
    /// Checks the name of an account that is to be made, before anything else is.
    static func checkAccountName(_ name: String, _ invocation: Invocation) throws(UsageError) {
        guard let problem = Names.problemWithAccountName(name) else { return }
        throw UsageError("\(problem), such as alice or load-1; not \"\(name)\"", command: invocation.command)
    }
}
