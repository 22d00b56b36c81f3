/// An earlier copy of a data folder, from which a new one takes over the contents of assets.
///
/// A file has its name for one content alone, and never changes under it (``BlobFormat``). So every copy that has a
/// file of that name, of an older state of the folder or of a newer one, has the same file, unless a disk damaged it.
/// It is taken over only when it is as long as the one that would be copied, and its end is whole: the length and the
/// checksums of the blocks are there, bound to the name by a checksum of their own. This costs two short reads, and
/// finds files that are cut off, that were never written to their ends, or that have another one's name. Damage in the
/// midst of a content is found by reading all of it.
package struct EarlierCopy: Sendable {
    /// What an earlier copy has of an asset.
    package enum Finding: Equatable, Sendable {
        case absent
        /// The file can't be read, or is not what was written.
        case damaged
        /// It may be taken over; the bytes of its content.
        case whole(contentBytes: UInt64)
    }

    let disk: any Disk
    private let readsAll: Bool

    /// - Parameter readsAll: Whether every byte of an asset is read and checked before it is taken over.
    /// - Throws: `damaged` when what `disk` stands for is no complete copy: it has no `brume.meta`, which comes last.
    package init(on disk: any Disk, readsAll: Bool) throws(StoreError) {
        guard try MetaFile.read(from: disk) != nil else {
            throw .damaged(Damage(missing: MetaFile.path, "the file is missing: this is no complete copy"))
        }
        (self.disk, self.readsAll) = (disk, readsAll)
    }

    /// Looks for an asset's file.
    ///
    /// - Parameters:
    ///   - path: The file's path in each of the folders.
    ///   - byteCount: How long the file is that would be copied otherwise.
    package func find(_ path: String, byteCount: UInt64) -> Finding {
        find(path, byteCount: byteCount) { _ in }
    }

    /// The same; `take` gets the open file of one that may be taken over, which its path may not lead to any more.
    package func find<Failure: Error>(
        _ path: String, byteCount: UInt64, taking take: (DiskFile) throws(Failure) -> Void
    ) throws(Failure) -> Finding {
        let file = path.split(separator: "/").last ?? ""
        guard BlobFiles.isPath(path), let name = BlobName(fileName: String(file)) else {
            preconditionFailure("something else than an asset is looked for in a copy")
        }
        let found: BlobReader
        do throws(StoreError) {
            guard let reader = try BlobReader(name, at: path, on: disk) else { return .absent }
            found = reader
        } catch {
            return .damaged
        }
        defer { found.close() }
        // One of the two is damaged: the folder's own is copied, and verified like all that is new.
        guard found.fileByteCount == byteCount else { return .damaged }
        if readsAll {
            do throws(StoreError) { try found.verify() } catch { return .damaged }
        }
        try take(found.file)
        return .whole(contentBytes: found.byteCount)
    }
}
