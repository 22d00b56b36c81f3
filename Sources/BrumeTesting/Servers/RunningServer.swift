internal import BrumeModel
internal import BrumeServer
internal import BrumeSystem

/// A server with its folder and certificate: what ``TestServer`` starts and stops. Its functions wait for the disk and for
/// threads.
final class RunningServer: Sendable {
    let folder: TestFolder
    let server: Server
    let port: UInt16

    var caPath: String { Self.caPath(folder) }

    static func caPath(_ folder: TestFolder) -> String { folder.path + "/ca.pem" }

    /// - Parameter folder: That of an earlier run; nil: a new one.
    init(
        _ options: TestServer.Options, script: ServerScript, folder: TestFolder? = nil, port: UInt16 = 0
    ) throws(TestServerError) {
        let isNew = folder == nil
        let folder = if let folder { folder } else { try TestFolder() }
        do throws(TestServerError) {
            if isNew { try Self.prepare(folder, options) }
            server = try Self.start(folder, options, script, port: port)
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

    static func dataFolder(_ folder: TestFolder) -> String { folder.path + "/data" }

    private static func start(
        _ folder: TestFolder, _ options: TestServer.Options, _ script: ServerScript, port: UInt16
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
        configuration.log = options.serverLog
        // All accounts are the test's.
        configuration.teacherShare = .whole
        configuration.containersPerAccount = .max
        configuration.interceptor = script
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
}
