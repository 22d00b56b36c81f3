internal import BrumeModel
internal import BrumeServer
internal import BrumeService
internal import BrumeSystem
internal import Foundation

/// `brume dev`: a server for tests and local development, which makes its certificate and accounts itself.
enum DevCommand {
    static let definition = CommandDefinition(
        ["dev"], "run a server for development and tests, ready to use",
        options: [
            OptionDefinition(
                "data", "DIR", "the data folder (default: a temporary one, removed at the end)",
                variable: "BRUME_DEV_DATA"),
            OptionDefinition("accounts", "NAME", "accounts to make", fallback: "a,b", repeats: true),
            OptionDefinition(
                "port", "PORT",
                "the port on 127.0.0.1; 0: any that is free (default: with --data its last one, if that is free)"),
            OptionDefinition("container", "NAME", "the container for the printed settings", fallback: "iCloud.brume"),
            OptionDefinition("environment", "NAME", "development or production", fallback: "development"),
            OptionDefinition(
                "schema", "FILE",
                "the container's schema, in both environments: with --environment production the rules that an app meets"
            ),
            OptionDefinition("ready-file", "FILE", "written, whole, once it serves: address, CA and accounts as JSON"),
            OptionDefinition("loops", "N", "event loops", fallback: "1"),
            OptionDefinition("log-level", "LEVEL", "debug, info, warning or error", fallback: "warning"),
            CommandOptions.metricsListen,
            CommandOptions.strict,
            CommandOptions.withParent,
        ] + CommandOptions.quotas(fallback: (0, 0)),
        notes: [
            """
            The ready file holds {"server":"127.0.0.1:PORT","ca":"PATH","accounts":{"a":{"token":"…","email":"a@example.com",\
            "user":"_…"}}}. A data folder can be used again: the accounts in it are given a new token each time. The container \
            is not restricted: any name is served.
            """,
            """
            Devices keep the keys of what is encrypted apart for each server, by the address that they are given: a data folder \
            is served on the port that it had last, unless another process has it by now.
            """, CommandOptions.strictNote,
        ],
        examples: [
            "brume dev", "brume dev --schema schema.ckdb --environment production",
            "brume dev --data ./dev --accounts alice,bob --ready-file ready.json",
        ],
        body: .blocking(run))

    /// The size of a journal segment. A new segment is written in full before the server is ready: one of this size
    /// holds the largest request and takes a quarter of the default's time.
    private static let journalSegmentBytes = 4 * 1024 * 1024

    private struct DevAccount {
        let name: String
        let email: String
        let token: String
        let user: String
    }

    private static func run(_ invocation: Invocation) throws -> ExitCode {
        let started = MonotonicClock.nowNanoseconds
        let wantedPort = try invocation.integer("port", in: 0...65_535)
        let environment = try CommandOptions.environment(invocation)
        let container = try CommandOptions.containerName(invocation)
        for name in invocation.texts("accounts") { try CommandOptions.checkAccountName(name, invocation) }
        let schema = try invocation.text("schema").map { try SchemaText.read($0) }
        if let folder = invocation.text("data") { try DataFolder.requireOwn(folder) }
        Descriptors.raiseLimit()
        StopSignals.block()
        let folder = try invocation.text("data") ?? TemporaryFolder(forCommand: "brume-dev").path
        let certificates = Certificates(folder: absolute(folder) + "/dev-certificates")
        if !certificates.hasServerCertificate { try certificates.issue(names: Certificates.localNames) }
        var configuration = ServerConfiguration(
            dataFolder: folder, certificatePath: certificates.certificatePath, keyPath: certificates.keyPath)
        let portFile = DevPortFile(folder: certificates.folder)
        configuration.port = wantedPort.map { UInt16($0) } ?? portFile.freePort ?? 0
        configuration.caPath = certificates.caPath
        configuration.journalSegmentBytes = journalSegmentBytes
        configuration.loopCount = try invocation.integer("loops", in: 1...256) ?? 1
        configuration.metricsAddress = try CommandOptions.metricsAddress(invocation)
        try CommandOptions.setQuotas(&configuration, invocation)
        // In local development all accounts belong to the developer.
        configuration.teacherShare = .whole
        configuration.containersPerAccount = .max
        configuration.followsCloudKitQueryRules = invocation.isOn("strict")
        configuration.log = try CommandOptions.log(invocation)
        let accounts = try makeAccounts(
            invocation.texts("accounts"), folder: folder, container: container, environment: environment)
        if let schema { try install(schema, folder: folder, container: container) }
        let server = try Server(configuration)
        try ServerRunner.run(server, withParent: invocation.isOn("with-parent")) {
            portFile.write(server.port)
            if let path = invocation.text("ready-file") {
                try writeReadyFile(path, server: server, certificates: certificates, accounts: accounts)
            }
            let milliseconds = (MonotonicClock.nowNanoseconds - started) / 1_000_000
            let isTemporary = invocation.text("data") == nil
            let metrics = server.metricsPort == 0 ? [] : ["figures: http://\(server.metricsAddress)/metrics"]
            var lines = [
                "brume dev serves on \(server.address) (ready in \(milliseconds) ms)",
                "data: \(folder)\(isTemporary ? " (removed at the end)" : ""); Ctrl-C stops it",
            ]
            lines += metrics
            lines += [
                "", "export BRUME_SERVER=\(server.address)", "export BRUME_CA=\(quoted(certificates.caPath))",
                "export BRUME_DATA=\(quoted(absolute(folder)))",
                "export BRUME_CONTAINER=\(container)", "export BRUME_ENVIRONMENT=\(environment.name)",
            ]
            for (index, account) in accounts.enumerated() {
                let comment = index == 0 ? "" : "# "
                lines.append("\(comment)export BRUME_TOKEN=\(account.token)  # \(account.name), user \(account.user)")
            }
            Terminal.print(lines.joined(separator: "\n"))
        }
        if invocation.text("data") == nil { TemporaryFolder.removeAll() }
        return .done
    }

    /// Installs a schema in production. A folder that is used again keeps what production has: a schema that lacks any
    /// of it is refused.
    private static func install(_ schema: Schema, folder: String, container: String) throws {
        let schemas = try FolderSchemas(dataFolder: folder, container: container, environment: .production)
        defer { schemas.release() }
        try schemas.install(schema)
    }

    /// Returns the accounts, and makes those that do not exist. Tokens are shown only when they are made, so an
    /// existing account gets a new one, and its earlier ones are revoked.
    private static func makeAccounts(
        _ names: [String], folder: String, container: String, environment: BrumeModel.Environment
    ) throws -> [DevAccount] {
        let accounts = try FolderAccounts(dataFolder: folder, container: container, environment: environment)
        defer { accounts.release() }
        let known = Dictionary(uniqueKeysWithValues: try accounts.list().map { ($0.name, $0) })
        return try names.map { name in
            if let account = known[name] {
                _ = try accounts.revokeTokens(name: name)
                let token = try accounts.createToken(name: name)
                return DevAccount(name: name, email: account.email, token: token, user: account.userRecordName)
            }
            let (account, token) = try accounts.add(name: name, email: "\(name)@example.com")
            return DevAccount(name: name, email: account.email, token: token, user: account.userRecordName)
        }
    }

    private static func writeReadyFile(
        _ path: String, server: Server, certificates: Certificates, accounts: [DevAccount]
    ) throws {
        let members = accounts.map { account in
            (
                key: account.name,
                value: JSONValue.object([
                    ("token", .string(account.token)), ("email", .string(account.email)),
                    ("user", .string(account.user)),
                ])
            )
        }
        let json = JSONValue.object([
            ("server", .string(server.address)), ("ca", .string(certificates.caPath)), ("accounts", .object(members)),
        ])
        do {
            // Written in full, but not synced: the file means nothing after a crash. It holds tokens, so only its owner
            // may read it.
            let partial = path + ".partial"
            try FileSystem.removeTree(partial)
            let file = try File(path: partial, mode: .createExclusively, permissions: 0o600)
            try Array((json.line + "\n").utf8).withUnsafeBytes { try file.write($0, at: 0) }
            file.close()
            try FileSystem.rename(partial, to: path)
        } catch {
            throw CommandError(.failed, "the ready file can't be written: \(error)")
        }
    }

    private static func absolute(_ path: String) -> String { URL(fileURLWithPath: path).path }

    /// For a shell.
    private static func quoted(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { byte in
            byte >= 0x30 && byte <= 0x39 || byte >= 0x41 && byte <= 0x5A || byte >= 0x61 && byte <= 0x7A
                || "/-_.".utf8.contains(byte)
        }
        return isPlain ? text : "'" + text.replacingOccurrences(of: "'", with: "'\\''") + "'"
    }
}

extension CommandOptions {
    static func environment(_ invocation: Invocation) throws(UsageError) -> BrumeModel.Environment {
        switch try invocation.required("environment") {
        case "development": .development
        case "production": .production
        case let name:
            throw UsageError(
                "--environment is development or production, not \"\(name)\"", command: invocation.command)
        }
    }
}
