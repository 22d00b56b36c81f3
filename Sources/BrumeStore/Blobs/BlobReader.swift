internal import BrumeModel

/// Reads the content of one stored asset, and checks every byte before it hands it out.
package struct BlobReader: Sendable {
    /// Bytes that are read and checked together: a range costs at least so much.
    package static let blockBytes = BlobFormat.blockBytes

    package let name: BlobName
    /// Bytes of the content.
    package let byteCount: UInt64

    private let disk: any Disk
    let file: DiskFile
    private let path: String
    private let checksums: [UInt32]

    /// Opens it; nil when there is no such file. Whoever opens it closes it.
    init?(_ name: BlobName, at path: String, on disk: any Disk) throws(StoreError) {
        let file: DiskFile
        do throws(DiskError) {
            file = try disk.openForReading(path)
        } catch {
            if error.isMissing { return nil }
            throw .disk(error)
        }
        do throws(StoreError) {
            let fileBytes = try disk.reading { (disk) throws(DiskError) in try disk.size(of: file) }
            guard let byteCount = BlobFormat.contentBytes(ofFile: fileBytes) else {
                throw .damaged(Damage(file: path, offset: fileBytes, problem: "no asset's file is so long"))
            }
            let footer = try disk.reading { (disk) throws(DiskError) in
                try disk.read(
                    file, at: fileBytes - UInt64(BlobFormat.footerBytes), length: BlobFormat.footerBytes)
            }
            guard BlobFormat.isFooter(footer[...], byteCount: byteCount) else {
                throw .damaged(Damage(file: path, offset: fileBytes, problem: "the file does not end as it should"))
            }
            let length = Int(fileBytes - byteCount)
            let trailer = try disk.reading { (disk) throws(DiskError) in
                try disk.read(file, at: byteCount, length: length)
            }
            checksums = try BlobFormat.checksums(inTrailer: trailer, of: name, byteCount: byteCount, path: path)
            self.byteCount = byteCount
        } catch {
            disk.close(file)
            throw error
        }
        (self.name, self.disk, self.file, self.path) = (name, disk, file, path)
    }

    /// Bytes of the file: the content, and what follows it.
    var fileByteCount: UInt64 { byteCount + UInt64(checksums.count * 4 + BlobFormat.footerBytes) }

    /// Closes the file. Nobody reads it any more.
    package func close() { disk.close(file) }

    /// Blocks of the content: each has ``blockBytes``, but for the last.
    package var blockCount: Int { checksums.count }

    /// Reads a block, one of ``blockCount``, into the front of `target`, which must have room for it, and returns how
    /// many bytes it has. What is damaged is not returned.
    package func read(block index: Int, into target: UnsafeMutableRawBufferPointer) throws(StoreError) -> Int {
        precondition((0..<blockCount).contains(index), "a block is read that an asset does not have")
        let start = UInt64(index) * UInt64(BlobReader.blockBytes)
        let length = Int(min(UInt64(BlobReader.blockBytes), byteCount - start))
        let block = UnsafeMutableRawBufferPointer(rebasing: target[..<length])
        try fill(block, at: start)
        var crc = CRC32C()
        crc.update(UnsafeRawBufferPointer(block))
        guard crc.value == checksums[index] else { throw wrongChecksum(at: start, length) }
        return length
    }

    /// Reads a block, one of ``blockCount``.
    package func read(block index: Int) throws(StoreError) -> [UInt8] {
        let start = UInt64(index) * UInt64(BlobReader.blockBytes)
        let length = Int(min(UInt64(BlobReader.blockBytes), byteCount - start))
        var failure: StoreError?
        let bytes = [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
            do throws(StoreError) {
                count = try read(block: index, into: UnsafeMutableRawBufferPointer(buffer))
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }

    private func fill(_ target: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StoreError) {
        let count = try disk.reading { (disk) throws(DiskError) in try disk.read(file, at: offset, into: target) }
        guard count == target.count else { throw cutOff(at: offset + UInt64(count)) }
    }

    private func cutOff(at offset: UInt64) -> StoreError {
        .damaged(Damage(file: path, offset: offset, problem: "the file is cut off"))
    }

    private func wrongChecksum(at offset: UInt64, _ length: Int) -> StoreError {
        .damaged(
            Damage(file: path, offset: offset, problem: "the checksum of the \(length) bytes from here is wrong"))
    }

    /// Reads all of it, a block at a time.
    package func forEachBlock(_ body: (UnsafeRawBufferPointer) -> Void) throws(StoreError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: BlobReader.blockBytes, alignment: 16)
        defer { buffer.deallocate() }
        for index in 0..<blockCount {
            let length = try read(block: index, into: buffer)
            body(UnsafeRawBufferPointer(rebasing: buffer[..<length]))
        }
    }

    /// Reads all of it, and checks that it is the content of its name.
    package func verify() throws(StoreError) {
        let hash = disk.makeContentHash()
        try forEachBlock { hash.update($0) }
        guard AssetChecksum(hash.finish()) == name.checksum else {
            throw .damaged(Damage(file: path, offset: 0, problem: "the SHA-256 is not the one that it is named by"))
        }
    }
}

extension Disk {
    /// A call to the disk on behalf of somebody who tells failures from damage.
    fileprivate func reading<Value>(
        _ call: (Self) throws(DiskError) -> Value
    ) throws(StoreError) -> Value {
        do throws(DiskError) {
            return try call(self)
        } catch {
            throw .disk(error)
        }
    }
}
