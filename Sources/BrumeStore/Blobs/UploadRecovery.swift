/// What earlier processes left of uploads to a database, learnt in pieces: there may be very many.
///
/// Nobody opens an upload meanwhile, or goes on with one: the files of an upload that began during it would be taken
/// for some that were left. A damaged note is ignored: its client starts over. What belongs to no upload is removed, as
/// far as that can be done.
package struct UploadRecovery {
    /// Notes that are read, or files that are removed, in one piece.
    package static let filesPerStep = 64

    private let folder: BlobFolder
    /// The files of the uploads' folder, sorted.
    private let names: [String]
    private let present: Set<String>
    /// The uploads of which something is kept.
    private var kept = Set<String>()
    /// How many of the files were read, and then how many were looked at for removal.
    private var readCount = 0
    private var tidiedCount = 0
    package private(set) var isDone = false

    init(of folder: BlobFolder) throws(DiskError) {
        self.folder = folder
        names = try folder.disk.list(folder.incoming)
        present = Set(names)
        // An earlier process may have left names that can be seen and are not durable yet.
        if names.isEmpty { isDone = true } else { try folder.disk.syncDirectory(folder.incoming) }
    }

    /// Goes on, and returns the uploads that were found, in an order that is always the same.
    package mutating func step() throws(DiskError) -> [BlobFolder.KeptUpload] {
        if isDone { return [] }
        if readCount < names.count { return try readSome() }
        try tidySome()
        return []
    }

    private mutating func readSome() throws(DiskError) -> [BlobFolder.KeptUpload] {
        var uploads: [BlobFolder.KeptUpload] = []
        let end = min(readCount + UploadRecovery.filesPerStep, names.count)
        defer { readCount = end }
        for fileName in names[readCount..<end] where fileName.hasSuffix(BlobUpload.noteSuffix) {
            let name = String(fileName.dropLast(BlobUpload.noteSuffix.utf8.count))
            if folder.isOpen(name) { continue }
            do throws(DiskError) {
                let hasContent = present.contains(name + BlobUpload.contentSuffix)
                guard let upload = try folder.keptUpload(name, hasContent: hasContent) else { continue }
                uploads.append(upload)
            } catch {
                if error.isFailedSync { throw error }
                // What the disk does not give stays as it is, and does not keep the others from going on.
            }
            kept.insert(name)
        }
        return uploads
    }

    private mutating func tidySome() throws(DiskError) {
        let end = min(tidiedCount + UploadRecovery.filesPerStep, names.count)
        for fileName in names[tidiedCount..<end] where BlobFolder.isUploads(fileName) {
            let name = String(fileName.prefix { $0 != "." })
            let isNeeded = kept.contains(name) && !fileName.hasSuffix(temporaryFileSuffix)
            if isNeeded || folder.isOpen(name) { continue }
            _ = try? folder.remove(folder.incoming + "/" + fileName)
        }
        tidiedCount = end
        if end < names.count { return }
        // Otherwise a power cut might bring a note back, for another content under its name.
        try folder.disk.syncDirectory(folder.incoming)
        isDone = true
    }
}
