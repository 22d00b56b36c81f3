import BrumeModel
import BrumeRandom
import BrumeTestKit
import Testing

@testable import BrumeStore

@Suite("A stored asset's file")
struct BlobFormatTests {
    private static let block = UInt64(BlobFormat.blockBytes)

    @Test(
        "tells by its length how long the content is",
        arguments: [0, 1, 4, 5, block - 1, block, block + 1, block + 5, 7 * block, 7 * block + 1])
    func lengths(byteCount: UInt64) throws {
        let name = try BlobScene.name(of: [], 1)
        let checksums = [UInt32](repeating: 9, count: BlobFormat.blockCount(of: byteCount))
        let trailer = BlobFormat.trailer(of: name, byteCount: byteCount, checksums: checksums)
        #expect(BlobFormat.contentBytes(ofFile: byteCount + UInt64(trailer.count)) == byteCount)
        let read = try BlobFormat.checksums(inTrailer: trailer, of: name, byteCount: byteCount, path: "a")
        #expect(read == checksums)
    }

    @Test("has one of the lengths that such files have")
    func wrongLengths() {
        let whole = BlobFormat.blockBytes + 4 + BlobFormat.footerBytes
        for byteCount in [0, 1, BlobFormat.footerBytes - 1, BlobFormat.footerBytes + 1, BlobFormat.footerBytes + 4] {
            #expect(BlobFormat.contentBytes(ofFile: UInt64(byteCount)) == nil)
        }
        for more in 1...4 { #expect(BlobFormat.contentBytes(ofFile: UInt64(whole + more)) == nil) }
        #expect(BlobFormat.contentBytes(ofFile: UInt64(whole + 5)) == UInt64(BlobFormat.blockBytes + 1))
        for byteCount in [UInt64(1) << 50, UInt64(Int64.max), .max] {
            #expect(BlobFormat.contentBytes(ofFile: byteCount) == nil, "nothing is read for so large a file")
        }
    }

    @Test("is read as it was written, whatever its length", arguments: [0, 1, 1000, 1 << 20, (1 << 20) + 1, 5 << 19])
    func reading(byteCount: Int) throws {
        let scene = BlobScene()
        let content = BlobScene.content(byteCount, 3)
        let name = try scene.store(content)
        #expect(try scene.content(of: name) == content)
        #expect(try scene.folder.blobs(inBucket: name.bucket) == [name])
        #expect(try scene.folder.isDurable(name))
    }

    @Test("is damaged when any of its bits is another one, when it is cut off, and when something follows")
    func everyByte() throws {
        let scene = BlobScene()
        let name = try scene.store(BlobScene.content(700, 1))
        let path = scene.path(of: name)
        let whole = try #require(scene.disk.contents(of: path))
        try #require(whole.count == 728)
        for offset in whole.indices {
            for mask in [1, 0x80] as [UInt8] {
                scene.disk.flip(mask, at: offset, of: path)
                #expect(throws: StoreError.self, "byte \(offset)") { try scene.content(of: name) }
                scene.disk.flip(mask, at: offset, of: path)
            }
            scene.disk.replace(path, with: Array(whole[..<offset]))
            #expect(throws: StoreError.self, "\(offset) bytes") { try scene.content(of: name) }
            scene.disk.replace(path, with: whole)
        }
        scene.disk.replace(path, with: whole + [0])
        #expect(throws: StoreError.self) { try scene.content(of: name) }
        scene.disk.replace(path, with: whole)
        #expect(try scene.content(of: name).count == 700)
    }

    @Test("is damaged in another's place, though both are whole")
    func swapped() throws {
        let scene = BlobScene()
        let content = BlobScene.content(500, 1)
        let names = [try scene.store(content), try scene.store(content, generation: 2)]
        let files = names.map { scene.disk.contents(of: scene.path(of: $0)) }
        scene.disk.replace(scene.path(of: names[0]), with: files[1])
        #expect(throws: StoreError.self) { try scene.content(of: names[0]) }
        #expect(try scene.content(of: names[1]) == content)
    }

    @Test("is not read where another version wrote it")
    func versions() throws {
        let scene = BlobScene()
        let name = try scene.store([1, 2, 3])
        var bytes = try #require(scene.disk.contents(of: scene.path(of: name)))
        let footer = bytes.count - BlobFormat.footerBytes
        bytes.setInteger(UInt32(2), at: footer + 8)
        var crc = CRC32C()
        crc.update(Array(bytes[3..<footer + 12]))
        crc.update(Array(bytes[(footer + 16)...]))
        crc.update(name.bytes)
        bytes.setInteger(crc.value, at: footer + 12)
        scene.disk.replace(scene.path(of: name), with: bytes)
        #expect(throws: StoreError.unknownVersion(file: scene.path(of: name), version: 2)) {
            try scene.content(of: name)
        }
    }

    @Test("whose content is not that of its name is found by a check of the whole, and by no less")
    func anotherContent() throws {
        let scene = BlobScene()
        let name = try BlobScene.name(of: [1, 2, 3], 1)
        var checksums = BlockChecksums()
        checksums.update([1, 2, 4])
        let trailer = BlobFormat.trailer(of: name, byteCount: 3, checksums: checksums.values)
        _ = try scene.store([1, 2, 3])
        let whole = try #require(try scene.folder.open(name))
        try whole.verify()
        whole.close()
        scene.disk.replace(scene.path(of: name), with: [1, 2, 4] + trailer)
        let reader = try #require(try scene.folder.open(name))
        defer { reader.close() }
        #expect(try scene.content(of: name) == [1, 2, 4])
        #expect(throws: StoreError.self) { try reader.verify() }
    }

    @Test("has a name that says which copy of which content it is")
    func names() throws {
        let name = try BlobScene.name(of: [7], 0x0102_0304_0506_0708)
        #expect(name.fileName.hasSuffix(".0102030405060708") && name.fileName.utf8.count == 81)
        #expect(BlobName(fileName: name.fileName) == name)
        let upper = name.fileName.uppercased()
        for text in [upper, name.fileName + "0", String(name.fileName.dropFirst()), "", ".", name.fileName + ".tmp"] {
            #expect(BlobName(fileName: text) == nil, "\(text)")
        }
    }

    @Test("checksums are those of each block, in whatever pieces it comes", arguments: 0..<20 as Range<UInt64>)
    func pieces(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let content = BlobScene.content(Int.random(in: 0...(5 << 19), using: &generator), UInt8(seed))
        var checksums = BlockChecksums()
        var rest = content[...]
        while !rest.isEmpty {
            let piece = rest.prefix(Int.random(in: 0...700_000, using: &generator))
            checksums.update(Array(piece))
            rest = rest.dropFirst(piece.count)
        }
        let expected = stride(from: 0, to: content.count, by: BlobFormat.blockBytes).map { start in
            CRC32C.checksum(content[start..<min(start + BlobFormat.blockBytes, content.count)])
        }
        #expect(checksums.values == expected, "seed \(seed)")
    }
}
