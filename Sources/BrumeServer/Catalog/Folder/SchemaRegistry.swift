internal import BrumeModel
internal import BrumeService
internal import BrumeStore
internal import BrumeSystem

/// The schemas of all containers of a data folder, and their files.
///
/// Belongs to the admin loop once that runs, since a change waits for the disk.
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
        do throws(WriteError) {
            try write(schemas, inPlaceOf: containers[container])
        } catch {
            switch error {
            case .refused(let cause) where cause.isFull:
                throw ServiceError(
                    .serviceUnavailable,
                    "the server's disk is full, the schema stays as it was; try again when there is room",
                    retryAfterMilliseconds: ServiceLimits.diskFullRetryMilliseconds)
            case .refused(let cause):
                log.error("a schema can't be written", [("reason", "\(cause)")])
                throw ServiceError(
                    .serviceUnavailable, "the schema can't be written and stays as it was; the server's log says why",
                    retryAfterMilliseconds: ServiceLimits.diskFullRetryMilliseconds)
            case .uncertain(let cause):
                log.error("a schema can't be written", [("reason", "\(cause)")])
                failStop?(
                    "a schema can't be written: \(cause). Whether it changed shows at the next start; check the disk"
                        + " first")
                throw ServiceError(
                    .serviceUnavailable,
                    "a schema can't be written: whether it changed shows when the server starts again")
            }
        }
        containers[container] = schemas
        return schemas
    }

    /// Why schemas were not written.
    private enum WriteError: Error {
        /// The disk has those from before.
        case refused(DiskError)
        /// The disk may have either.
        case uncertain(DiskError)

        init(_ error: DiskError) { self = error.isFailedSync ? .uncertain(error) : .refused(error) }
    }

    /// Writes the file of a container, and has the manifest name it, unless it does so already. A file that can't be
    /// named is taken back: the change has failed then, and the next start must not find it.
    private func write(
        _ schemas: ContainerSchemas, inPlaceOf former: ContainerSchemas?
    ) throws(WriteError) {
        let path = SchemaFile.path(of: schemas.container, on: disk)
        do throws(DiskError) {
            try SchemaFile.write(schemas, to: disk)
        } catch {
            throw WriteError(error)
        }
        guard let manifest, manifest.leastSequence(of: path) == nil else { return }
        manifest.noted(path, sequence: 0)
        do throws(DiskError) {
            try manifest.saveNewSchemas()
        } catch {
            if error.isFailedSync { throw .uncertain(error) }
            manifest.forget(path)
            do throws(DiskError) {
                if let former {
                    try SchemaFile.write(former, to: disk)
                } else {
                    try disk.remove(path)
                    try disk.syncDirectory(SchemaFile.folder)
                }
            } catch {
                throw .uncertain(error)
            }
            throw .refused(error)
        }
    }
}
