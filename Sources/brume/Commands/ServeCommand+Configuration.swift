internal import BrumeModel
internal import BrumeServer
internal import BrumeService
internal import BrumeStore
internal import BrumeSystem
internal import Foundation

/// What the options come to.
extension ServeCommand {
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

    static func configuration(_ invocation: Invocation) throws -> ServerConfiguration {
        let address = try ListenAddress(invocation.required("listen"), option: "listen")
        let certificates = Self.standardCertificates
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
        configuration.backupsFolder = FolderCopier.path(try invocation.required("backups"))
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
        if let bound = try invocation.integer("slow-call-milliseconds", in: 0...3_600_000) {
            configuration.slowCallMilliseconds = UInt64(bound)
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

    /// The certificate that counts where none is named: what systemd has handed over (LoadCredential=), else that of
    /// `brume certs`.
    private static var standardCertificates: Certificates {
        let handedOver = ProcessInfo.processInfo.environment["CREDENTIALS_DIRECTORY"].map(Certificates.init(folder:))
        if let handedOver, handedOver.hasServerCertificate { return handedOver }
        return Certificates(folder: CertsCommand.defaultFolder)
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
