package import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// The testing kit's access to the stored contents of assets. Both functions wait for the disk.
extension Server {
    /// Changes one byte of a stored content, as a disk that decays would.
    ///
    /// - Parameter offset: Which byte; the content must have it.
    package func damage(_ asset: Asset, of database: DatabaseID, at offset: UInt64) throws(ServerError) {
        try change(asset, of: database) { (disk, path) throws(DiskError) in
            let file = try disk.openForWriting(path)
            defer { disk.close(file) }
            let bytes = try disk.read(file, at: offset, length: 1)
            try disk.write(bytes.map { ~$0 }, to: file, at: offset)
        }
    }

    /// Removes the file of a stored content, which the server does not notice.
    package func lose(_ asset: Asset, of database: DatabaseID) throws(ServerError) {
        try change(asset, of: database) { (disk, path) throws(DiskError) in try disk.remove(path) }
    }

    private func change(
        _ asset: Asset, of database: DatabaseID, _ body: (RealDisk, _ path: String) throws(DiskError) -> Void
    ) throws(ServerError) {
        let path = BlobFolder(of: database, on: assets.disk).path(of: BlobName(asset))
        do throws(DiskError) { try body(assets.disk, path) } catch { throw ServerError(.folder, "\(error)") }
    }
}
