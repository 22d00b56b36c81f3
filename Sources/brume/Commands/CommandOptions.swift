/// Options that several commands share.
enum CommandOptions {
    static let json = OptionDefinition("json", nil, "print JSON")

    static let data = OptionDefinition("data", "DIR", "the data folder", fallback: "./brume-data")

    static let metricsListen = OptionDefinition(
        "metrics-listen", "HOST:PORT", "serve /metrics, /livez and /readyz there, over HTTP without TLS; port 0: any")

    static func metricsAddress(_ invocation: Invocation) throws(UsageError) -> (host: String, port: UInt16)? {
        guard let text = invocation.text("metrics-listen") else { return nil }
        let address = try ListenAddress(text, option: "metrics-listen")
        return (address.host, address.port)
    }

    /// How a client finds its server and says who it is.
    static let client = [
        OptionDefinition("server", "HOST:PORT", "the server"),
        OptionDefinition("ca", "FILE", "the CA certificate that the server's is verified with"),
        OptionDefinition("token", "TOKEN", "the account's token"),
        OptionDefinition("container", "NAME", "the container", fallback: "iCloud.brume"),
        OptionDefinition(
            "environment", "NAME", "development or production", fallback: "development"),
        OptionDefinition("connect-timeout", "SECONDS", "how long to wait for the server", fallback: "5"),
        OptionDefinition(
            "state", "DIR", "where this device keeps its id (default: ~/.local/state/brume)"),
    ]

    static let isPublic = OptionDefinition("public", nil, "the public database instead of the account's private one")

    static let clientNote = """
        The server comes from --server, --ca and --token or the variables BRUME_SERVER, BRUME_CA and BRUME_TOKEN; \
        `brume dev` prints them ready to paste.
        """
}
