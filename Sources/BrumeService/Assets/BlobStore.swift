package import BrumeModel
package import BrumeStore

/// Where the contents of assets lie, apart from records and journal.
///
/// Whatever it does waits for a disk, or for a network: it is done elsewhere, and the callback comes on a thread of the
/// store. What is asked of one transfer is done in the order in which it is asked. Any thread.
///
/// A store gives a content no meaning: it does not know who may have it. A name is given to one content only, once.
package protocol BlobStore: AnyObject, Sendable {
    /// The process has ended, or is about to: what is open is left as it is.
    func abandon()

    /// Begins an upload, or goes on with what is kept of it.
    func beginUpload(
        _ upload: BlobUpload.Identity, to database: DatabaseID, of account: ClientShare.Key,
        then done: @escaping @Sendable (Result<UploadBeginning, BlobFailure>) -> Void)

    /// Opens a blob to read it.
    func open(
        _ name: BlobName, of database: DatabaseID, for account: ClientShare.Key,
        then done: @escaping @Sendable (Result<any StoredBlob, BlobFailure>) -> Void)

    /// Looks which blobs are there, durably, and how many bytes they have.
    func find(
        _ names: [BlobName], of database: DatabaseID, for account: ClientShare.Key,
        then done: @escaping @Sendable (Result<[BlobName: UInt64], BlobFailure>) -> Void)

    /// The first bytes of the checksums of a database's blobs, sorted.
    func buckets(of database: DatabaseID, then done: @escaping @Sendable (Result<[UInt8], BlobFailure>) -> Void)

    /// Lists the blobs whose checksums begin with a byte, and how many bytes they have, in an order that is always the
    /// same: so no list is of all.
    func list(
        _ bucket: UInt8, of database: DatabaseID,
        then done: @escaping @Sendable (Result<[(name: BlobName, byteCount: UInt64)], BlobFailure>) -> Void)

    /// The databases of which anything may be stored.
    func databases(then done: @escaping @Sendable (Result<[DatabaseID], BlobFailure>) -> Void)

    /// Learns what was kept of uploads to a database before the start, if it does not know: they are kept from now on.
    func recoverUploads(of database: DatabaseID, then done: @escaping @Sendable () -> Void)

    /// Forgets uploads that were left long ago, and what it remembers of databases that nobody uses.
    func forgetOldUploads(then done: @escaping @Sendable () -> Void)

    /// Nothing is stored of a database any more, as far as its records know: what is left of its places goes, unless
    /// somebody uses them.
    func tidy(_ database: DatabaseID, then done: @escaping @Sendable () -> Void)

    /// Removes blobs. Gives those that could not be removed: that is to be tried again.
    func remove(
        _ names: [BlobName], of database: DatabaseID, then done: @escaping @Sendable (_ failed: [BlobName]) -> Void)
}

/// Why a store did not do what it was asked for.
package enum BlobFailure: Error, Equatable, Sendable {
    /// There is no room. What was asked for may be asked for again.
    case full
    /// There is no such blob.
    case missing
    /// What is stored is not what was stored. The text is for the operator.
    case damaged(String)
    /// The disk does not do it. The text is for the operator.
    case failed(String)
}

/// What there is of an upload that somebody begins.
package enum UploadBeginning: Sendable {
    /// The bytes that it has already; the next one comes behind them.
    case open(any StoredUpload, byteCount: UInt64)
    /// It has become this blob.
    case complete(BlobName)
    /// Somebody has it open: a client may have come back before the end of its former connection was noticed.
    case busy
}

/// An upload that is open. It ends with ``close()``, or as a blob.
package protocol StoredUpload: Sendable {
    /// Adds to the content: no more than the upload was to have.
    func append(_ bytes: [UInt8], then done: @escaping @Sendable (BlobFailure?) -> Void)
    /// Computes the SHA-256 of the content, which is whole.
    func finish(then done: @escaping @Sendable (Result<AssetChecksum, BlobFailure>) -> Void)
    /// Gives the content its name, and ends the upload: the blob is durable then. After a failure the upload may be
    /// begun again.
    func become(_ name: BlobName, then done: @escaping @Sendable (BlobFailure?) -> Void)
    /// Ends the upload as a blob that is there already, whose content is the same. Fails with `missing` when it is not
    /// there: the upload goes on then, and may become another.
    func end(as name: BlobName, then done: @escaping @Sendable (BlobFailure?) -> Void)
    /// Drops all that there is of it.
    func discard()
    /// Leaves it as it is: it can be begun again.
    func close()
}

/// A blob that is open.
package protocol StoredBlob: Sendable {
    /// Bytes of the content.
    var byteCount: UInt64 { get }
    /// Reads from a byte on, as many as there are at hand, a few hundred KiB at the most: none but what is whole.
    func read(at offset: UInt64, then done: @escaping @Sendable (Result<[UInt8], BlobFailure>) -> Void)
    func close()
}
