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
            OptionDefinition("renew", nil, "replace a server's certificate that is there; the CA stays"),
            CommandOptions.json,
        ],
        notes: [
            """
            Writes ca.pem (for clients), ca.key (keep it), server.pem and server.key (for brume serve). A CA that is there is \
            used again, so that clients which trust it go on to.
            """
        ],
        examples: ["brume certs", "brume certs --name sync.example.com --name 192.0.2.7"],
        body: .blocking(run))

    private static func run(_ invocation: Invocation) throws -> ExitCode {
        let certificates = Certificates(folder: try invocation.required("folder"))
        if certificates.hasServerCertificate, !invocation.isOn("renew") {
            throw CommandError(
                .conflict, "\(certificates.certificatePath) is there already",
                hint: "to replace it: brume certs --renew")
        }
        let asked = invocation.texts("name")
        // This machine's names are always included, so that the certificate also works for clients on this machine.
        let names = asked + Certificates.localNames.filter { !asked.contains($0) }
        try certificates.issue(names: names)
        if invocation.isOn("json") {
            Terminal.print(
                JSONValue.object([
                    ("ca", .string(certificates.caPath)), ("certificate", .string(certificates.certificatePath)),
                    ("key", .string(certificates.keyPath)),
                    ("names", .array(names.map { .string($0) })),
                ]).line)
        } else {
            Terminal.print("CA for clients:       \(certificates.caPath)")
            Terminal.print("server's certificate: \(certificates.certificatePath), key \(certificates.keyPath)")
            Terminal.print("names:                \(names.joined(separator: ", "))")
        }
        return .done
    }
}
