internal import BrumeModel
internal import BrumeStore

/// The schemas of all containers, and their files.
///
/// Belongs to the admin loop once that runs, since a change waits for the disk. Shards have copies, which a message
/// replaces after each change; see ``ServerCore/publish(_:)``.
///
/// A change that the disk does not take changes nothing here. A failed sync ends the server: a start may find either
/// state.
///
/// `@unchecked Sendable`: used before the loops run, then by the admin loop alone.
final class SchemaRegistry: @unchecked Sendable {
    private let disk: any Disk
    private let log: Log
    /// The folder's manifest; nil when the folder has none yet.
    private let manifest: FolderManifest?
    /// Ends the server after a failed sync; nil when the process is about to end anyway.
    private let failStop: FailStop?
    private(set) var containers: [String: ContainerSchemas] = [:]

    /// Reads the schema files of the folder that `disk` stands for.
    init(disk: any Disk, log: Log, manifest: FolderManifest? = nil, failStop: FailStop? = nil) throws(StoreError) {
        self.disk = disk
        self.manifest = manifest
        self.failStop = failStop
        self.log = log
        for schemas in try SchemaFile.readAll(from: disk) { containers[schemas.container] = schemas }
        if containers.isEmpty { return }
        // A process that ended may have left a file whose name can be seen but is not durable yet. From here on answers
        // depend on what the file says.
        do throws(DiskError) {
            try disk.syncDirectory(SchemaFile.folder)
        } catch {
            throw .disk(error)
        }
    }

    subscript(container: String) -> ContainerSchemas { containers[container] ?? ContainerSchemas(container: container) }

    /// Makes a change durable, then puts it into effect. Returns the schemas, changed or not.
    func change(
        _ container: String, _ body: (inout ContainerSchemas) throws(ServiceError) -> Void
    ) throws(ServiceError) -> ContainerSchemas {
        let former = self[container]
        var schemas = former
        try body(&schemas)
        if schemas == former { return former }
        do throws(DiskError) {
            try SchemaFile.write(schemas, to: disk)
            manifest?.noted(SchemaFile.path(of: container, on: disk), sequence: 0)
            // Costs nothing except for a container's first schema.
            try manifest?.saveNewSchemas()
        } catch {
            if error.isFull {
                throw ServiceError(
                    .serviceUnavailable,
                    "the server's disk is full, the schema stays as it was; try again when there is room",
                    retryAfterMilliseconds: ServerLimits.diskFullRetryMilliseconds)
            }
            log.error("a schema can't be written", [("reason", "\(error)")])
            if error.isFailedSync {
                failStop?(
                    "a schema can't be synced: \(error). Whether it changed shows at the next start; check the disk first"
                )
                throw ServiceError(
                    .serviceUnavailable,
                    "a schema can't be synced: whether it changed shows when the server starts again")
            }
            throw ServiceError(
                .serviceUnavailable, "the schema can't be written and stays as it was; the server's log says why",
                retryAfterMilliseconds: ServerLimits.diskFullRetryMilliseconds)
        }
        containers[container] = schemas
        return schemas
    }

    // MARK: What is done with schemas

    /// Has development's schema learn from a user's saves, up to the share that a user has.
    func learn(
        _ lesson: SchemaLesson, of user: String, container: String, share: SchemaShare, isStrict: Bool
    ) throws(ServiceError) -> ContainerSchemas {
        try change(container) { (schemas) throws(ServiceError) in
            try schemas.development.learn(lesson, of: user, share: share, isStrict: isStrict)
        }
    }

    /// Replaces development's schema, unless production would lose something.
    func importing(_ schema: Schema, container: String, validatesOnly: Bool) throws(ServiceError) -> ContainerSchemas {
        let problems = schema.problems(following: self[container].production.schema)
        guard problems.isEmpty else {
            let shown = problems.prefix(20).joined(separator: "; ")
            throw ServiceError(
                .invalidArguments, "the schema does not follow production's and nothing changed: \(shown)")
        }
        if validatesOnly { return self[container] }
        return try change(container) { (schemas) throws(ServiceError) in
            schemas.development.replaceSchema(with: schema)
        }
    }

    /// Adds development's schema to production's.
    ///
    /// - Parameter fingerprint: The fingerprint of the development schema that was looked at; another schema is not
    ///   deployed.
    func deploy(container: String, fingerprint: UInt32) throws(ServiceError) -> ContainerSchemas {
        guard self[container].development.schema.fingerprint == fingerprint else {
            throw ServiceError(
                .serverRejectedRequest, "the development schema has changed since it was looked at; look again")
        }
        return try change(container) { (schemas) throws(ServiceError) in
            schemas.production.schema = try schemas.production.schema.deploying(schemas.development.schema)
        }
    }

    /// Makes development's schema the same as production's again.
    func reset(container: String) throws(ServiceError) -> ContainerSchemas {
        try change(container) { (schemas) throws(ServiceError) in
            schemas.development.replaceSchema(with: schemas.production.schema)
        }
    }
}

extension Schema {
    /// A checksum that tells a schema from a later one.
    package var fingerprint: UInt32 { CRC32C.checksum(Array(SchemaPrinter.text(self).utf8)) }
}
