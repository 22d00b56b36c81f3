internal import BrumeService
internal import BrumeSystem

/// What surrounds a server and runs out without it: the room of its disks, and the time of its certificate. Read anew
/// for each scrape.
struct MachineFigures {
    /// The room where something lies.
    struct Disk: Equatable {
        /// `data` or `assets`.
        let content: String
        let freeBytes: UInt64
        let totalBytes: UInt64
    }

    /// When the certificate in the file expires, in seconds since 1970; nil where that can't be read.
    var certificateExpirySeconds: Int?
    /// When the newest backup that lacks nothing was begun, in seconds since 1970; nil where there is none.
    var newestBackupSeconds: Int?
    var disks: [Disk] = []
    /// 0: none is set.
    var memoryBudgetBytes = 0
    /// For what clients have not read, and for what they have not sent whole: the bytes of all.
    var outputBudgetBytes = 0
    var inputBudgetBytes = 0

    init() {}

    /// - Parameter assetsPath: The folder of the assets; nil where they are in the data folder.
    init(_ configuration: ServerConfiguration, assetsPath: String?) {
        certificateExpirySeconds = try? CertificateAuthority.expirySeconds(
            ofCertificate: configuration.certificatePath)
        newestBackupSeconds = try? BackupsFolder(configuration.backupsFolder).newestWholeSeconds
        disks = [Self.disk("data", configuration.dataFolder), assetsPath.flatMap { Self.disk("assets", $0) }]
            .compactMap(\.self)
        memoryBudgetBytes = configuration.memoryBudgetBytes
        outputBudgetBytes = configuration.outputBudgetBytes
        inputBudgetBytes = configuration.inputBudgetBytes
    }

    private static func disk(_ content: String, _ path: String) -> Disk? {
        guard let space = try? FileSystem.space(path) else { return nil }
        return Disk(content: content, freeBytes: space.available, totalBytes: space.total)
    }
}
