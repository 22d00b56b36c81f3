import Testing

@testable import BrumeEncryption

@Suite struct AssetCipherTests {
    /// Encrypts a file, from its beginning or with another one from some chunk on, as when it changed during an
    /// upload.
    private func encrypt(
        _ file: [UInt8], key: SecretKey = Samples.key(5)
    ) throws -> (blob: [UInt8], chunks: [[UInt8]], secret: AssetSecret) {
        var encryptor = AssetEncryptor(key: key, layout: try #require(AssetLayout(length: UInt64(file.count))))
        var chunks: [[UInt8]] = []
        var offset = 0
        while let count = encryptor.nextFileByteCount {
            var chunk: [UInt8] = []
            file[offset..<offset + count].withUnsafeBytes { encryptor.encrypt($0, appendingTo: &chunk) }
            chunks.append(chunk)
            offset += count
        }
        #expect(offset == file.count)
        return (chunks.flatMap { $0 }, chunks, encryptor.finish())
    }

    private func decrypt(_ chunks: [[UInt8]], _ secret: AssetSecret) throws -> [UInt8] {
        var decryptor = AssetDecryptor(secret)
        var file: [UInt8] = []
        for chunk in chunks {
            try chunk.withUnsafeBytes { try decryptor.decrypt($0, appendingTo: &file) }
        }
        try decryptor.finish()
        return file
    }

    @Test(
        "a file comes back as it was, whatever its length",
        arguments: [0, 1, 31, 32, 65_000, 65_400, 65_496, 65_497, 130_992, 131_073, 200_000])
    func roundTrip(count: Int) throws {
        let file = Samples.file(count)
        let (blob, chunks, secret) = try encrypt(file)
        #expect(UInt64(blob.count) == secret.layout.blobByteCount)
        #expect(chunks.dropLast().allSatisfy { $0.count == 65_536 })
        let copy = try AssetSecret(secret.copyBytes())
        #expect(copy.layout == secret.layout && copy.commitment == secret.commitment)
        #expect(try decrypt(chunks, copy) == file)
    }

    @Test("an empty file has one chunk, and one of which all is missing is refused")
    func empty() throws {
        let (blob, chunks, secret) = try encrypt([])
        #expect(blob.count == 40 && chunks.count == 1)
        #expect(refusal { try decrypt([], secret) } == .damaged)
    }

    @Test("an upload that goes on sends the same bytes; another upload of the same file has other ones")
    func resumed() throws {
        let file = Samples.file(150_000)
        let first = try encrypt(file)
        #expect(try encrypt(file).blob == first.blob)
        #expect(try encrypt(file).secret.commitment == first.secret.commitment)
        #expect(try encrypt(file, key: Samples.key(6)).blob != first.blob)
    }

    @Test("a file that changed gets other nonces where it changed, under the same key")
    func changed() throws {
        let file = Samples.file(150_000)
        var other = file
        other[70_000] ^= 1
        let before = try encrypt(file)
        let after = try encrypt(other)
        #expect(before.chunks[0] == after.chunks[0] && before.chunks[2] == after.chunks[2])
        #expect(before.chunks[1].prefix(24) != after.chunks[1].prefix(24))
        // Chunks of both open one by one, and the whole is neither file.
        let mixed = [before.chunks[0], after.chunks[1], before.chunks[2]]
        #expect(refusal { try decrypt(mixed, before.secret) } == .damaged)
        #expect(try decrypt(mixed, after.secret) == other)
    }

    @Test("equal pieces of a file have nothing in common")
    func equalPieces() throws {
        let chunks = try encrypt([UInt8](repeating: 9, count: 65_496 * 3)).chunks
        #expect(Set(chunks.map { Array($0.prefix(24)) }).count == chunks.count)
        #expect(Set(chunks.map { Array($0[24..<64]) }).count == chunks.count)
    }

    @Test("chunks that were swapped, repeated, left out or put behind the end are refused")
    func order() throws {
        let (_, chunks, secret) = try encrypt(Samples.file(65_496 * 3))
        let count = chunks.count
        #expect(try decrypt(chunks, secret).count == 65_496 * 3)
        var lies = [
            [chunks[1], chunks[0]] + chunks[2...], [chunks[0], chunks[0]] + chunks[2...], Array(chunks.dropFirst()),
            Array(chunks.dropLast()), chunks + [chunks[count - 1]],
        ]
        lies.append(chunks.prefix(count - 1) + [chunks[0]])
        for lie in lies { #expect(refusal { try decrypt(lie, secret) } == .damaged) }
    }

    @Test("every flipped byte of a blob is refused, and every cut")
    func damage() throws {
        let (blob, _, secret) = try encrypt(Samples.file(50))
        for other in blob.flipped + blob.cutAndContinued {
            #expect(refusal { try decrypt([other], secret) } == .damaged)
        }
    }

    @Test("every flipped byte of an asset's secret is refused, by itself or with the blob")
    func secretDamage() throws {
        let (_, chunks, secret) = try encrypt(Samples.file(50))
        let bytes = secret.copyBytes()
        for (index, other) in bytes.flipped.enumerated() {
            let refusal = refusal { try decrypt(chunks, try AssetSecret(other)) }
            #expect(refusal == (index < 2 ? .newer : .damaged), "byte \(index)")
        }
        for other in bytes.cutAndContinued { #expect(refusal { try AssetSecret(other) } == .damaged) }
    }

    @Test(
        "a download goes on behind any chunk, and a file that is here is told from all others",
        arguments: [0, 1, 65_000, 65_496, 65_497, 66_000, 131_073, 200_000, 1_050_000])
    func skipped(count: Int) throws {
        let file = Samples.file(count)
        let (_, chunks, secret) = try encrypt(file)
        for start in 0...chunks.count {
            for isWrong in [false, true] where !isWrong || (start > 0 && count > 0) {
                var here = file
                if isWrong { here[0] ^= 1 }
                var decryptor = AssetDecryptor(secret)
                var offset = 0
                for _ in 0..<start {
                    let count = decryptor.nextFileByteCount
                    let end = offset + (try #require(count))
                    here[offset..<end].withUnsafeBytes { decryptor.skip($0) }
                    offset = end
                }
                var rest: [UInt8] = []
                for chunk in chunks[start...] {
                    try chunk.withUnsafeBytes { try decryptor.decrypt($0, appendingTo: &rest) }
                }
                let isBehindTheLast = decryptor.nextFileByteCount == nil
                #expect(rest == Array(file[offset...]) && isBehindTheLast)
                let isWhole = (try? decryptor.finish()) != nil
                #expect(isWhole == !isWrong)
            }
        }
    }

    @Test("what a file's padding holds is refused if it is not zeros")
    func padding() throws {
        let layout = try #require(AssetLayout(length: 32))
        var encryptor = AssetEncryptor(key: Samples.key(5), layout: layout)
        var chunk: [UInt8] = []
        Samples.file(32).withUnsafeBytes { encryptor.encrypt($0, appendingTo: &chunk) }
        let secret = encryptor.finish()
        // One that says of the same chunk that a byte less is the file's.
        let shorter = AssetSecret(
            key: secret.key, layout: try #require(AssetLayout(length: 31)), commitment: secret.commitment)
        #expect(refusal { try decrypt([chunk], shorter) } == .damaged)
    }

    @Test("who had the key once can't put other chunks under the nonces that were committed to")
    func forged() throws {
        let (_, chunks, secret) = try encrypt(Samples.file(100))
        let keys = AssetKeys(secret.key)
        var forged = chunks[0]
        [UInt8](repeating: 1, count: forged.count - 40).withUnsafeBytes { piece in
            forged.withUnsafeMutableBytes {
                Seal.encrypt(piece, data: keys.data(index: 0), key: keys.chunkKey, behindNonceIn: $0)
            }
        }
        #expect(forged.prefix(24) == chunks[0].prefix(24) && forged != chunks[0])
        #expect(refusal { try decrypt([forged], secret) } == .damaged)
    }

    @Test("the secrets of a list stand in its order, as many as it has blobs")
    func lists() throws {
        let secrets = try (0..<3).map { try encrypt(Samples.file(10 * $0), key: Samples.key(UInt8($0))).secret }
        let bytes = AssetSecret.copyBytes(of: secrets)
        let read = try AssetSecret.list(bytes, blobCount: 3)
        #expect(read.map { $0.copyBytes() } == secrets.map { $0.copyBytes() })
        #expect(try AssetSecret.list(AssetSecret.copyBytes(of: []), blobCount: 0).isEmpty)
        for count in [0, 2, 4] { #expect(refusal { try AssetSecret.list(bytes, blobCount: count) } == .damaged) }
        for other in bytes.cutAndContinued {
            #expect(refusal { try AssetSecret.list(other, blobCount: 3) } == .damaged)
        }
    }

    @Test("a length that no file has is none")
    func lengths() throws {
        #expect(AssetLayout(length: .max) == nil)
        let largest = try #require(AssetLayout(length: 1 << 40))
        #expect(largest.chunkCount * 24 < UInt64(UInt32.max))
    }
}
