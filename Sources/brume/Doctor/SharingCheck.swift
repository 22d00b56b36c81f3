internal import BrumeAdmin
internal import BrumeKit
internal import BrumeModel
internal import BrumeServer

/// What anybody can read of the public databases in production, without an account.
enum SharingCheck {
    private static let namesShown = 8

    static func findings(_ configuration: ServerConfiguration) async -> [Finding] {
        let folder = configuration.dataFolder
        guard (try? DataFolder.content(of: folder)) == .data else { return [] }
        var types: [String] = []
        do {
            for container in try await containers(folder) {
                let schema = try await schema(of: container, folder)
                for (name, type) in schema.recordTypes.sorted(by: { $0.key < $1.key })
                where name != Names.userRecordType && type.grants[DefaultRole.world]?.contains(.read) == true {
                    types.append("\(name) (\(container))")
                }
            }
        } catch {
            return [
                Finding(
                    "world-readable types", .warning,
                    "the schemas can't be read: \(CommandError(describing: error).message)",
                    remedy: "run this as the server's user, or as root while it runs")
            ]
        }
        if types.isEmpty { return [Finding("world-readable types", "none in production")] }
        let shown = types.prefix(namesShown).joined(separator: ", ")
        let rest = types.count > namesShown ? " and \(types.count - namesShown) more" : ""
        return [
            Finding(
                "world-readable types", .note, "anybody reads public records of \(shown)\(rest), without an account",
                remedy: "where that is not meant: take GRANT READ TO \"_world\" out of the schema (brume schema export)"
            )
        ]
    }

    private static func containers(_ folder: String) async throws -> [String] {
        if let session = try session(folder, "iCloud.brume") {
            return try await session.listContainers().containers.map(\.name)
        }
        return try FolderSchemas(dataFolder: folder, container: "iCloud.brume", environment: .production).containers()
    }

    private static func schema(of container: String, _ folder: String) async throws -> Schema {
        if let session = try session(folder, container) {
            return try SchemaParser.parse(try await session.exportSchema().text)
        }
        return try FolderSchemas(dataFolder: folder, container: container, environment: .production).schema
    }

    private static func session(_ folder: String, _ container: String) throws -> ClientSession? {
        try Operator.folderSession(folder, container: container, environment: .production)
    }
}
