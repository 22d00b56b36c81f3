/// Continues without what is missing in a data folder, because its operator decides so and has no backup.
///
/// It repairs three kinds of damage, and no other: files that the ``ManifestFile`` names and that are missing, or older
/// than they should be; segments that are missing at the journal's ends, or all of them; and an end of the journal that
/// can't be read. The manifest and the journal's extent then say what is there. Nothing is deleted: a segment whose end
/// is cut is kept as it was, beside it, under a name that ends in `.damaged`. The folder gets another epoch, so that
/// what clients know of the lost part expires.
package struct LossAcceptance {
    /// What is lost, one for each file.
    package private(set) var losses: [Verification.Problem] = []
    private let disk: any Disk

    /// Changes the folder that `disk` stands for, which no server uses.
    ///
    /// - Throws: `damaged` for a loss that can't be accepted: restore a backup then. Nothing was changed.
    package init(on disk: any Disk, options: JournalWriter.Options, newEpoch: UInt32) throws(StoreError) {
        self.disk = disk
        guard let meta = try MetaFile.read(from: disk), meta.hasManifest else {
            throw .damaged(ManifestFile.missing(MetaFile.path, sequence: 0))
        }
        let manifest = try manifestOfWhatIsThere()
        let cut = try cutOfLastSegment()
        let end = try journalEnd(with: cut)
        do throws(DiskError) {
            try disk.replaceFile(ManifestFile.path, in: "", with: manifest.encoded)
            if let cut {
                try disk.replaceFile(cut.path + ".damaged", in: JournalFormat.folder, with: cut.former)
                try disk.replaceFile(cut.path, in: JournalFormat.folder, with: cut.bytes)
            }
            if let end {
                let extent = JournalExtent(
                    oldestSegment: end.oldestSegment, newestSegment: end.header.number,
                    lastSyncedBatch: end.scan.nextBatch - 1)
                try disk.replaceFile(JournalExtent.path, in: JournalFormat.folder, with: extent.encoded)
            } else {
                try disk.makeDirectory(JournalFormat.folder)
                try JournalWriter(creatingOn: disk, options: options).close()
            }
            try MetaFile(epoch: newEpoch).write(to: disk)
        } catch {
            throw .disk(error)
        }
    }

    private mutating func lost(_ damage: Damage, affects: String) {
        losses.append(
            Verification.Problem(file: damage.file, offset: damage.offset, problem: damage.problem, affects: affects))
    }

    // MARK: Snapshots and schemas

    private mutating func manifestOfWhatIsThere() throws(StoreError) -> ManifestFile {
        let names: Set<String>
        do throws(DiskError) {
            names = try ManifestFile.namesOfFiles(on: disk)
        } catch {
            throw .disk(error)
        }
        var file = ManifestFile()
        if let found = try unlessDamaged(
            ManifestFile.path, ManifestFile.read(from:),
            affects: "whatever snapshots and schemas were there beside those that are")
        {
            for damage in found.missing(from: names) {
                lost(
                    damage,
                    affects: damage.file == BlobFolder.root
                        ? "the contents of all assets"
                        : damage.file == AssetPlace.path
                            ? "where assets are: they are looked for in the data folder's own folder \(BlobFolder.root)"
                            : "all that the file held")
            }
            file = ManifestFile(files: found.files.filter { names.contains($0.key) })
        }
        for (path, least) in file.files.sorted(by: { $0.key < $1.key }) where least > 0 {
            guard let sequence = try SnapshotCheck.run(path, on: disk), sequence < least else { continue }
            lost(
                Damage(file: path, offset: 0, problem: "the file is an older one"),
                affects: "commits \(sequence + 1) to \(least) of its database, unless the journal has them")
            file.files[path] = sequence
        }
        for name in names where file.files[name] == nil { file.files[name] = 0 }
        return file
    }

    /// The content of a file; nil when it is missing or damaged, which is then noted as a loss.
    private mutating func unlessDamaged<Content>(
        _ path: String, _ read: (any Disk) throws(StoreError) -> Content?, affects: String
    ) throws(StoreError) -> Content? {
        var damage = ManifestFile.missing(path, sequence: 0)
        do throws(StoreError) {
            if let content = try read(disk) { return content }
        } catch {
            guard case .damaged(let found) = error else { throw error }
            damage = found
        }
        lost(damage, affects: affects)
        return nil
    }

    // MARK: The journal

    private struct Cut {
        let path: String
        let former: [UInt8]
        let bytes: [UInt8]
    }

    /// What the last segment becomes where its end can't be read; nil when it stays as it is.
    private mutating func cutOfLastSegment() throws(StoreError) -> Cut? {
        let numbers = try JournalReader(disk: disk, extent: nil).segments()
        guard let number = numbers.last else { return nil }
        let path = JournalFormat.path(ofSegment: number)
        let former: [UInt8]
        do throws(DiskError) {
            former = try disk.readFile(path) ?? []
        } catch {
            throw .disk(error)
        }
        let header = try SegmentHeader(decoding: former, file: path, number: number)
        do throws(StoreError) {
            _ = try SegmentScan(former, header: header, file: path, isLast: true)
            return nil
        } catch {
            guard case .damaged(let damage) = error else { throw error }
            let start = Int(damage.offset)
            guard start >= JournalFormat.segmentHeaderBytes else { throw error }
            lost(damage, affects: "batch after batch from here on: at most \(former.count - start) bytes of commits")
            return Cut(
                path: path, former: former,
                bytes: Array(former[..<start]) + [UInt8](repeating: 0, count: former.count - start))
        }
    }

    /// The journal's end as it will be; nil when there is no journal.
    private mutating func journalEnd(with cut: Cut?) throws(StoreError) -> JournalReader.End? {
        let extent = try unlessDamaged(
            JournalExtent.path, JournalExtent.read(from:),
            affects: "whatever segments were there beside those that are")
        var reader = JournalReader(disk: disk, extent: nil)
        let end = try reader.read(inPlaceOf: cut.map { ($0.path, $0.bytes) })
        guard let extent else { return end }
        do throws(StoreError) {
            try extent.check(segments: end.map { Array($0.oldestSegment...$0.header.number) } ?? [])
            if cut == nil, let end { try extent.check(end: end) }
        } catch {
            guard case .damaged(let damage) = error else { throw error }
            lost(damage, affects: "every commit that was there and in no snapshot")
        }
        return end
    }
}
