internal import BrumeLock
internal import BrumeModel

/// The ``ManifestFile`` of a folder that is in use: what is known now, and what of it is on the disk.
///
/// May be used on any thread. Takes some 150 bytes for each database, in memory or not.
package final class FolderManifest: Sendable {
    private struct State {
        var files: [String: UInt64]
        /// Whether something is known that is not on the disk.
        var isChanged: Bool
        /// Whether a schema is among that.
        var hasNewSchema = false
    }

    private let disk: any Disk
    private let state: Lock<State>
    /// Lets saves follow one after the other: held while the disk works.
    private let saving = Lock(())

    /// - Parameter isChanged: Whether it is not on the disk yet.
    package init(_ file: ManifestFile, on disk: any Disk, isChanged: Bool) {
        self.disk = disk
        state = Lock(State(files: file.files, isChanged: isChanged))
    }

    /// The manifest of a folder that no server has open; nil when it has none yet, and gets one when a server opens it.
    package static func open(on disk: any Disk) throws(StoreError) -> FolderManifest? {
        guard let meta = try MetaFile.read(from: disk), meta.hasManifest else { return nil }
        guard let file = try ManifestFile.read(from: disk) else {
            throw .damaged(ManifestFile.missing(ManifestFile.path, sequence: 0))
        }
        var names: Set<String>
        do throws(DiskError) {
            names = try ManifestFile.namesOfFiles(on: disk)
        } catch {
            throw .disk(error)
        }
        // A folder that is opened like this is not asked where its assets are.
        names.insert(BlobFolder.root)
        if let damage = file.missing(from: names).first { throw .damaged(damage) }
        return FolderManifest(file, on: disk, isChanged: false)
    }

    /// Notes that a file is in the folder, durably. The manifest on the disk says so after the next ``save()``.
    ///
    /// - Parameter sequence: The last commit that it holds; 0 for what is no snapshot.
    package func noted(_ path: String, sequence: UInt64) {
        state.withLock { state in
            let known = state.files[path]
            if let known, known >= sequence { return }
            state.files[path] = sequence
            state.isChanged = true
            if path.hasPrefix(SchemaFile.folder + "/") { state.hasNewSchema = true }
        }
    }

    /// Notes that a file has gone again that no manifest on the disk has named.
    package func forget(_ path: String) { state.withLock { $0.files[path] = nil } }

    /// The last commit that the file is known to hold; nil when no such file is known.
    package func leastSequence(of path: String) -> UInt64? { state.withLock { $0.files[path] } }

    /// Loads a database, and checks that its snapshot holds what it has to: nil is right for one that never had a
    /// snapshot.
    func checking(
        _ id: DatabaseID, on disk: any Disk, _ load: () throws(StoreError) -> Database?
    ) throws(StoreError) -> Database? {
        let path = SnapshotFormat.path(of: id, on: disk)
        // Before the file is opened: it may be replaced by a newer one meanwhile.
        let least = leastSequence(of: path)
        let database = try load()
        try ManifestFile.check(path, holds: database?.sequence, atLeast: least)
        return database
    }

    /// Makes what is known durable. After an error it is not.
    package func save() throws(DiskError) {
        let result: Result<Void, DiskError> = saving.withLock { _ in
            let changed: (files: [String: UInt64], hasNewSchema: Bool)? = state.withLock { state in
                if !state.isChanged { return nil }
                defer { (state.isChanged, state.hasNewSchema) = (false, false) }
                return (state.files, state.hasNewSchema)
            }
            guard var changed else { return .success(()) }
            do throws(DiskError) {
                if changed.files[BlobFolder.root] == nil, try ManifestFile.holdsAssets(disk) {
                    // Whoever made it may not have made its name durable yet.
                    try disk.syncDirectory("")
                    changed.files[BlobFolder.root] = 0
                    state.withLock { $0.files[BlobFolder.root] = 0 }
                }
                try disk.replaceFile(ManifestFile.path, in: "", with: ManifestFile(files: changed.files).encoded)
                return .success(())
            } catch {
                state.withLock { state in
                    state.isChanged = true
                    if changed.hasNewSchema { state.hasNewSchema = true }
                }
                return .failure(error)
            }
        }
        try result.get()
    }

    /// The same, but only where a schema is not named on the disk yet: no journal holds what it holds.
    package func saveNewSchemas() throws(DiskError) {
        if state.withLock({ $0.hasNewSchema }) { try save() }
    }
}
