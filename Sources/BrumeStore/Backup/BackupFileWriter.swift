/// Writes a backup file, front to back; see ``BackupFormat``. Holds one block at a time.
struct BackupFileWriter {
    private let disk: any Disk
    private let file: DiskFile
    private let path: String
    private var offset: UInt64 = 0
    private var previousCRC: UInt32 = 0
    private let compressor = ZstandardCompressor()
    private var fileCount: UInt64 = 0
    private var byteCount: UInt64 = 0
    /// The bytes still to come of the file that was begun.
    private var missingBytes: UInt64 = 0

    /// Makes the file `path`, which must not exist.
    init(creating path: String, on disk: any Disk) throws(DiskError) {
        self.disk = disk
        self.path = path
        file = try disk.create(path)
        var header = BackupFormat.magic
        header.appendInteger(BackupFormat.version)
        previousCRC = header.checksum(0..<header.count)
        header.appendInteger(previousCRC)
        do throws(DiskError) {
            try write(header)
        } catch {
            disk.close(file)
            throw error
        }
    }

    /// Begins the next file, of exactly so many bytes.
    mutating func begin(_ name: String, byteCount: UInt64) throws(DiskError) {
        precondition(missingBytes == 0, "a file of a backup begins before the one before it is whole")
        guard fileCount < UInt64(StoreLimits.backupFiles) else {
            throw DiskError(
                call: "write", path: path,
                message: "a backup file holds at most \(StoreLimits.backupFiles) files; make a folder instead")
        }
        guard byteCount <= BackupFormat.byteLimit(ofFile: name) else {
            throw DiskError(
                call: "write", path: name,
                message: "the file has \(byteCount) bytes, which no backup file takes; make a folder instead")
        }
        var content: [UInt8] = []
        content.appendInteger(byteCount)
        content += Array(name.utf8)
        try append(.file, content)
        fileCount += 1
        missingBytes = byteCount
        self.byteCount += byteCount
    }

    /// Adds the next bytes of the file that was begun: a full block, or the last one.
    mutating func append(_ bytes: [UInt8]) throws(DiskError) {
        precondition(
            bytes.count == min(StoreLimits.backupBlockBytes, Int(clamping: missingBytes)),
            "a block of a backup is neither full nor its file's last")
        try append(.content, bytes)
        missingBytes -= UInt64(bytes.count)
    }

    /// Ends the file, and makes its content durable.
    mutating func finish() throws(DiskError) {
        precondition(missingBytes == 0, "a backup ends within a file")
        var counts: [UInt8] = []
        counts.appendInteger(fileCount)
        counts.appendInteger(byteCount)
        try append(.end, counts)
        try disk.sync(file)
    }

    /// Closes the file, finished or not.
    func close() { disk.close(file) }

    private mutating func append(_ kind: BackupFormat.Kind, _ content: [UInt8]) throws(DiskError) {
        let frame = compressor.compress(content)
        let payload = frame.count < content.count ? frame : content
        var block: [UInt8] = []
        block.reserveCapacity(BackupFormat.blockHeaderBytes + payload.count)
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
        try write(block)
    }

    private mutating func write(_ bytes: [UInt8]) throws(DiskError) {
        try disk.write(bytes, to: file, at: offset)
        offset += UInt64(bytes.count)
    }
}
