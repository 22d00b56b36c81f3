internal import BrumeModel
internal import BrumeService
internal import BrumeStore

/// A blob of a folder that is read on the store's threads.
///
/// A MiB is checked as a whole before any of it leaves, and then read again in pieces, which come from the system's
/// memory: so that a transfer holds a piece and not a MiB.
final class FolderBlob: StoredBlob, @unchecked Sendable {
    private let reader: BlobReader
    private let store: FolderBlobStore
    private let lane: DiskThreads.Lane
    private let account: ClientShare.Key
    /// The block that was checked last. In the lane.
    private var checkedBlock: Int?

    init(_ reader: BlobReader, of store: FolderBlobStore, lane: DiskThreads.Lane, account: ClientShare.Key) {
        (self.reader, self.store, self.lane, self.account) = (reader, store, lane, account)
    }

    var byteCount: UInt64 { reader.byteCount }

    func read(at offset: UInt64, then done: @escaping @Sendable (Result<[UInt8], BlobFailure>) -> Void) {
        store.threads.add(
            { [self] in
                do throws(StoreError) {
                    done(.success(try piece(at: offset)))
                } catch {
                    done(.failure(store.failure(error)))
                }
            }, in: lane, of: account)
    }

    private func piece(at offset: UInt64) throws(StoreError) -> [UInt8] {
        let block = Int(offset / UInt64(BlobReader.blockBytes))
        if checkedBlock != block {
            try reader.check(block: block)
            checkedBlock = block
        }
        let end = min(UInt64(block + 1) * UInt64(BlobReader.blockBytes), reader.byteCount)
        return try reader.read(at: offset, count: Int(min(end - offset, UInt64(FolderBlob.maxReadBytes))))
    }

    func close() {
        store.threads.add({ [reader] in reader.close() }, in: lane, of: account)
    }
}
