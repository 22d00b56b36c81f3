internal import BrumeServer
internal import BrumeService

extension ServeCommand {
    /// What can be said of a server: on the command line, in variables or in a file.
    static let options =
        [
            CommandOptions.data,
            OptionDefinition("listen", "HOST:PORT", "where to listen; port 0: any", fallback: "127.0.0.1:7440"),
            OptionDefinition("certificate", "FILE", "the certificate chain (default: certs/server.pem)"),
            OptionDefinition("key", "FILE", "its key (default: certs/server.key)"),
            OptionDefinition(
                "ca", "FILE",
                "the CA certificate that brume load on this machine verifies with "
                    + "(default: ca.pem beside the certificate)",
                variable: "BRUME_SERVER_CA"),
            OptionDefinition(
                "container", "NAME", "serve this container only (default: any)", repeats: true,
                variable: "BRUME_CONTAINERS"),
            OptionDefinition(
                "admin-on-port", nil,
                "take the operator's token on the port too; without it, the operator comes by the data folder alone"),
            OptionDefinition(
                "backups", "DIR", "where its backups are: metrics tell of the newest, and brume doctor looks",
                fallback: ServerConfiguration.standardBackupsFolder),
            OptionDefinition(
                "public-url", "URL",
                "what the URLs of shares begin with, such as https://sync.example.com "
                    + "(default: the address that each client uses)"
            ),
            OptionDefinition("no-development", nil, "serve production environments only"),
            OptionDefinition(
                "teachers", "WHO",
                "whose saves teach development schemas: all, operator (nobody's: only brume schema import), "
                    + "or names of accounts",
                fallback: "all", repeats: true),
            OptionDefinition("loops", "N", "event loops (default: one per core)"),
            OptionDefinition(
                "spin-microseconds", "N",
                "how long loops look for work before they sleep, where it mostly comes that soon; 0: not at all",
                fallback: String(ServerConfiguration.standardSpinMicroseconds)),
            OptionDefinition(
                "slow-call-milliseconds", "N", "log calls that take as long, streams aside; 0: none",
                fallback: String(ServerConfiguration.standardSlowCallMilliseconds)),
            CommandOptions.metricsListen,
            OptionDefinition(
                "connections", "N", "connections at a time (default: as many as open files allow, at most 100,000)"),
            OptionDefinition(
                "connections-per-account", "N",
                "connections, and notification streams, of one account at a time "
                    + "(default: 1,000, or a quarter of all)"),
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
            CommandOptions.strict, CommandOptions.logLevel, CommandOptions.logFormat, CommandOptions.withParent,
        ]
}
