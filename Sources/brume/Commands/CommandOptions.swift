internal import BrumeModel
internal import BrumeServer
internal import BrumeService
internal import BrumeSystem

/// Options that several commands share.
enum CommandOptions {
    static let json = OptionDefinition("json", nil, "print JSON")

    static let assetsFolder = OptionDefinition(
        "assets", "DIR", "fetch the files of assets, too, into this folder, which is made when it is missing")

    /// The variable is not that of ``assetsFolder``: where a server keeps its files is not where an app fetches some.
    static let assetsPlace = OptionDefinition(
        "assets", "DIR", "where its assets are, if they are neither in it nor where it knows them to be",
        variable: "BRUME_SERVER_ASSETS")

    /// Finds the assets of a folder for a command that has ``assetsPlace``.
    static func assets(of folder: String, _ invocation: Invocation) throws(ServerError) -> AssetsFolder {
        // The variable is for a server's own folder, and backups are other ones.
        try AssetsFolder.known(
            to: folder, at: invocation.text("assets"), isRequired: invocation.flags.contains("assets"))
    }

    static let data = OptionDefinition("data", "DIR", "the data folder", fallback: "./brume-data")

    /// The limits of what records may take.
    static func quotas(fallback: (account: Int, public: Int)) -> [OptionDefinition] {
        [
            OptionDefinition(
                "quota", "SIZE",
                "what all private databases of an account may take together, such as 5GiB; 0: no limit",
                fallback: ByteSize(bytes: fallback.account).text),
            OptionDefinition(
                "public-quota", "SIZE", "what each public database may take, of which a container has two; 0: no limit",
                fallback: ByteSize(bytes: fallback.public).text),
        ]
    }

    static let quotaNote = """
        Quotas count the encoded bytes of the records that exist, and the contents of the assets that they name, each \
        once in a database. What a database keeps besides them has 1 MiB free, and counts beyond it: 128 bytes for \
        each record's place, 4 KiB for each asset's file and, in a private database, 1 KiB for each zone, 160 bytes \
        for each remembered deletion (the latest 10,000 of a zone), and subscriptions. A save that would go beyond a \
        quota fails with quotaExceeded; deletions, and saves that store no more than before, go through, as do user \
        records, which the server makes, and a zone or subscription while anything is left. --quota is for all \
        private databases of an account together, in every container and environment; brume account quota NAME gives \
        one account another limit. Of --public-quota the records that one user made take at most half, so that nobody \
        fills a public database alone; the places of these count from the first, and their assets as often as they \
        are named. An upload counts from its beginning until a record names it, a day at most; of those nobody but \
        the owner of a private database may have more than a tenth of the quota. Assets that no record names any more \
        make room at once, and go from the disk a day later.
        """

    static func setQuotas(_ configuration: inout ServerConfiguration, _ invocation: Invocation) throws(UsageError) {
        configuration.quotaBytes = try invocation.byteSize("quota") ?? 0
        configuration.publicQuotaBytes = try invocation.byteSize("public-quota") ?? 0
    }

    static let metricsListen = OptionDefinition(
        "metrics-listen", "HOST:PORT", "serve /metrics, /livez and /readyz there, over HTTP without TLS; port 0: any")

    static func metricsAddress(_ invocation: Invocation) throws(UsageError) -> (host: String, port: UInt16)? {
        guard let text = invocation.text("metrics-listen") else { return nil }
        let address = try ListenAddress(text, option: "metrics-listen")
        return (address.host, address.port)
    }

    static let operatorTokenFile = "operator-token-file"

    /// The options that select the server of an operator's command. Their variables differ from those of clients: a
    /// variable that names an app's server must not redirect a command on a data folder to that server.
    static let operators = [
        data,
        OptionDefinition(
            "server", "HOST:PORT", "a server on another machine instead, which runs with --admin-on-port",
            variable: "BRUME_OPERATOR_SERVER"),
        OptionDefinition(
            "ca", "FILE", "the CA certificate that its certificate is verified with", variable: "BRUME_OPERATOR_CA"),
        OptionDefinition(
            operatorTokenFile, "FILE", "its operator's token: a copy of admin.token; -: the standard input"),
    ]

    static let operatorNote = """
        Run it on the server's machine as the server's user, or as root: it works through the server that runs on the folder, or on \
        the folder itself when none does. A server on another machine is reached with --server, --ca and --operator-token-file if \
        it takes its operator there (brume serve --admin-on-port).
        """

    /// How a client finds its server.
    static let server = [
        OptionDefinition("server", "HOST:PORT", "the server"),
        OptionDefinition("ca", "FILE", "the CA certificate that the server's is verified with"),
    ]

    static let container = OptionDefinition("container", "NAME", "the container", fallback: "iCloud.brume")

    static let connectTimeout = OptionDefinition(
        "connect-timeout", "SECONDS", "how long to wait for the server", fallback: "5")

    /// How a client finds its server and says who it is.
    static let client =
        server + [
            OptionDefinition("token", "TOKEN", "the account's token", isSecret: true),
            OptionDefinition(
                "token-file", "FILE", "a file that holds it, which counts before the variable; -: the standard input"),
            container,
            OptionDefinition(
                "environment", "NAME", "development or production", fallback: "development"),
            connectTimeout,
            OptionDefinition(
                "state", "DIR", "where this device keeps its id (default: ~/.local/state/brume)"),
        ]

    static let isPublic = OptionDefinition("public", nil, "the public database instead of the account's private one")

    /// Chooses the shared database where a zone is named.
    static let owner = OptionDefinition(
        "owner", "USER", "the zone is this user's, who shares it with the account: a user record name")

    static let isShared = OptionDefinition(
        "shared", nil, "the database of zones that other users share with the account")

    static let clientNote = """
        The server comes from --server and --ca or the variables BRUME_SERVER and BRUME_CA, the account's token from BRUME_TOKEN or \
        --token-file; `brume dev` prints the variables ready to paste.
        """
}

extension CommandOptions {
    static let yes = OptionDefinition("yes", nil, "do it without asking")

    /// Asks the user at the terminal; without a terminal `--yes` has to be given.
    static func isConfirmed(_ question: String, _ invocation: Invocation) throws(UsageError) -> Bool {
        if invocation.isOn("yes") { return true }
        guard Terminal.isTerminal(Terminal.standardInput) else {
            throw UsageError(
                "there is nobody to ask: \(question)", hint: "if so, run it again with --yes")
        }
        Terminal.write("\(question) [y/N] ", to: Terminal.standardError)
        return ["y", "yes"].contains(readLine()?.lowercased())
    }
}

extension CommandOptions {
    /// The name of the container, which is one that a container can have.
    static func containerName(_ invocation: Invocation) throws(UsageError) -> String {
        let name = try invocation.required("container")
        guard let problem = Names.problemWithContainer(name) else { return name }
        throw UsageError(
            "--container \(name): \(problem), such as iCloud.com.example.app", command: invocation.command)
    }

    /// The server's address, which is one.
    static func serverAddress(_ invocation: Invocation) throws(UsageError) -> String {
        let address = try invocation.required("server")
        _ = try ListenAddress(address, option: "server", isServer: true)
        return address
    }

    /// The file with the CA's certificate; nil when none is named.
    static func certificateAuthority(_ invocation: Invocation) throws(CommandError) -> String? {
        guard let path = invocation.text("ca") else { return nil }
        let variable = invocation.command.option(named: "ca")?.variable ?? ""
        let hint = "name the ca.pem of the server with --ca (\(variable))"
        guard FileSystem.exists(path) else {
            throw CommandError(.notFound, "there is no CA certificate at \(path)", hint: hint)
        }
        do throws(TLSError) {
            _ = try TLSClientContext(caPath: path)
        } catch {
            throw CommandError(.failed, error.message, hint: hint)
        }
        return path
    }
}
