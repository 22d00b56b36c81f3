package import BrumeModel

/// Which databases of a container have snapshots.
package enum SnapshotListing {
    /// The containers of all databases that have snapshots, as far as the names of the files tell: those of long names
    /// do not.
    package static func containers(on disk: any Disk) throws(StoreError) -> Set<String> {
        do throws(DiskError) {
            return Set(
                try disk.list(SnapshotFormat.folder).compactMap { SnapshotFormat.database(ofFile: $0)?.container })
        } catch {
            throw .disk(error)
        }
    }

    /// The databases of a container, by the names of their files; files whose names are digests are read to learn
    /// theirs.
    package static func databases(
        of container: String, _ environment: Environment, on disk: any Disk
    ) throws(StoreError) -> [DatabaseID] {
        let names: [String]
        do throws(DiskError) {
            names = try disk.list(SnapshotFormat.folder)
        } catch {
            throw .disk(error)
        }
        var found: [DatabaseID] = []
        for name in names where name.hasSuffix(SnapshotFormat.suffix) {
            if let id = SnapshotFormat.database(ofFile: name) {
                if id.container == container, id.environment == environment { found.append(id) }
            } else if SnapshotFormat.isDigest(name) {
                let path = SnapshotFormat.folder + "/" + name
                guard let database = try SnapshotReader.read(path, epoch: 0, from: disk, expecting: nil) else {
                    continue
                }
                if database.id.container == container, database.id.environment == environment {
                    found.append(database.id)
                }
            }
        }
        return found
    }
}
