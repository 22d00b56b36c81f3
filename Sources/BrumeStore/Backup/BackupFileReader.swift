/// Reads the blocks of a backup file, checking every byte; see ``BackupFormat``.
struct BackupFileReader {
    struct Block {
        let kind: BackupFormat.Kind
        let content: [UInt8]
        /// Where its header stands.
        let offset: UInt64
    }

    private let disk: any Disk
    private let file: DiskFile
    private let path: String
    private let size: UInt64
    private let decompressor = ZstandardDecompressor()
    private(set) var offset: UInt64 = 0
    private var previousCRC: UInt32 = 0

    /// Checks the file's header.
    init(_ file: DiskFile, path: String, on disk: any Disk) throws(StoreError) {
        self.disk = disk
        self.file = file
        self.path = path
        do throws(DiskError) {
            size = try disk.size(of: file)
        } catch {
            throw .disk(error)
        }
        let header = try readBytes(BackupFormat.fileHeaderBytes, at: 0)
        guard Array(header[..<8]) == BackupFormat.magic else { throw damage("this is no backup of Brume", at: 0) }
        previousCRC = header.integer(at: 12)
        guard header.checksum(0..<12) == previousCRC else { throw damage("the file header's checksum is wrong", at: 0) }
        let version: UInt32 = header.integer(at: 8)
        guard version == BackupFormat.version else { throw .unknownVersion(file: path, version: version) }
        offset = UInt64(BackupFormat.fileHeaderBytes)
    }

    /// Whether all has been read.
    var isAtEnd: Bool { offset == size }

    /// Reads the next block.
    mutating func next() throws(StoreError) -> Block {
        let start = offset
        let (block, length, previous, crc) = try read(at: start)
        guard previous == previousCRC else { throw damage("a block does not follow on the one before", at: start) }
        previousCRC = crc
        offset = start + length
        return block
    }

    /// The block at an offset, by itself.
    func block(at start: UInt64) throws(StoreError) -> Block { try read(at: start).block }

    private func read(
        at start: UInt64
    ) throws(StoreError) -> (block: Block, length: UInt64, previousCRC: UInt32, crc: UInt32) {
        let header = try readBytes(BackupFormat.blockHeaderBytes, at: start)
        let length = Int(header.integer(at: 0, as: UInt32.self))
        let contentBytes = Int(header.integer(at: 12, as: UInt32.self))
        guard contentBytes <= StoreLimits.backupBlockBytes, length <= contentBytes else {
            throw damage("a block says that it is larger than blocks are", at: start)
        }
        let payload = try readBytes(length, at: start + UInt64(BackupFormat.blockHeaderBytes))
        var crc = CRC32C()
        crc.update(Array(header.dropLast(4)))
        crc.update(payload)
        guard crc.value == header.integer(at: 16, as: UInt32.self) else {
            throw damage("a block's checksum is wrong", at: start)
        }
        guard let kind = BackupFormat.Kind(rawValue: header.integer(at: 4)) else {
            throw damage("a block is of an unknown kind", at: start)
        }
        var content = payload
        if length < contentBytes {
            guard let decompressed = decompressor.decompress(payload, contentBytes: contentBytes) else {
                throw damage("a block does not decompress to what it says", at: start)
            }
            content = decompressed
        }
        return (
            Block(kind: kind, content: content, offset: start),
            UInt64(BackupFormat.blockHeaderBytes + length), header.integer(at: 8), crc.value
        )
    }

    private func readBytes(_ count: Int, at offset: UInt64) throws(StoreError) -> [UInt8] {
        guard offset <= size, UInt64(count) <= size - offset else {
            throw damage("the file ends too early: a part of it is missing", at: size)
        }
        let bytes: [UInt8]
        do throws(DiskError) {
            bytes = try disk.read(file, at: offset, length: count)
        } catch {
            throw .disk(error)
        }
        guard bytes.count == count else { throw damage("the file ends too early: a part of it is missing", at: size) }
        return bytes
    }

    func damage(_ problem: String, at offset: UInt64) -> StoreError {
        .damaged(Damage(file: path, offset: offset, problem: problem))
    }
}
