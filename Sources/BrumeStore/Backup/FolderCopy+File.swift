extension FolderCopy {
    /// Copies everything to a backup file, which must not exist; see ``BackupFormat``. When this returns its content is
    /// durable, and its name is not yet; when it throws, what is left under the name is of no use.
    ///
    /// - Parameters:
    ///   - salt: Random, for a journal that is made.
    ///   - progress: Called with the number of bytes that have been copied.
    package func run(
        toFile path: String, on target: any Disk, salt: UInt64, progress: (UInt64) -> Void
    ) throws(StoreError) {
        do throws(DiskError) {
            var writer = try BackupFileWriter(creating: path, on: target)
            defer { writer.close() }
            var done: UInt64 = 0
            for item in items {
                try add(item.path, to: &writer) { count in
                    done += count
                    progress(done)
                }
            }
            let newSchemas = try newSchemas()
            for path in newSchemas { try add(path, to: &writer) { _ in } }
            try addAssets(to: &writer) { count in
                done += count
                progress(done)
            }
            if kind == .inUse {
                let segment = SegmentHeader(number: 1, firstBatch: 1, salt: salt, previousCRC: 0).encoded
                let bytes =
                    segment + [UInt8](repeating: 0, count: FolderCopy.emptyJournalBytes - segment.count)
                try add(bytes, named: JournalFormat.path(ofSegment: 1), to: &writer)
                let extent = JournalExtent(oldestSegment: 1, newestSegment: 1, lastSyncedBatch: 0)
                if meta.hasManifest { try add(extent.encoded, named: JournalExtent.path, to: &writer) }
            }
            if var manifest {
                for path in newSchemas { manifest.files[path] = 0 }
                try add(manifest.encoded, named: ManifestFile.path, to: &writer)
            }
            try add(meta.encoded, named: MetaFile.path, to: &writer)
            try writer.finish()
        } catch {
            throw .disk(error)
        }
    }

    private func add(
        _ path: String, to writer: inout BackupFileWriter, progress: (UInt64) -> Void
    ) throws(DiskError) {
        let input = try disk.openForReading(path)
        defer { disk.close(input) }
        try add(input, named: path, to: &writer, reading: disk.read, progress: progress)
    }

    /// Adds an open file.
    func add(
        _ input: DiskFile, named path: String, to writer: inout BackupFileWriter, reading read: Reading,
        progress: (UInt64) -> Void
    ) throws(DiskError) {
        // An open file does not change: a newer one that takes its place meanwhile is another file.
        let size = try disk.size(of: input)
        try writer.begin(path, byteCount: size)
        var offset: UInt64 = 0
        while offset < size {
            let length = Int(min(UInt64(StoreLimits.backupBlockBytes), size - offset))
            let bytes = try read(input, offset, length)
            guard bytes.count == length else {
                throw DiskError(call: "read", path: path, message: "the file became shorter while it was copied")
            }
            try writer.append(bytes)
            offset += UInt64(length)
            progress(UInt64(length))
        }
    }

    private func add(_ bytes: [UInt8], named name: String, to writer: inout BackupFileWriter) throws(DiskError) {
        try writer.begin(name, byteCount: UInt64(bytes.count))
        try writer.append(bytes)
    }
}
