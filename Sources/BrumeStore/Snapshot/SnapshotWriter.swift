internal import BrumeModel
internal import BrumeRecord

/// Writes snapshots, on any thread: a capture does not change.
package struct SnapshotWriter {
    private let disk: any Disk
    private var file: DiskFile
    private var offset: UInt64 = 0
    /// The offset up to which the disk was told to write.
    private var writtenBack: UInt64 = 0
    private var previousCRC: UInt32 = 0
    private let compressor = ZstandardCompressor()
    private var attempts = CompressionAttempts()

    /// A disk takes so much in some milliseconds.
    private static let writeBackBytes: UInt64 = 1024 * 1024

    /// Writes a database's snapshot in place of its older one, and returns its bytes. When this returns it is durable;
    /// when it throws, the older one is as it was.
    @discardableResult
    package static func write(_ capture: DatabaseCapture, to disk: any Disk) throws(DiskError) -> UInt64 {
        let path = SnapshotFormat.path(of: capture.id, on: disk)
        let temporary = path + temporaryFileSuffix
        do throws(DiskError) {
            try disk.remove(temporary)
        } catch {
            if !error.isMissing { throw error }
        }
        var writer = SnapshotWriter(disk: disk, file: try disk.create(temporary))
        do throws(DiskError) {
            try writer.write(capture)
            try disk.sync(writer.file)
            disk.close(writer.file)
        } catch {
            disk.close(writer.file)
            // What is left of it would take room that a full disk does not have; the older snapshot stays.
            try? disk.remove(temporary)
            throw error
        }
        // Kept open, so that its room is not freed all at once when it loses its name.
        let former = try? disk.openForWriting(path)
        do throws(DiskError) {
            try disk.rename(temporary, to: path)
            try disk.syncDirectory(SnapshotFormat.folder)
        } catch {
            if let former { disk.close(former) }
            throw error
        }
        if let former { disk.giveBack(former) }
        return writer.offset
    }

    private init(disk: any Disk, file: DiskFile) {
        self.disk = disk
        self.file = file
    }

    private mutating func write(_ capture: DatabaseCapture) throws(DiskError) {
        var header = SnapshotFormat.magic
        header.appendInteger(SnapshotFormat.version)
        header.appendInteger(header.checksum(0..<header.count))
        try append(header)

        var payload: [UInt8] = []
        StoreCoder.encodeSnapshotHeader(capture.header, into: &payload)
        try appendBlock(.header, payload)
        var blocks: UInt64 = 0
        try capture.forEachBlock { (content) throws(DiskError) in
            try appendBlock(.content, content)
            blocks += 1
        }
        let counts = capture.counts
        var footer: [UInt8] = []
        for count in [blocks, counts.zones, counts.records, counts.tombstones, counts.deletedZones] {
            footer.appendInteger(count)
        }
        try appendBlock(.footer, footer)
    }

    private mutating func appendBlock(_ kind: SnapshotFormat.Kind, _ content: [UInt8]) throws(DiskError) {
        precondition(
            content.count <= SnapshotFormat.contentBytesLimit, "a snapshot's block is larger than a reader takes")
        var payload = content
        // Header and footer are too short to tell anything of the content.
        if kind == .content, attempts.isDue() {
            let frame = compressor.compress(content)
            attempts.ended(contentBytes: content.count, frameBytes: frame.count)
            if frame.count < content.count { payload = frame }
        }
        var block: [UInt8] = []
        block.reserveCapacity(20 + payload.count)
        block.appendInteger(UInt32(payload.count))
        block.appendInteger(kind.rawValue)
        block.appendInteger(previousCRC)
        block.appendInteger(UInt32(content.count))
        var crc = CRC32C()
        crc.update(block)
        crc.update(payload)
        block.appendInteger(crc.value)
        block += payload
        previousCRC = crc.value
        try append(block)
    }

    private mutating func append(_ bytes: [UInt8]) throws(DiskError) {
        try disk.write(bytes, to: file, at: offset)
        offset += UInt64(bytes.count)
        // Otherwise the sync at the end would write all of it at once, and every commit's sync would wait in between.
        if offset - writtenBack >= SnapshotWriter.writeBackBytes {
            try disk.writeBack(writtenBack..<offset, of: file)
            writtenBack = offset
        }
    }
}
