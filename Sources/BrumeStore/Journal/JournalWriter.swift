/// Appends batches to the journal and makes them durable. Owned by one thread; every call blocks on the disk.
///
/// After a failed sync, or any failure that leaves unknown what is on the disk, every later call fails with the same
/// error: the server stops, and recovery reads what is there. A full disk is not one of these: the same batch may be
/// written again when there is room.
package struct JournalWriter: Sendable {
    /// How the journal is laid out; the defaults are for the real disk.
    package struct Options: Sendable {
        /// The size of a segment: 16 MiB are cheap to fill with zeros, and that is seldom done.
        package var segmentBytes = 16 * 1024 * 1024
        /// Random, for the segments that this writer makes; see ``JournalFormat``.
        package var salt: UInt64

        package init(salt: UInt64, segmentBytes: Int = 16 * 1024 * 1024) {
            self.salt = salt
            self.segmentBytes = segmentBytes
        }
    }

    private let disk: any Disk
    private let options: Options
    private var file: DiskFile
    private var path: String
    private var header: SegmentHeader
    /// Where the next batch goes.
    private var offset: UInt64
    private var segmentLength: UInt64
    private var nextBatch: UInt64
    /// The size of the last batch, with its padding.
    private var lastBatchBytes: UInt64 = 0
    private var previousCRC: UInt32
    private var failure: DiskError?
    private let spares: SpareSegments
    private let extentFile: DiskFile
    private var extent: JournalExtent
    /// The oldest segment that is kept.
    package private(set) var oldestSegment: UInt64

    /// Whether the next segment should be made: a file that is filled with zeros shortly before it is written to is
    /// still in the processor's caches. True earlier where batches are large: when two more like the last one may not
    /// fit.
    package var isNearlyFull: Bool {
        offset + max(UInt64(options.segmentBytes / 4), 2 * lastBatchBytes) > segmentLength
    }
    /// Makes the next segment ahead, on another thread.
    package var preparation: SegmentPreparation { SegmentPreparation(spares: spares) }
    /// The segment that the next batch goes to, unless it is full.
    package var segment: UInt64 { header.number }
    /// Whether every later call fails, because it is unknown what is on the disk.
    package var hasFailed: Bool { failure != nil }
    /// The number of batches that were written in the journal's whole life.
    package var batchCount: UInt64 { nextBatch - 1 }

    /// Whether ``JournalExtent`` names all that was written.
    package var isRecorded: Bool { extent.lastSyncedBatch == batchCount }

    /// Continues after the last batch of a segment that exists.
    ///
    /// - Parameter extent: The extent on the disk; nil when there is none, or none that counts.
    init(
        disk: any Disk, options: Options, continuing end: JournalReader.End, extent: JournalExtent?
    ) throws(DiskError) {
        let (header, scan) = (end.header, end.scan)
        self.disk = disk
        self.options = options
        self.header = header
        oldestSegment = end.oldestSegment
        spares = try SpareSegments(of: disk, segmentBytes: options.segmentBytes)
        path = JournalFormat.path(ofSegment: header.number)
        offset = UInt64(scan.end)
        segmentLength = UInt64(end.length)
        nextBatch = scan.nextBatch
        previousCRC = scan.lastCRC
        file = try disk.openForWriting(path)
        if scan.tornBytes > 0 {
            // After the last batch everything has to be zero again before anything is appended, or a later tear could
            // not be told from what this one left.
            try disk.write([UInt8](repeating: 0, count: scan.tornBytes), to: file, at: offset)
        }
        if let last = scan.batches.last {
            // The process that wrote it may have ended before its sync returned, or after it failed. What has been read
            // is about to be shown, so it is made durable first; written again, because a system that failed to write
            // it once may take it for written.
            let start = UInt64(last.offset)
            try disk.write(try disk.read(file, at: start, length: scan.end - last.offset), to: file, at: start)
        }
        if scan.tornBytes > 0 || !scan.batches.isEmpty { try disk.sync(file) }
        // Batches of this version are written to a segment of this version.
        if header.version < JournalFormat.version { offset = segmentLength }
        let found = JournalExtent(
            oldestSegment: max(extent?.oldestSegment ?? 0, end.oldestSegment), newestSegment: header.number,
            lastSyncedBatch: nextBatch - 1)
        self.extent = found
        if extent == nil { try JournalWriter.create(found, on: disk) }
        extentFile = try disk.openForWriting(JournalExtent.path)
        // Written even if it says so already: after a failed sync, what is read may never have reached the disk.
        if extent != nil { try write(found) }
    }

    /// Begins a journal.
    init(creatingOn disk: any Disk, options: Options) throws(DiskError) {
        self.disk = disk
        self.options = options
        header = SegmentHeader(number: 1, firstBatch: 1, salt: options.salt, previousCRC: 0)
        oldestSegment = 1
        spares = try SpareSegments(of: disk, segmentBytes: options.segmentBytes)
        offset = UInt64(JournalFormat.segmentHeaderBytes)
        nextBatch = 1
        previousCRC = 0
        path = JournalFormat.path(ofSegment: 1)
        segmentLength = JournalWriter.segmentLength(options, batchBytes: 0)
        file = try JournalWriter.createSegment(header, length: segmentLength, of: nil, isFilled: true, on: disk)
        extent = JournalExtent(oldestSegment: 1, newestSegment: 1, lastSyncedBatch: 0)
        try JournalWriter.create(extent, on: disk)
        extentFile = try disk.openForWriting(JournalExtent.path)
    }

    private static func create(_ extent: JournalExtent, on disk: any Disk) throws(DiskError) {
        try disk.replaceFile(JournalExtent.path, in: JournalFormat.folder, with: extent.encoded)
    }

    /// Makes it durable how far the journal reaches.
    private mutating func write(_ extent: JournalExtent) throws(DiskError) {
        do throws(DiskError) {
            try disk.write(extent.encoded, to: extentFile, at: 0)
            try disk.sync(extentFile)
        } catch {
            if !error.isFull { failure = error }
            throw error
        }
        self.extent = extent
    }

    /// Notes on the disk that all that was written is synced, so that damage to the last batch is told from a torn one.
    /// Call it when there is nothing else to do for a moment, and before the end; each batch needs it only until the
    /// next one.
    package mutating func record() throws(DiskError) {
        if let failure { throw failure }
        if isRecorded { return }
        var extent = extent
        extent.lastSyncedBatch = batchCount
        try write(extent)
    }

    /// Writes a batch and syncs it; when this returns, its entries are durable.
    ///
    /// A full disk leaves the journal as it was: the same batch may come again, or another one.
    package mutating func write(_ batch: inout JournalBatch) throws(DiskError) {
        if let failure { throw failure }
        precondition(!batch.isEmpty, "an empty batch is written to the journal")
        do throws(DiskError) {
            try attempt(&batch)
        } catch {
            // Removing the files that are kept for later segments makes room.
            guard error.isFull, failure == nil, spares.removeAll() else { throw error }
            try attempt(&batch)
        }
    }

    private mutating func attempt(_ batch: inout JournalBatch) throws(DiskError) {
        let needed = UInt64(batch.paddedCount)
        if offset + needed > segmentLength { try startSegment(batchBytes: batch.paddedCount) }
        let bodyEnd = batch.count
        let crc = batch.seal(number: nextBatch, salt: header.salt, previousCRC: previousCRC, offset: offset)
        do throws(DiskError) {
            try disk.write(batch.bytes, to: file, at: offset)
        } catch {
            if error.isFull { try takeBack(batch.bytes.count) } else { failure = error }
            batch.unseal(bodyEnd: bodyEnd)
            throw error
        }
        do throws(DiskError) {
            try disk.sync(file)
        } catch {
            failure = error
            throw error
        }
        offset += needed
        lastBatchBytes = needed
        nextBatch += 1
        previousCRC = crc
    }

    /// Removes what a full disk has of a batch, so that everything after the last one is zero again: the next start
    /// would take the beginning of a batch for damage once other batches follow. Overwriting what was written needs no
    /// room, and the rest was not written.
    private mutating func takeBack(_ byteCount: Int) throws(DiskError) {
        do throws(DiskError) {
            do throws(DiskError) {
                try disk.write([UInt8](repeating: 0, count: byteCount), to: file, at: offset)
            } catch {
                if !error.isFull { throw error }
            }
            try disk.sync(file)
        } catch {
            failure = error
            throw error
        }
    }

    /// Begins a new segment, so that those before can be removed when snapshots hold their content. Does nothing while
    /// the current one is empty.
    package mutating func rotate() throws(DiskError) {
        if let failure { throw failure }
        if offset == UInt64(JournalFormat.segmentHeaderBytes) { return }
        try startSegment(batchBytes: 0)
    }

    /// Removes the segments below `number`, the oldest first, or keeps their files as spare ones. The current one
    /// always stays.
    ///
    /// Each removal is durable before the next, so that a crash leaves no hole in the row.
    ///
    /// - Parameter limit: The most segments that this call removes.
    package mutating func removeSegments(before number: UInt64, limit: UInt64 = .max) throws(DiskError) {
        if let failure { throw failure }
        let first = oldestSegment
        if extent.oldestSegment < min(number, header.number) {
            // No longer named before it is removed: all of them at once.
            var extent = extent
            extent.oldestSegment = min(number, header.number)
            try write(extent)
        }
        while oldestSegment < min(number, header.number), oldestSegment - first < limit {
            do throws(DiskError) {
                try spares.retire(segment: oldestSegment)
            } catch {
                if !error.isMissing { throw error }
                try disk.syncDirectory(JournalFormat.folder)
            }
            oldestSegment += 1
        }
    }

    /// Closes the file. What was written is durable already.
    package func close() {
        disk.close(file)
        disk.close(extentFile)
    }

    private mutating func startSegment(batchBytes: Int) throws(DiskError) {
        let next = SegmentHeader(
            number: header.number + 1, firstBatch: nextBatch, salt: options.salt, previousCRC: previousCRC)
        let length = JournalWriter.segmentLength(options, batchBytes: batchBytes)
        let created: DiskFile
        let blank = spares.takeBlank(length: length)
        defer { spares.placed() }
        do throws(DiskError) {
            created = try JournalWriter.createSegment(next, length: length, of: blank, on: disk)
        } catch {
            if !error.isFull { failure = error }
            throw error
        }
        do throws(DiskError) {
            // Before a batch goes into it. All before it is synced.
            var extent = extent
            extent.newestSegment = next.number
            extent.lastSyncedBatch = batchCount
            try write(extent)
        } catch {
            disk.close(created)
            if failure == nil { try discard(segment: next.number) }
            throw error
        }
        disk.close(file)
        file = created
        header = next
        path = JournalFormat.path(ofSegment: next.number)
        segmentLength = length
        offset = UInt64(JournalFormat.segmentHeaderBytes)
    }

    /// Removes a segment that the disk had no room to note. A smaller batch may still fit into the current segment, and
    /// the next start would take one that begins before that batch ends for damage.
    private mutating func discard(segment number: UInt64) throws(DiskError) {
        do throws(DiskError) {
            try disk.remove(JournalFormat.path(ofSegment: number))
            try disk.syncDirectory(JournalFormat.folder)
        } catch {
            failure = error
            throw error
        }
    }

    private static func segmentLength(_ options: Options, batchBytes: Int) -> UInt64 {
        UInt64(max(options.segmentBytes, JournalFormat.segmentHeaderBytes + batchBytes))
    }

    /// Makes a segment under a temporary name, and gives it its name when it is complete and durable.
    ///
    /// Where zeros were written before, a batch's sync has less to do: its blocks are allocated. When there is no such
    /// file, batches are waiting already, and the new one only gets its length: it reads as zeros, and filling it would
    /// cost as much as all of its batches together.
    ///
    /// - Parameters:
    ///   - blank: The path of a file of that length that is filled with zeros.
    ///   - isFilled: Whether a new file is filled with zeros, because nobody waits for it.
    private static func createSegment(
        _ header: SegmentHeader, length: UInt64, of blank: String?, isFilled: Bool = false, on disk: any Disk
    ) throws(DiskError) -> DiskFile {
        let path = JournalFormat.path(ofSegment: header.number)
        let temporary = blank ?? path + temporaryFileSuffix
        if blank == nil {
            do throws(DiskError) {
                try disk.remove(temporary)
            } catch {
                if !error.isMissing { throw error }
            }
        }
        let file = blank == nil ? try disk.create(temporary) : try disk.openForWriting(temporary)
        do throws(DiskError) {
            if isFilled {
                try disk.fillWithZeros(file, length: length)
            } else if blank == nil {
                try disk.write([0], to: file, at: length - 1)
            }
            try disk.write(header.encoded, to: file, at: 0)
            try disk.sync(file)
            try disk.rename(temporary, to: path)
            try disk.syncDirectory(JournalFormat.folder)
        } catch {
            disk.close(file)
            // On a full disk the unfinished segment would take the room that others need.
            if error.isFull { try? disk.remove(temporary) }
            throw error
        }
        return file
    }
}
