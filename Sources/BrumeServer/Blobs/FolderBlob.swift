internal import BrumeModel
internal import BrumeService
internal import BrumeStore

/// A blob of a folder that is read on the store's threads, a block at a time, each checked before any of it leaves.
final class FolderBlob: StoredBlob {
    private let reader: BlobReader
    private let store: FolderBlobStore
    private let lane: DiskThreads.Lane
    private let account: ClientShare.Key

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
        // A client that goes on at the end has all of it.
        if offset == reader.byteCount { return [] }
        let start = Int(offset % UInt64(BlobReader.blockBytes))
        let block = try reader.read(block: Int(offset / UInt64(BlobReader.blockBytes)))
        return start == 0 ? block : Array(block[start...])
    }

    func close() {
        store.threads.add({ [reader] in reader.close() }, in: lane, of: account)
    }
}
