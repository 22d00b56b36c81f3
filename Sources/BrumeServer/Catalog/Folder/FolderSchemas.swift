package import BrumeModel
internal import BrumeService
internal import BrumeStore
internal import BrumeSystem

/// The schemas of a container in a data folder that no server has open: for the commands that administer a stopped
/// server.
///
/// Holds the folder's lock until ``release()``; records are neither read nor recovered.
package final class FolderSchemas {
    private let folder: StoppedFolder
    private let disk: RealDisk
    private let registry: SchemaRegistry
    private var container: String { folder.container }

    /// Opens the folder; makes it when it is missing.
    ///
    /// - Parameter isOperators: Whether the audit log has notes of what is done.
    /// - Throws: `folderInUse` while a server, or another command, has the folder.
    package init(
        dataFolder: String, container: String, environment: Environment, isOperators: Bool = false
    ) throws(ServerError) {
        folder = try StoppedFolder(
            dataFolder, container: container, environment: environment, isOperators: isOperators)
        disk = RealDisk(folder: dataFolder)
        do throws(StoreError) {
            registry = try SchemaRegistry(disk: disk, log: .none, manifest: FolderManifest.open(on: disk))
        } catch {
            switch error {
            case .disk: throw ServerError(.folder, "\(dataFolder): \(error)")
            case .damaged, .unknownVersion: throw ServerError(damaged: dataFolder, error)
            }
        }
    }

    /// Releases the folder for a server.
    package func release() { folder.release() }

    /// The containers that have a schema or snapshots, in order. What only the journal holds is not among them, nor are
    /// names that are too long for a file's.
    package func containers() throws(ServerError) -> [String] {
        do throws(StoreError) {
            return try SnapshotListing.containers(on: disk).union(registry.containers.keys).sorted()
        } catch {
            throw ServerError(.folder, "the snapshots can't be listed: \(error)")
        }
    }

    /// The schema of the environment.
    package var schema: Schema { registry[container][folder.environment].schema }

    /// Replaces development's schema, unless production would lose something.
    package func importSchema(_ schema: Schema, validatesOnly: Bool) throws(ServiceError) {
        try change(.importSchema([], validatesOnly: validatesOnly)) { (schemas) throws(ServiceError) in
            try schemas.importSchema(schema, validatesOnly: validatesOnly)
        }
    }

    /// Adds development's schema, which has to be the one with that fingerprint, to production's.
    package func deploySchema(fingerprint: UInt32) throws(ServiceError) {
        try change(.deploySchema(fingerprint: fingerprint)) { (schemas) throws(ServiceError) in
            try schemas.deploy(fingerprint: fingerprint)
        }
    }

    /// Makes `schema` the schema of both environments, for a server that is about to start.
    package func install(_ schema: Schema) throws(ServiceError) {
        try importSchema(schema, validatesOnly: false)
        try deploySchema(fingerprint: schema.fingerprint)
    }

    /// Puts an account into a security role, or takes it out.
    package func setRoleMember(role: String, account: String, isMember: Bool) throws(ServiceError) {
        guard let known = folder.accounts.directory.account(named: account) else {
            throw ServiceError(.unknownItem, AccountTable.unknown(account).message)
        }
        let user = folder.view(known).userRecordName
        let environment = folder.environment
        try change(.setRoleMember(role: role, account: account, isMember: isMember)) { (schemas) throws(ServiceError) in
            try schemas[environment].setMember(user, of: role, isMember)
        }
    }

    private func change(_ request: AdminRequest, _ change: SchemaChange) throws(ServiceError) {
        _ = try folder.audited(request, reported: { $0 }, refused: { $0 }) { () throws(ServiceError) in
            try registry.change(container, change)
        }
    }

    /// All accounts in roles.
    package func roleMembers() -> [RoleMember] {
        let members = registry[container][folder.environment].members
        let names = Dictionary(
            folder.accounts.directory.list().map { (folder.view($0).userRecordName, $0.name) },
            uniquingKeysWith: { first, _ in first })
        return members.keys.sorted().map {
            RoleMember(account: names[$0] ?? "", userRecordName: $0, roles: members[$0]!.sorted())
        }
    }
}
