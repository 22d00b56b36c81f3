package import BrumeModel

/// An upload that is being written: its content in a file of its own, until it is whole and becomes a blob.
///
/// One thread at a time uses it, and every call blocks. Nobody else can open the upload meanwhile, until it is closed:
/// by ``close()``, ``discard()``, ``end(as:)`` or ``BlobFolder/seal(_:as:)``, or because nothing refers to it. A call
/// that found the disk full may be made again; after another error the upload is closed, and opened again.
package final class BlobUpload: @unchecked Sendable {
    /// What an upload is of, from its beginning to its end.
    package struct Identity: Hashable, Sendable {
        /// The client's id for the upload: users may have the same ones.
        package let id: UploadID
        /// The user record name of its sender.
        package let user: String
        /// The name of the zone that it is for.
        package let zone: String
        /// Bytes that its content will have.
        package let byteCount: UInt64

        package init(id: UploadID, user: String, zone: String, byteCount: UInt64) {
            self.id = id
            self.user = user
            self.zone = zone
            self.byteCount = byteCount
        }

        /// The name of its files, without a suffix.
        func fileName(on disk: any Disk) -> String {
            disk.sha256(id.bytes + user.utf8).prefix(UploadID.byteCount).hexadecimal
        }
    }

    static let contentSuffix = ".part"
    static let noteSuffix = ".note"
    /// What is durable of an upload, and is written back and read again, are whole MiBs: a multiple of
    /// ``BlobFormat/blockBytes``.
    static let pieceBytes = 1024 * 1024

    package let identity: Identity
    private let disk: any Disk
    private let folder: String
    private let path: String
    private let notePath: String
    private let file: DiskFile
    /// Called once, when it is closed.
    private let closed: @Sendable () -> Void
    /// Whether the process has ended: then nothing is done to the files any more.
    private let isAbandoned: @Sendable () -> Bool
    private var isClosed = false
    private var isSealed = false
    /// Whether what was durable is not there as it was.
    private var isBroken = false

    private let hash: any ContentHash
    private var checksums = BlockChecksums()
    private var checksum: AssetChecksum?
    /// The bytes that the disk was told to write, of those that it was given.
    private var writtenBack: UInt64 = 0
    /// What the note says; nil while there is none.
    private var note: UploadNote?

    /// - Parameters:
    ///   - name: Of its files, in `folder`, without a suffix.
    ///   - file: Its content, open for writing: an empty one, or one that holds what a note says.
    init(
        _ identity: Identity, name: String, in folder: String, file: DiskFile, note: UploadNote?, on disk: any Disk,
        closed: @escaping @Sendable () -> Void, isAbandoned: @escaping @Sendable () -> Bool
    ) {
        (self.identity, self.folder, self.file, self.note, self.disk) = (identity, folder, file, note, disk)
        path = folder + "/" + name + BlobUpload.contentSuffix
        notePath = folder + "/" + name + BlobUpload.noteSuffix
        hash = disk.makeContentHash()
        writtenBack = note?.durableByteCount ?? 0
        (self.closed, self.isAbandoned) = (closed, isAbandoned)
    }

    deinit { close() }

    /// Bytes of the content so far.
    package var byteCount: UInt64 { checksums.byteCount }

    package var isWhole: Bool { byteCount == identity.byteCount }

    /// The bytes of it that are there after a crash.
    package var durableByteCount: UInt64 { note?.durableByteCount ?? 0 }

    // MARK: Going on

    /// Whether it has read again what was durable before: only then does it go on.
    package var isCaughtUp: Bool { !isBroken && byteCount >= durableByteCount }

    /// Reads again a MiB of what was durable before. False when it is not there as it was: the upload is of no use
    /// then, and is discarded.
    package func catchUp() throws(DiskError) -> Bool {
        guard let note, !isCaughtUp, !isBroken else { return !isBroken }
        let bytes = try disk.read(file, at: byteCount, length: BlobUpload.pieceBytes)
        hash.update(bytes)
        checksums.update(bytes)
        isBroken =
            bytes.count < BlobUpload.pieceBytes
            || isCaughtUp && BlockChecksums.combined(checksums.values) != note.checksum
        return !isBroken
    }

    // MARK: Writing

    /// Appends to the content. More than was announced is the caller's bug.
    package func append(_ bytes: [UInt8]) throws(DiskError) {
        precondition(isCaughtUp, "an upload goes on before it has caught up")
        precondition(UInt64(bytes.count) <= identity.byteCount - byteCount, "an upload is longer than it was to be")
        if bytes.isEmpty { return }
        try disk.write(bytes, to: file, at: byteCount)
        hash.update(bytes)
        checksums.update(bytes)
        // Otherwise a sync would write all of it at once, and the syncs of commits would wait in between.
        if byteCount - writtenBack >= UInt64(BlobUpload.pieceBytes) {
            try disk.writeBack(writtenBack..<byteCount, of: file)
            writtenBack = byteCount
        }
    }

    /// Whether so much was written since it was last made durable that it is time again.
    package var isCheckpointDue: Bool {
        isCaughtUp && byteCount - durableByteCount >= StoreLimits.uploadCheckpointBytes
    }

    /// Makes what there is durable, whole MiBs of it, and notes it: from there it goes on after a crash. Less than a
    /// MiB is not worth it, and stays as it is.
    package func checkpoint() throws(DiskError) {
        let durable = byteCount - byteCount % UInt64(BlobUpload.pieceBytes)
        if durable <= durableByteCount { return }
        try disk.sync(file)
        let whole = checksums.values.prefix(Int(durable) / BlobFormat.blockBytes)
        try write(UploadNote(identity, durableByteCount: durable, checksum: BlockChecksums.combined(whole)))
    }

    private func write(_ note: UploadNote) throws(DiskError) {
        try disk.replaceFile(notePath, in: folder, with: note.encoded)
        self.note = note
    }

    /// Notes which blob the upload becomes. One that has no note needs none: it begins anew after a crash.
    private func noteBlob(_ name: BlobName) throws(DiskError) {
        guard var note else { return }
        note.blob = name
        if note != self.note { try write(note) }
    }

    // MARK: The end

    /// The SHA-256 of the content, which must be whole.
    package func finishChecksum() -> AssetChecksum {
        precondition(isWhole, "an upload is asked for its checksum before it is whole")
        if let checksum { return checksum }
        guard let checksum = AssetChecksum(hash.finish()) else { preconditionFailure("SHA-256 has 32 bytes") }
        self.checksum = checksum
        return checksum
    }

    /// Gives the content its name as a blob, and closes the upload. See ``BlobFolder/seal(_:as:)``.
    func seal(as name: BlobName, at target: String) throws(DiskError) {
        precondition(name.checksum == finishChecksum(), "an upload becomes another content's blob")
        // From here on the file may be longer than the upload, and may have the blob's name.
        try noteBlob(name)
        let trailer = BlobFormat.trailer(of: name, byteCount: byteCount, checksums: checksums.values)
        try disk.write(trailer, to: file, at: byteCount)
        try disk.sync(file)
        try disk.rename(path, to: target)
        isSealed = true
        close()
    }

    /// The upload has become a blob that is there already, durably: its content is removed, and it is closed.
    package func end(as name: BlobName) throws(DiskError) {
        precondition(name.checksum == finishChecksum(), "an upload becomes another content's blob")
        try noteBlob(name)
        try disk.remove(path)
        giveBack()
    }

    /// Closes it. It is kept if some of it is durable; otherwise nobody could go on with it, and it is removed.
    package func close() {
        if isClosed || isAbandoned() { return }
        if note == nil, !isSealed {
            try? disk.remove(path)
            return giveBack()
        }
        isClosed = true
        disk.close(file)
        closed()
    }

    /// Removes all that there is of it, and closes it.
    package func discard() throws(DiskError) {
        defer { giveBack() }
        if note != nil {
            try disk.remove(notePath)
            // Otherwise a power cut might bring it back, for another content under its name.
            try disk.syncDirectory(folder)
        }
        try disk.remove(path)
    }

    private func giveBack() {
        if isClosed { return }
        isClosed = true
        disk.giveBack(file)
        closed()
    }
}
