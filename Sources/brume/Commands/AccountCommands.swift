internal import BrumeModel
internal import Foundation

/// `brume account`: the accounts of a data folder, whether a server runs on it or not.
enum AccountCommands {
    private static let name = ArgumentDefinition("NAME", "the account's name: letters, digits, \"-\", \"_\" and \".\"")
    private static let options = [
        CommandOptions.data,
        OptionDefinition(
            "container", "NAME", "the container whose user record names are shown", fallback: "iCloud.brume"),
        OptionDefinition("environment", "NAME", "development or production", fallback: "development"),
        CommandOptions.json,
    ]
    private static let note = """
        Run it as the server's user, on its machine: it works through the server that runs on the folder, or on the folder \
        itself when none does.
        """

    static let definitions = [
        CommandDefinition(
            ["account", "add"], "make an account and print its token, this once", arguments: [name],
            options: [OptionDefinition("email", "ADDRESS", "by which other users find it")] + options, notes: [note],
            examples: ["brume account add alice --email alice@example.com --data ./brume-data"],
            body: .asynchronous(add)),
        CommandDefinition(
            ["account", "list"], "list the accounts", options: options, notes: [note], body: .asynchronous(list)),
        CommandDefinition(
            ["account", "remove"], "remove an account with its tokens; its data stays on disk", arguments: [name],
            options: options, notes: [note], body: .asynchronous(remove)),
        CommandDefinition(
            ["account", "token"], "make another token for an account and print it, this once", arguments: [name],
            options: [OptionDefinition("revoke", nil, "revoke all tokens that it had")] + options,
            notes: [note, "Revoked tokens' connections are closed."], body: .asynchronous(token)),
    ]

    private static func add(_ invocation: Invocation) async throws -> ExitCode {
        let (account, token) = try await Operator(invocation).add(
            name: invocation.arguments[0], email: invocation.text("email") ?? "")
        if invocation.isOn("json") {
            Terminal.print(JSONValue.object(members(of: account) + [("token", .string(token))]).line)
        } else {
            Terminal.print("account \(account.name), user \(account.userRecordName)")
            Terminal.print("token (shown this once): \(token)")
        }
        return .done
    }

    private static func list(_ invocation: Invocation) async throws -> ExitCode {
        for account in try await Operator(invocation).list() {
            if invocation.isOn("json") {
                Terminal.print(JSONValue.object(members(of: account)).line)
            } else {
                let email = account.email.isEmpty ? "-" : account.email
                let tokens = account.tokens == 1 ? "1 token" : "\(account.tokens) tokens"
                Terminal.print("\(account.name)  \(email)  \(tokens)  \(account.userRecordName)")
            }
        }
        return .done
    }

    private static func remove(_ invocation: Invocation) async throws -> ExitCode {
        try await Operator(invocation).remove(name: invocation.arguments[0])
        if !invocation.isOn("json") { Terminal.print("removed \(invocation.arguments[0]); its data stay") }
        return .done
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

    private static func members(of account: Account) -> [(key: String, value: JSONValue)] {
        let created = Date(timeIntervalSince1970: Double(account.createdMilliseconds) / 1000)
        return [
            ("name", .string(account.name)), ("email", .string(account.email)),
            ("user", .string(account.userRecordName)), ("tokens", .integer(Int64(account.tokens))),
            ("created", .string(TypedValue.text(of: created))),
        ]
    }
}
