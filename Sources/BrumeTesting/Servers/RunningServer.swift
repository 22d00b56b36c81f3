internal import BrumeModel
internal import BrumeServer
internal import BrumeService
internal import BrumeStore
internal import BrumeSystem

/// A server with its folder and certificate: what ``TestServer`` starts and stops. Its functions wait for the disk and
/// for threads.
final class RunningServer: Sendable {
    let folder: TestFolder
    let server: Server
    let port: UInt16
    /// Which start of its data this is, from 1.
    let run: UInt32

    var caPath: String { Self.caPath(folder) }
    var dataFolder: String { Self.dataFolder(folder) }

    static func caPath(_ folder: TestFolder) -> String { folder.path + "/ca.pem" }

    /// - Parameter former: The server whose folder and port it takes over; nil: a new folder, and any port.
    init(
        _ options: TestServer.Options, script: ServerScript, after former: RunningServer? = nil
    ) throws(TestServerError) {
        let isNew = former == nil
        let folder = if let former { former.folder } else { try TestFolder() }
        run = (former?.run ?? 0) + 1
        do throws(TestServerError) {
            if isNew { try Self.prepare(folder, options) }
            server = try Self.start(folder, options, script, port: former?.port ?? 0, run: run)
        } catch {
            if isNew { folder.remove() }
            throw error
        }
        self.folder = folder
        self.port = server.port
    }

    static func prepare(_ folder: TestFolder, _ options: TestServer.Options) throws(TestServerError) {
        do {
            let authority = try CertificateAuthority.generate(commonName: "Brume test CA")
            try authority.write(certificatePath: caPath(folder), keyPath: folder.path + "/ca.key")
            try authority.issueServerCertificate(
                names: ["127.0.0.1"], certificatePath: folder.path + "/server.pem", keyPath: folder.path + "/server.key"
            )
        } catch {
            throw TestServerError("no certificate can be made for the test server: \(error)")
        }
        if options.isPredictable { try makePredictable(folder) }
        guard let schema = try options.parsedSchema() else { return }
        do {
            let schemas = try FolderSchemas(
                dataFolder: dataFolder(folder), container: options.containerIdentifier,
                environment: options.modelEnvironment)
            defer { schemas.release() }
            try schemas.install(schema)
        } catch {
            throw TestServerError("the schema of the test server can't be installed: \(error)")
        }
    }

    /// Users' record names and the bytes of tokens derive from the server's key.
    private static func makePredictable(_ folder: TestFolder) throws(TestServerError) {
        do {
            try FileSystem.makeDurableDirectory(dataFolder(folder))
            try FileSystem.atomicReplace(dataFolder(folder) + "/secret.key", Array(1...32))
        } catch {
            throw TestServerError("the test server's key can't be written: \(error); check TMPDIR and the free space")
        }
    }

    static func dataFolder(_ folder: TestFolder) -> String { folder.path + "/data" }

    private static func start(
        _ folder: TestFolder, _ options: TestServer.Options, _ script: ServerScript, port: UInt16, run: UInt32
    ) throws(TestServerError) -> Server {
        var configuration = ServerConfiguration(
            dataFolder: dataFolder(folder), certificatePath: folder.path + "/server.pem",
            keyPath: folder.path + "/server.key")
        configuration.port = port
        configuration.loopCount = min(max(1, options.loopCount), 64)
        configuration.caPath = caPath(folder)
        configuration.journalSegmentBytes = TestLimits.journalSegmentBytes
        configuration.drainTimeoutMilliseconds = TestLimits.drainMilliseconds
        configuration.followsCloudKitQueryRules = options.followsCloudKitQueryRules
        configuration.assetLimitBytes = options.checkedAssetLimit
        configuration.publicQuotaBytes = options.checkedPublicQuota
        configuration.log = options.serverLog
        // All accounts are the test's.
        configuration.teacherShare = .whole
        configuration.containersPerAccount = .max
        configuration.interceptor = script
        configuration.callInterceptor = script
        if options.isPredictable { configuration.run = run }
        do throws(ServerError) {
            let server = try Server(configuration)
            try server.start()
            return server
        } catch {
            throw TestServerError("the test server can't be started: \(error)")
        }
    }

    /// Stops the server; its folder stays.
    func stop() {
        server.drain()
        server.wait()
    }

    /// Copies a data folder that no server uses, as `brume backup` and `brume restore` do.
    ///
    /// - Parameters:
    ///   - target: An empty folder.
    ///   - epoch: Of a copy that is to be served; nil for one that is kept.
    static func copyData(from source: String, to target: String, epoch: UInt32? = nil) throws(TestServerError) {
        do {
            try FileSystem.makeDurableDirectory(target)
            let copy = try FolderCopy(of: RealDisk(folder: source), .idle, others: DataFolder.backedUpFiles)
            try copy.run(to: RealDisk(folder: target), epoch: epoch, salt: .random(in: 0 ... .max)) { _ in }
        } catch {
            throw TestServerError("the test server's data can't be copied: \(error); check TMPDIR and the free space")
        }
    }
}
