internal import BrumeModel
internal import BrumeServer
internal import BrumeService
internal import BrumeStore
internal import BrumeSystem
internal import Foundation

/// `brume serve`: runs a server.
enum ServeCommand {
    static let definition = CommandDefinition(
        ["serve"], "run a server",
        options: [
            CommandOptions.data,
            OptionDefinition("listen", "HOST:PORT", "where to listen; port 0: any", fallback: "127.0.0.1:7440"),
            OptionDefinition("certificate", "FILE", "the certificate chain (default: certs/server.pem)"),
            OptionDefinition("key", "FILE", "its key (default: certs/server.key)"),
            OptionDefinition(
                "ca", "FILE",
                "the CA certificate that brume load on this machine verifies with (default: ca.pem beside the certificate)",
                variable: "BRUME_SERVER_CA"),
            OptionDefinition(
                "container", "NAME", "serve this container only (default: any)", repeats: true,
                variable: "BRUME_CONTAINERS"),
            OptionDefinition(
                "admin-on-port", nil,
                "take the operator's token on the port too; without it, the operator comes by the data folder alone"),
            OptionDefinition(
                "public-url", "URL",
                "what the URLs of shares begin with, such as https://sync.example.com (default: the address that each client uses)"
            ),
            OptionDefinition("no-development", nil, "serve production environments only"),
            OptionDefinition(
                "teachers", "WHO",
                "whose saves teach development schemas: all, operator (nobody's: only brume schema import), or names of accounts",
                fallback: "all", repeats: true),
            OptionDefinition("loops", "N", "event loops (default: one per core)"),
            OptionDefinition(
                "spin-microseconds", "N",
                "how long loops look for work before they sleep, where it mostly comes that soon; 0: not at all",
                fallback: String(ServerConfiguration.standardSpinMicroseconds)),
            CommandOptions.metricsListen,
            OptionDefinition(
                "connections", "N", "connections at a time (default: as many as open files allow, at most 100,000)"),
            OptionDefinition(
                "connections-per-account", "N",
                "connections, and notification streams, of one account at a time (default: 1,000, or a quarter of all)"),
            OptionDefinition(
                "connections-per-address", "N",
                "connections of one address that have no account (default: 1,000, or a quarter of all)"),
            OptionDefinition(
                "calls-per-account", "N", "open calls of one account, over all of its connections",
                fallback: String(ServiceConfiguration.standardCallsPerAccount)),
            OptionDefinition(
                "output-budget", "SIZE",
                "answers that are held for clients until they have read them; an eighth for an account",
                fallback: "256MiB"),
            OptionDefinition(
                "input-budget", "SIZE",
                "requests that are not whole, or on their way to their database; an eighth for an account",
                fallback: "128MiB"),
            OptionDefinition("journal-segment-bytes", "N", "size of a journal file", fallback: "16777216"),
            OptionDefinition(
                "memory-budget", "SIZE",
                "about what databases may take in memory, such as 512MiB; idle ones are dropped (default: no bound)"),
            OptionDefinition(
                "assets", "DIR", "a folder on another disk for the contents of assets (default: the data folder)",
                variable: "BRUME_SERVER_ASSETS"),
            OptionDefinition(
                "asset-limit", "SIZE", "what one asset (CKAsset) may have; 0: no assets",
                fallback: ByteSize(bytes: Int(clamping: ServiceConfiguration.standardAssetLimitBytes)).text),
            OptionDefinition(
                "asset-free", "PERCENT",
                "how much of the disk stays free of assets: with less, uploads are refused; 0: nothing",
                fallback: String(ServerConfiguration.standardAssetFreePercent)),
            OptionDefinition(
                "check-snapshots", "WHEN",
                "start: read all of them before serving; background: behind it; auto: before, unless they are many",
                fallback: "auto"),
        ]
            + CommandOptions.quotas(fallback: (ServiceLimits.quotaBytes, ServiceLimits.publicQuotaBytes)) + [
                CommandOptions.strict, CommandOptions.logLevel, CommandOptions.withParent,
            ],
        notes: [
            """
            Without --certificate and --key it uses certs/server.pem and certs/server.key, which brume certs makes. Logs go to \
            stderr, one line an event. SIGTERM and SIGINT drain: no new connections, calls in flight end, everything is on \
            disk, exit 0. A second signal ends the process at once.
            """,
            """
            Started by systemd with Type=notify it says when it serves, reloads and stops, and feeds the watchdog (WatchdogSec=) \
            as long as its loops turn. Started by a .socket unit it serves that one's address, and not --listen: connections wait \
            there while it is started again.
            """,
            """
            SIGHUP has it read certificate and key again, for new connections; those that are there stay. Files that can't be used, or \
            don't belong together, change nothing, and the log says so. The log level of the configuration file is read again, too.
            """,
            """
            While the disk is full, writes are refused with a time to come back; reading and notifications go on, but for \
            what shows a commit that waits for room. Uploads of assets are refused before, with less than --asset-free \
            of the disk. Any other failure of a write or a sync ends the server with exit code \
            74: nothing is acknowledged after it, and a start on the mended disk finds everything that was.
            """,
            """
            Damage anywhere in the folder stops the start with exit code 7, file and place. With more than 256 MiB of snapshots, or \
            more than 10,000, it serves first and reads them behind: damage is logged then, shown by brume health, and refuses \
            the database that it is in.
            """,
            """
            --metrics-listen is for Prometheus and for whatever watches processes. It has no TLS and asks for no token, and what it \
            tells names no account: let those reach it who may know how busy the server is. /livez fails when a loop does not \
            answer within 5 seconds, /readyz while the server drains as well.
            """,
            """
            Without --container any name is served: containers that hold data to every account, and a new one to an account that \
            has data in fewer than \(ServiceLimits.containersPerAccount). One that is left without a write was never there.
            """,
            """
            In development any account's saves add record types and fields to a container's schema, \(Limits.recordTypesPerTeacher) and \
            \(Limits.fieldsPerTeacher) for each account. For users whom you don't know use --no-development (schemas are imported and \
            deployed all the same), or --teachers with those who make the app: to everybody else development is as strict as production.
            """,
            """
            --public-url is what people see of a server who are sent a share's URL: name a host that your clients reach. The token in \
            the URL works whatever stands before it, so it may change.
            """,
            CommandOptions.quotaNote,
            """
            The contents of assets are files in the folder assets/ of the data folder, or with --assets in DIR/assets, and part of \
            backups. The data folder and DIR know each other (brume.assets in both): a start without --assets, with another folder, \
            or with one whose disk is not mounted is refused, and no two servers use one. Commands on the data folder find DIR by \
            themselves, or are told by --assets where it is now. To move assets: stop the server, move the folder \
            (mv brume-data/assets DIR/), start it with --assets DIR. To move them back: the same, and once --assets with the data \
            folder's own path. The first start in a new place looks for every asset there that a record names, and changes nothing \
            if one is missing. --asset-free is about DIR's disk then.
            """,
            """
            Commands that take --data DIR reach it through a socket in that folder, as its user or root, and need no certificate and \
            no token. Make an account for it so, while it runs or before: brume account add NAME --data DIR
            """,
            """
            Nobody gets all there is: connections are bounded for each account and address, and in all by the open files that the \
            process may have, of which up to 256 are kept for the server's own. It raises its soft limit of them to the hard one \
            (ulimit -Hn), and logs what follows from it. An account that has too many connections is told so, with a time to come \
            back; of an address (of IPv6: of its first 64 bits) without an account, what is too much is closed. The same \
            for memory: answers that a client does not read and requests that it does not finish are bounded for each account, at an \
            eighth of all, and each address, at a sixteenth. Above it calls are refused with a time to come back, and a large \
            request is not read until there is room.
            """,
        ],
        examples: ["brume certs && brume serve --data ./brume-data --listen 0.0.0.0:7440"],
        body: .blocking(run))

    private static func run(_ invocation: Invocation) throws -> ExitCode {
        Descriptors.raiseLimit()
        var configuration = try configuration(invocation)
        try DataFolder.requireOwn(configuration.dataFolder)
        StopSignals.block()
        let service = try ManagedService()
        configuration.inheritedSocket = service.socket
        service.opens()
        let log = configuration.log
        if !FileSystem.exists(configuration.dataFolder) {
            log.info("there is no data folder yet: a new one is made", [("folder", configuration.dataFolder)])
        }
        let server = try Server(configuration)
        try ServerRunner.run(
            server, withParent: invocation.isOn("with-parent"), as: service,
            reload: {
                do {
                    if let invocation = try CommandLineRunner.readAgain() {
                        log.minimum = try CommandOptions.level(invocation)
                    }
                } catch {
                    let reason = CommandError(describing: error).message
                    log.error("the configuration can't be read again", [("reason", reason)])
                }
                server.reloadCertificate()
            }, serving: {})
        return .done
    }

    private static func teachers(_ invocation: Invocation) throws(UsageError) -> SchemaTeachers {
        let names = Set(invocation.texts("teachers"))
        if names == ["all"] { return .all }
        if names == ["operator"] { return .nobody }
        guard names.isDisjoint(with: ["all", "operator"]) else {
            throw UsageError(
                "--teachers is all, operator, or names of accounts, and not several of these",
                command: invocation.command)
        }
        for name in names {
            if let problem = Names.problemWithAccountName(name) {
                throw UsageError("--teachers: \(problem)", command: invocation.command)
            }
        }
        return .accounts(names)
    }

    private static func configuration(_ invocation: Invocation) throws -> ServerConfiguration {
        let address = try ListenAddress(invocation.required("listen"), option: "listen")
        let certificates = Certificates(folder: CertsCommand.defaultFolder)
        var caPath = invocation.text("ca")
        let certificate = invocation.text("certificate")
        let key = invocation.text("key")
        guard (certificate == nil) == (key == nil) else {
            throw UsageError("--certificate and --key belong together: give both", command: invocation.command)
        }
        let certificatePath = certificate ?? certificates.certificatePath
        let keyPath = key ?? certificates.keyPath
        if caPath == nil {
            let beside = FileSystem.directory(of: certificatePath) + "/ca.pem"
            if FileSystem.exists(beside) { caPath = beside }
        }
        var configuration = ServerConfiguration(
            dataFolder: try invocation.required("data"), certificatePath: certificatePath, keyPath: keyPath)
        configuration.assetsFolder = invocation.text("assets").map(FolderCopier.path)
        configuration.host = address.host
        configuration.port = address.port
        configuration.metricsAddress = try CommandOptions.metricsAddress(invocation)
        configuration.caPath = caPath.map { URL(fileURLWithPath: $0).path }
        configuration.takesOperatorOnPort = invocation.isOn("admin-on-port")
        if let url = invocation.text("public-url") {
            configuration.publicURL = try PublicURL.text(url, option: "public-url")
        }
        configuration.containers = Set(invocation.texts("container"))
        for name in configuration.containers.sorted() {
            if let problem = Names.problemWithContainer(name) {
                throw CommandError(.usage, "--container \(name): \(problem)")
            }
        }
        configuration.loopCount =
            try invocation.integer("loops", in: 1...256) ?? ProcessInfo.processInfo.activeProcessorCount
        if let limit = try invocation.integer("spin-microseconds", in: 0...1_000) {
            configuration.spinMicroseconds = UInt64(limit)
        }
        configuration.connections = try invocation.integer("connections", in: 1...1_000_000)
        configuration.connectionsPerAccount = try invocation.integer("connections-per-account", in: 1...1_000_000)
        configuration.connectionsPerAddress = try invocation.integer("connections-per-address", in: 1...1_000_000)
        configuration.callsPerAccount =
            try invocation.integer("calls-per-account", in: 1...1_000_000) ?? configuration.callsPerAccount
        configuration.outputBudgetBytes = try byteBudget("output-budget", invocation)
        configuration.inputBudgetBytes = try byteBudget("input-budget", invocation)
        configuration.journalSegmentBytes =
            try invocation.integer("journal-segment-bytes", in: 1_048_576...1_073_741_824) ?? 16_777_216
        configuration.assetLimitBytes = UInt64(try invocation.byteSize("asset-limit") ?? 0)
        guard configuration.assetLimitBytes <= StoreLimits.assetBytes else {
            throw UsageError(
                "--asset-limit is \(ByteSize(bytes: Int(StoreLimits.assetBytes)).text) at most",
                command: invocation.command)
        }
        configuration.assetFreePercent = try invocation.integer("asset-free", in: 0...99) ?? 0
        configuration.memoryBudgetBytes = try invocation.byteSize("memory-budget") ?? 0
        switch try invocation.required("check-snapshots") {
        case "auto": configuration.startCheck = .automatic
        case "start": configuration.startCheck = .all
        case "background": configuration.startCheck = .none
        case let when:
            throw UsageError(
                "--check-snapshots is auto, start or background, not \"\(when)\"", command: invocation.command)
        }
        configuration.servesDevelopment = !invocation.isOn("no-development")
        configuration.teachers = try teachers(invocation)
        try CommandOptions.setQuotas(&configuration, invocation)
        configuration.followsCloudKitQueryRules = invocation.isOn("strict")
        configuration.log = try CommandOptions.log(invocation)
        // What is wrong with the command line is said before what is missing.
        for (what, path) in [("certificate", certificatePath), ("key", keyPath)]
        where !FileManager.default.fileExists(atPath: path) {
            throw CommandError(
                .notFound, "there is no \(what) at \(path)",
                hint: "make one: brume certs (or give --certificate and --key)")
        }
        return configuration
    }

    /// A budget of bytes: with less than 16 MiB an account could not have one large answer.
    private static func byteBudget(_ name: String, _ invocation: Invocation) throws -> Int {
        let bytes = try invocation.byteSize(name) ?? 0
        guard bytes >= 16 * 1024 * 1024 else {
            throw UsageError("--\(name) is at least 16MiB", command: invocation.command)
        }
        return bytes
    }
}
