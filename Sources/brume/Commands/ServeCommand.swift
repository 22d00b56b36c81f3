internal import BrumeServer
internal import BrumeStore
internal import BrumeSystem
internal import Foundation

/// `brume serve`: a server.
enum ServeCommand {
    static let definition = CommandDefinition(
        ["serve"], "run a server",
        options: [
            CommandOptions.data,
            OptionDefinition("listen", "HOST:PORT", "where to listen; port 0: any", fallback: "127.0.0.1:7440"),
            OptionDefinition("certificate", "FILE", "the certificate chain (default: certs/server.pem)"),
            OptionDefinition("key", "FILE", "its key (default: certs/server.key)"),
            OptionDefinition(
                "ca", "FILE", "the CA certificate that commands on this machine verify with (default: certs/ca.pem)",
                variable: "BRUME_SERVER_CA"),
            OptionDefinition(
                "container", "NAME", "serve this container only", repeats: true, variable: "BRUME_CONTAINERS"),
            OptionDefinition("loops", "N", "event loops (default: one per core)"),
            OptionDefinition(
                "spin-microseconds", "N",
                "how long loops look for work before they sleep, where it mostly comes that soon; 0: not at all",
                fallback: String(ServerConfiguration.standardSpinMicroseconds)),
            CommandOptions.metricsListen,
            OptionDefinition("journal-segment-bytes", "N", "size of a journal file", fallback: "16777216"),
            OptionDefinition(
                "memory-budget", "SIZE",
                "about what databases may take in memory, such as 512MiB; idle ones are dropped (default: no bound)"),
            OptionDefinition(
                "check-snapshots", "WHEN",
                "start: read all of them before serving; background: behind it; auto: before, unless they are many",
                fallback: "auto"),
            CommandOptions.strict, CommandOptions.logLevel, CommandOptions.withParent,
        ],
        notes: [
            """
            Without --certificate and --key it uses certs/server.pem and certs/server.key, which brume certs makes. Logs go to \
            stderr, one line an event. SIGTERM and SIGINT drain: no new connections, calls in flight end, everything is on \
            disk, exit 0. A second signal ends the process at once.
            """,
            """
            While the disk is full, writes are refused with a time to come back; reading and notifications go on, but for \
            what shows a commit that waits for room. Any other failure of a write or a sync ends the server with exit code \
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
            "Make an account for it, while it runs or before: brume account add NAME --data DIR",
        ],
        examples: ["brume certs && brume serve --data ./brume-data --listen 0.0.0.0:7440"],
        body: .blocking(run))

    private static func run(_ invocation: Invocation) throws -> ExitCode {
        let configuration = try configuration(invocation)
        StopSignals.block()
        let server = try Server(configuration)
        try ServerRunner.run(server, withParent: invocation.isOn("with-parent")) {}
        return .done
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
        for (what, path) in [("certificate", certificatePath), ("key", keyPath)]
        where !FileManager.default.fileExists(atPath: path) {
            throw CommandError(
                .notFound, "there is no \(what) at \(path)",
                hint: "make one: brume certs (or give --certificate and --key)")
        }
        if certificate == nil { caPath = caPath ?? certificates.caPath }
        var configuration = ServerConfiguration(
            dataFolder: try invocation.required("data"), certificatePath: certificatePath, keyPath: keyPath)
        configuration.host = address.host
        configuration.port = address.port
        configuration.metricsAddress = try CommandOptions.metricsAddress(invocation)
        configuration.caPath = caPath.map { URL(fileURLWithPath: $0).path }
        configuration.containers = Set(invocation.texts("container"))
        configuration.loopCount =
            try invocation.integer("loops", in: 1...256) ?? ProcessInfo.processInfo.activeProcessorCount
        if let limit = try invocation.integer("spin-microseconds", in: 0...1_000) {
            configuration.spinMicroseconds = UInt64(limit)
        }
        configuration.journalSegmentBytes =
            try invocation.integer("journal-segment-bytes", in: 1_048_576...1_073_741_824) ?? 16_777_216
        configuration.memoryBudgetBytes = try invocation.byteSize("memory-budget") ?? 0
        switch try invocation.required("check-snapshots") {
        case "auto": configuration.startCheck = .automatic
        case "start": configuration.startCheck = .all
        case "background": configuration.startCheck = .none
        case let when:
            throw UsageError(
                "--check-snapshots is auto, start or background, not \"\(when)\"", command: invocation.command)
        }
        configuration.followsCloudKitQueryRules = invocation.isOn("strict")
        configuration.log = try CommandOptions.log(invocation)
        return configuration
    }
}
