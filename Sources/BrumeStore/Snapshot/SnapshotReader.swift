package import BrumeModel
internal import BrumeRecord

/// Reads snapshots, checking every byte; see ``SnapshotFormat``.
package struct SnapshotReader {
    private let disk: any Disk
    private let path: String
    private let file: DiskFile
    private let size: UInt64
    /// The number of bytes that have been read.
    private(set) var offset: UInt64 = 0
    private var previousCRC: UInt32 = 0
    private var version = SnapshotFormat.version
    private var blockHeaderBytes = 0
    private let limits: ShortLoadLimits?
    private var contentBytesRead = 0
    /// The buffer of ``nextBlock(decompressesContent:)``, kept from one call to the next.
    private var payload: [UInt8] = []

    /// The database as its snapshot has it; nil when there is none.
    ///
    /// - Parameters:
    ///   - epoch: The data folder's epoch.
    ///   - threads: The threads that the load may use.
    ///   - goesOn: Called at each block. When it returns false, the rest is not read, and the load fails as if the disk
    ///     had failed.
    package static func load(
        _ database: DatabaseID, epoch: UInt32, from disk: any Disk, with threads: LoadThreads = .one,
        while goesOn: @escaping @Sendable () -> Bool = { true }
    ) throws(StoreError) -> Database? {
        try read(
            SnapshotFormat.path(of: database, on: disk), epoch: epoch, from: disk, expecting: database, with: threads,
            while: goesOn)
    }

    /// The result of ``loadIfShort(_:epoch:from:limits:)``.
    package enum ShortLoad {
        case loaded(Database)
        /// There is no snapshot.
        case missing
        /// It is more than the limits allow: nothing was loaded.
        case tooLong
    }

    /// The same as ``load(_:epoch:from:with:while:)``, but stops where that would be long work.
    package static func loadIfShort(
        _ database: DatabaseID, epoch: UInt32, from disk: any Disk, limits: ShortLoadLimits
    ) throws(StoreError) -> ShortLoad {
        var isMissing = false
        let loaded = try read(
            SnapshotFormat.path(of: database, on: disk), epoch: epoch, from: disk, expecting: database, limits: limits,
            isMissing: &isMissing, with: .one, while: { true })
        return isMissing ? .missing : loaded.map { .loaded($0) } ?? .tooLong
    }

    /// Reads the snapshot in a file, whatever database it is of; nil when the file does not exist.
    static func read(
        _ path: String, epoch: UInt32, from disk: any Disk, expecting expected: DatabaseID?,
        with threads: LoadThreads = .one, while goesOn: @escaping @Sendable () -> Bool = { true }
    ) throws(StoreError) -> Database? {
        var isMissing = false
        return try read(
            path, epoch: epoch, from: disk, expecting: expected, limits: nil, isMissing: &isMissing, with: threads,
            while: goesOn)
    }

    /// Returns nil when the file does not exist, or is more than the limits allow.
    private static func read(
        _ path: String, epoch: UInt32, from disk: any Disk, expecting expected: DatabaseID?, limits: ShortLoadLimits?,
        isMissing: inout Bool, with threads: LoadThreads, while goesOn: @escaping @Sendable () -> Bool
    ) throws(StoreError) -> Database? {
        guard var reader = try SnapshotReader(opening: path, on: disk, limits: limits) else {
            isMissing = true
            return nil
        }
        defer { reader.close() }
        if let limits, reader.size > UInt64(limits.fileBytes) { return nil }
        guard let header = try reader.readHeader(expecting: expected) else { return nil }
        return try SnapshotLoad(reader, header: header, epoch: epoch, while: goesOn)
            .run(with: reader.size < SnapshotFormat.parallelLoadBytes ? .one : threads)
    }

    /// What stands before a database's content; nil when it has no snapshot. Reads the first block only.
    static func header(of database: DatabaseID, from disk: any Disk) throws(StoreError) -> SnapshotHeader? {
        guard var reader = try SnapshotReader(opening: SnapshotFormat.path(of: database, on: disk), on: disk) else {
            return nil
        }
        defer { reader.close() }
        return try reader.readHeader(expecting: database)
    }

    /// Opens a snapshot's file; returns nil when it does not exist. The caller has to close it.
    init?(opening path: String, on disk: any Disk, limits: ShortLoadLimits? = nil) throws(StoreError) {
        self.disk = disk
        self.path = path
        self.limits = limits
        do throws(DiskError) {
            file = try disk.openForReading(path)
        } catch {
            if error.isMissing { return nil }
            throw .disk(error)
        }
        do throws(DiskError) {
            size = try disk.size(of: file)
        } catch {
            disk.close(file)
            throw .disk(error)
        }
    }

    func close() { disk.close(file) }

    /// Reads what stands before the content; nil when it is more than the limits allow.
    mutating func readHeader(expecting expected: DatabaseID?) throws(StoreError) -> SnapshotHeader? {
        try readFileHeader()
        guard let (first, payload) = try nextBlock() else { return nil }
        guard first == .header else { throw damage("the first block is not the header") }
        let header = try decode(payload, StoreCoder.decodeSnapshotHeader)
        guard SnapshotFormat.path(of: header.database, on: disk) == path, expected == nil || expected == header.database
        else {
            throw damage("this is the snapshot of another database")
        }
        // Checked before any counting continues from it.
        guard header.sequence < StoreLimits.commitSequenceLimit else {
            throw damage("the header names commit \(header.sequence), which is more than a server makes")
        }
        if let limits, !limits.allow(header) { return nil }
        return header
    }

    private mutating func readFileHeader() throws(StoreError) {
        let bytes = try readBytes(SnapshotFormat.fileHeaderBytes)
        guard Array(bytes[..<8]) == SnapshotFormat.magic else { throw damage("this is not a snapshot", at: 0) }
        guard bytes.checksum(0..<12) == bytes.integer(at: 12, as: UInt32.self) else {
            throw damage("the file header's checksum is wrong", at: 0)
        }
        version = bytes.integer(at: 8)
        guard let headerBytes = SnapshotFormat.blockHeaderBytes(version: version) else {
            throw .unknownVersion(file: path, version: version)
        }
        blockHeaderBytes = headerBytes
    }

    /// A block as the file has it; nothing of it is checked.
    struct RawBlock {
        /// Where it begins.
        let offset: UInt64
        fileprivate let header: [UInt8]
        fileprivate let byteCount: Int
        let contentBytes: Int
        fileprivate let previousCRC: UInt32

        /// What it says to be; see ``SnapshotReader/check(_:_:)``.
        var statedKind: SnapshotFormat.Kind? { SnapshotFormat.Kind(rawValue: header.integer(at: 4)) }
    }

    /// Reads the next block; returns nil when it is more than the limits allow.
    ///
    /// - Parameter payload: Grows if it must, and may hold other bytes after the payload.
    mutating func nextRawBlock(into payload: inout [UInt8]) throws(StoreError) -> RawBlock? {
        let start = offset
        let header = try readBytes(blockHeaderBytes)
        let length = Int(header.integer(at: 0, as: UInt32.self))
        let contentBytes = version == 1 ? length : Int(header.integer(at: 12, as: UInt32.self))
        guard UInt64(length) <= size - offset else { throw damage("the file ends inside a block", at: start) }
        guard contentBytes <= SnapshotFormat.contentBytesLimit, length <= contentBytes else {
            throw damage("a block says that it is larger than blocks are", at: start)
        }
        contentBytesRead += contentBytes
        if let limits, contentBytesRead > limits.contentBytes { return nil }
        if payload.count < length { payload = [UInt8](repeating: 0, count: length + length / 8) }
        let count: Result<Int, DiskError> = payload.withUnsafeMutableBytes { payload in
            Result { () throws(DiskError) in
                try disk.read(file, at: offset, into: UnsafeMutableRawBufferPointer(rebasing: payload[..<length]))
            }
        }
        switch count {
        case .success(length): offset += UInt64(length)
        case .success: throw damage("the file ends too early")
        case .failure(let error): throw .disk(error)
        }
        let block = RawBlock(
            offset: start, header: header, byteCount: length, contentBytes: contentBytes, previousCRC: previousCRC)
        previousCRC = header.integer(at: blockHeaderBytes - 4)
        return block
    }

    /// Checks a block, and that it follows on the one before.
    ///
    /// - Parameter payload: Begins with the block's payload.
    func check(_ block: RawBlock, _ payload: UnsafeRawBufferPointer) throws(StoreError) -> SnapshotFormat.Kind {
        var crc = CRC32C()
        crc.update(Array(block.header.dropLast(4)))
        crc.update(UnsafeRawBufferPointer(rebasing: payload[..<block.byteCount]))
        guard crc.value == block.header.integer(at: block.header.count - 4, as: UInt32.self) else {
            throw damage("a block's checksum is wrong", at: block.offset)
        }
        guard block.header.integer(at: 8, as: UInt32.self) == block.previousCRC else {
            throw damage("a block does not follow on the one before", at: block.offset)
        }
        guard let kind = block.statedKind else { throw damage("a block is of an unknown kind", at: block.offset) }
        return kind
    }

    /// Calls `body` with the content of a block that was checked.
    ///
    /// - Parameter room: Grows if it must.
    func withContent<Value>(
        of block: RawBlock, _ payload: UnsafeRawBufferPointer, _ decompressor: ZstandardDecompressor,
        room: inout [UInt8], _ body: (UnsafeRawBufferPointer) -> Value
    ) throws(StoreError) -> Value {
        let payload = UnsafeRawBufferPointer(rebasing: payload[..<block.byteCount])
        if block.byteCount == block.contentBytes { return body(payload) }
        if room.count < block.contentBytes {
            room = [UInt8](repeating: 0, count: block.contentBytes + block.contentBytes / 8)
        }
        let value: Value? = room.withUnsafeMutableBytes { room in
            let content = UnsafeMutableRawBufferPointer(rebasing: room[..<block.contentBytes])
            return decompressor.decompress(payload, into: content) ? body(UnsafeRawBufferPointer(content)) : nil
        }
        guard let value else { throw damage("a block does not decompress to what it says", at: block.offset) }
        return value
    }

    /// The next block's kind and content; nil when it is more than the limits allow.
    ///
    /// - Parameter decompressesContent: When false, the content of content blocks is left out, once their checksum
    ///   holds.
    mutating func nextBlock(
        decompressesContent: Bool = true
    ) throws(StoreError) -> (SnapshotFormat.Kind, [UInt8])? {
        var payload: [UInt8] = []
        swap(&payload, &self.payload)
        defer { swap(&payload, &self.payload) }
        guard let block = try nextRawBlock(into: &payload) else { return nil }
        let checked: Result<(SnapshotFormat.Kind, [UInt8]), StoreError> = payload.withUnsafeBytes { payload in
            Result { () throws(StoreError) in
                let kind = try check(block, payload)
                if kind == .content, !decompressesContent { return (kind, []) }
                var room: [UInt8] = []
                return (kind, try withContent(of: block, payload, ZstandardDecompressor(), room: &room) { [UInt8]($0) })
            }
        }
        return try checked.get()
    }

    /// Checks the last block, and that nothing follows it.
    ///
    /// - Parameter found: What the content blocks hold; nil when they were not looked into.
    func check(
        footer: [UInt8], header: SnapshotHeader, counts found: DatabaseCapture.Counts?, blocks: UInt64
    ) throws(StoreError) {
        guard footer.count == 40 else { throw damage("the footer has the wrong size") }
        let counts = DatabaseCapture.Counts(
            zones: footer.integer(at: 8), records: footer.integer(at: 16), tombstones: footer.integer(at: 24),
            deletedZones: footer.integer(at: 32))
        guard footer.integer(at: 0, as: UInt64.self) == blocks, found == nil || counts == found,
            header.zoneCount == counts.zones, header.recordCount == counts.records,
            header.tombstoneCount == counts.tombstones
        else {
            throw damage("the counts in header and footer are not those of the content")
        }
        guard offset == size else { throw damage("something follows the footer") }
    }

    /// The content of a block that says that it is the footer.
    func footer(_ block: RawBlock, _ payload: [UInt8]) throws(StoreError) -> [UInt8] {
        let content: Result<[UInt8], StoreError> = payload.withUnsafeBytes { payload in
            Result { () throws(StoreError) in
                _ = try check(block, payload)
                var room: [UInt8] = []
                return try withContent(of: block, payload, ZstandardDecompressor(), room: &room) { [UInt8]($0) }
            }
        }
        return try content.get()
    }

    /// The error of a load that was stopped.
    var stopped: StoreError {
        .disk(DiskError(call: "read", path: path, message: "the server is about to stop"))
    }

    private mutating func readBytes(_ count: Int) throws(StoreError) -> [UInt8] {
        guard UInt64(count) <= size - offset else { throw damage("the file ends too early") }
        let bytes: [UInt8]
        do throws(DiskError) {
            bytes = try disk.read(file, at: offset, length: count)
        } catch {
            throw .disk(error)
        }
        guard bytes.count == count else { throw damage("the file ends too early") }
        offset += UInt64(count)
        return bytes
    }

    private func decode<Value>(
        _ payload: [UInt8], _ decoder: (UnsafeRawBufferPointer) throws(StoreCodingError) -> Value
    ) throws(StoreError) -> Value {
        let result: Result<Value, StoreCodingError> = payload.withUnsafeBytes { bytes in
            do throws(StoreCodingError) {
                return .success(try decoder(bytes))
            } catch {
                return .failure(error)
            }
        }
        switch result {
        case .success(let value): return value
        case .failure(let error): throw damage(error.message)
        }
    }

    func damage(_ problem: String, at offset: UInt64? = nil) -> StoreError {
        .damaged(Damage(file: path, offset: offset ?? self.offset, problem: problem))
    }
}
