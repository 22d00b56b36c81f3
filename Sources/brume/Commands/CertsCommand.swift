internal import BrumeSystem

/// `brume certs`: a CA and a server's certificate, for development and for servers whose clients are told which CA to
/// trust.
enum CertsCommand {
    static let defaultFolder = "certs"

    static let definition = CommandDefinition(
        ["certs"], "make a CA and a server's certificate",
        options: [
            OptionDefinition("folder", "DIR", "where the files go", fallback: defaultFolder, variable: "BRUME_CERTS"),
            OptionDefinition(
                "name", "NAME",
                "a DNS name or IP address by which clients reach the server, beside those of this machine",
                repeats: true, variable: "BRUME_CERTS_NAMES"),
            OptionDefinition(
                "renew", nil, "replace a server's certificate that is there; CA and names stay, --name adds to them"),
            CommandOptions.json,
        ],
        notes: [
            """
            Writes ca.pem (for clients), ca.key (keep it), server.pem and server.key (for brume serve). A CA that is there is \
            used again, so that clients which trust it go on to. ca.key is needed again to renew: when it is missing, nothing is \
            made, since no client would trust a certificate of another CA.
            """,
            """
            With --renew the new certificate has the names of the old one, and those of --name. To drop a name, remove \
            server.pem and server.key, and give all others to brume certs. A running server reads the new files at SIGHUP \
            (kill -HUP; its process id is in server.json in the data folder), and its log says so.
            """,
        ],
        examples: ["brume certs", "brume certs --name sync.example.com --name 192.0.2.7", "brume certs --renew"],
        body: .blocking(run))

    private static func run(_ invocation: Invocation) throws -> ExitCode {
        let certificates = Certificates(folder: try invocation.required("folder"))
        let asked = invocation.texts("name")
        if asked.isEmpty, invocation.flags.contains("name") {
            throw UsageError(
                "--name takes a DNS name or an IP address, such as sync.example.com or 192.0.2.7, not an empty one",
                command: invocation.command)
        }
        for name in asked where !CertificateAuthority.isServerName(name) {
            throw UsageError(
                "--name takes a DNS name or an IP address, such as sync.example.com or 192.0.2.7, not \"\(name)\"",
                command: invocation.command)
        }
        var names = asked
        if FileSystem.exists(certificates.certificatePath) {
            guard invocation.isOn("renew") || !certificates.hasServerCertificate else {
                throw CommandError(
                    .conflict, "\(certificates.certificatePath) is there already",
                    hint: "to replace it: \(certificates.command(names: asked)) --renew")
            }
            if invocation.isOn("renew") { names = try certificates.currentNames() + names }
        } else if invocation.isOn("renew") {
            throw CommandError(
                .notFound, "there is no \(certificates.certificatePath) to renew",
                hint: "check --folder (BRUME_CERTS); the first one is made without --renew")
        }
        // This machine's names are always included, so that the certificate also works for clients on this machine.
        names = (names + Certificates.localNames).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
        try certificates.issue(names: names)
        let expires = try certificates.expiry()
        if invocation.isOn("json") {
            Terminal.print(
                JSONValue.object([
                    ("ca", .string(certificates.caPath)), ("certificate", .string(certificates.certificatePath)),
                    ("key", .string(certificates.keyPath)),
                    ("names", .array(names.map { .string($0) })), ("expires", .string(expires)),
                ]).line)
        } else {
            Terminal.print("CA for clients:       \(certificates.caPath)")
            Terminal.print("server's certificate: \(certificates.certificatePath), key \(certificates.keyPath)")
            Terminal.print("valid until:          \(expires)")
            Terminal.print("names:                \(names.joined(separator: ", "))")
        }
        return .done
    }
}
