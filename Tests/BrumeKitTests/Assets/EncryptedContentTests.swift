import BrumeEncryption
import BrumeModel
import BrumeSystem
import BrumeTestKit
import Foundation
import Testing

@testable import BrumeKit

@Suite("The cache of downloaded assets that are encrypted", .timeLimit(.minutes(1)))
struct EncryptedContentTests {
    private let folder: TestFolder
    private let location = AssetCache.Location(
        account: "ada",
        database: DatabaseID(container: "iCloud.test", environment: .development, scope: .private, owner: "ada"))

    init() throws { folder = try TestFolder() }

    private var cache: AssetCache { AssetCache(stateFolder: folder.path) }

    private func file(_ byteCount: Int) -> [UInt8] { (0..<byteCount).map { UInt8(truncatingIfNeeded: $0 / 5) } }

    private func encrypt(_ file: [UInt8]) throws -> (blob: [UInt8], content: AssetContent) {
        let layout = try #require(AssetLayout(length: UInt64(file.count)))
        var encryptor = AssetEncryptor(key: .random(), layout: layout)
        var blob: [UInt8] = []
        var offset = 0
        while let count = encryptor.nextFileByteCount {
            file[offset..<offset + count].withUnsafeBytes { encryptor.encrypt($0, appendingTo: &blob) }
            offset += count
        }
        let checksum = try #require(AssetChecksum(SHA256.digest(blob)))
        let asset = Asset(checksum: checksum, byteCount: UInt64(blob.count), generation: 1)
        return (blob, try #require(AssetContent(asset, secret: encryptor.finish())))
    }

    private func part(_ content: AssetContent, _ cache: AssetCache) throws -> AssetCachePart {
        guard case .part(let part) = try cache.part(for: content, in: location) else {
            throw CKError(.internalError, message: "there is no part")
        }
        return part
    }

    @Test(
        "holds the file, whatever pieces it came in and wherever streams broke",
        arguments: [0, 1, 65_496, 65_497, 200_000, 1_047_936, 1_047_937, 2_200_000])
    func pieces(byteCount: Int) throws {
        let file = file(byteCount)
        let (blob, content) = try encrypt(file)
        for step in [7_919, 65_536, 300_000] {
            let cache = cache
            let part = try part(content, cache)
            while !part.isComplete {
                let start = part.streamBegins()
                let end = min(start + step, blob.count)
                try part.append(Array(blob[start..<end]))
                // What broke within a chunk is sent again from the chunk's beginning.
                if end < blob.count, step < 65_536 { try part.append(Array(blob[end..<min(end + 65_536, blob.count)])) }
            }
            let lease = try part.finish()
            #expect(FileManager.default.contents(atPath: lease.path) == Data(file))
            #expect(try cache.file(of: content, in: location)?.path == lease.path)
            try FileManager.default.removeItem(atPath: lease.path)
        }
    }

    @Test("goes on after the process ended, with what is whole") func restart() throws {
        let file = file(4_000_000)
        let (blob, content) = try encrypt(file)
        try part(content, cache).append(Array(blob[..<3_000_000]))
        let part = try part(content, cache)
        let start = part.streamBegins()
        #expect(start == 2 * 16 * 65_536)
        try part.append(Array(blob[start...]))
        #expect(FileManager.default.contents(atPath: try part.finish().path) == Data(file))
        // Another process checks the file against the secret, and not against its name.
        #expect(try cache.file(of: content, in: location) != nil)
    }

    @Test("refuses what is not the asset: each flipped chunk, a cut, what is behind the end, and another beginning")
    func lies() throws {
        let file = file(150_000)
        let (blob, content) = try encrypt(file)
        for offset in stride(from: 0, to: blob.count, by: 9_973) {
            var other = blob
            other[offset] ^= 1
            let part = try part(content, cache)
            #expect(throws: AssetError.damaged) {
                try part.append(other)
                _ = try part.finish()
            }
        }
        let short = try part(content, cache)
        try short.append(Array(blob.dropLast()))
        #expect(throws: AssetError.incomplete(missingByteCount: 1)) { _ = try short.finish() }
        short.remove()
        let long = try part(content, cache)
        #expect(throws: AssetError.damaged) { try long.append(blob + [0]) }
        #expect(try cache.file(of: content, in: location) == nil)
    }

    @Test("finds a file that was changed, or is another one's, and a beginning that was")
    func changedFiles() throws {
        let file = file(1_100_000)
        let (blob, content) = try encrypt(file)
        let part = try part(content, cache)
        try part.append(blob)
        let path = try part.finish().path
        var other = file
        other[7] ^= 1
        try FileManager.default.removeItem(atPath: path)
        _ = FileManager.default.createFile(atPath: path, contents: Data(other))
        #expect(try cache.file(of: content, in: location) == nil)
        _ = FileManager.default.createFile(atPath: path, contents: Data(file))
        #expect(try cache.file(of: content, in: location) != nil)
        try FileManager.default.removeItem(atPath: path)
        // The beginning of a download.
        _ = FileManager.default.createFile(atPath: path + ".part", contents: Data(other.prefix(16 * 65_496)))
        let continued = try self.part(content, cache)
        let start = continued.streamBegins()
        #expect(start == 16 * 65_536)
        try continued.append(Array(blob[start...]))
        #expect(throws: AssetError.damaged) { _ = try continued.finish() }
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test("calls its files by names that nobody without the key can tell, and give to a plain content")
    func names() throws {
        let (_, content) = try encrypt(file(50))
        let (_, other) = try encrypt(file(50))
        guard case .encrypted(let asset, let secret) = content else { return }
        let known = [asset.checksum.description, secret.commitment.hexadecimal]
        #expect(!known.contains(content.fileName) && content.fileName != other.fileName)
        #expect(AssetContent(asset, secret: secret)?.fileName == content.fileName)
    }
}
