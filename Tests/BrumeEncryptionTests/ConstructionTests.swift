import Testing

@testable import BrumeEncryption

/// What is built from libsodium, beside values that others have published.
@Suite struct ConstructionTests {
    private func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.filter { !$0.isWhitespace }
        return stride(from: 0, to: digits.count, by: 2).map {
            UInt8(digits.dropFirst($0).prefix(2), radix: 16)!
        }
    }

    @Test("a seal opens what another implementation of XChaCha20-Poly1305 sealed")
    func published() throws {
        // draft-irtf-cfrg-xchacha-03, A.3.1, with the nonce in front and the code behind, as seals have them.
        let sealed = bytes(
            """
            404142434445464748494a4b4c4d4e4f5051525354555657
            bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb731c7f1b0b4aa6440bf3a82f4eda7e39
            ae64c6708c54c216cb96b72e1213b4522f8c9ba40d
            b5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff921f9664c97637da9768812f615c68b13b52e
            c0875924c1c7987947deafd8780acf49
            """)
        let key = SecretKey(copying: Array(0x80...0x9f))
        let plain = try Seal.open(sealed[...], data: bytes("50515253c0c1c2c3c4c5c6c7"), key: key)
        #expect(String(decoding: plain, as: UTF8.self).hasPrefix("Ladies and Gentlemen of the class of '99"))
    }

    @Test("a seal opens with its key and its data only, and shows every flipped bit and every cut")
    func seals() throws {
        let sealed = Seal.seal([1, 2, 3], data: [4], key: Samples.key(1))
        #expect(sealed.count == 3 + 40)
        #expect(try Seal.open(sealed[...], data: [4], key: Samples.key(1)) == [1, 2, 3])
        #expect(refusal { try Seal.open(sealed[...], data: [5], key: Samples.key(1)) } == .damaged)
        #expect(refusal { try Seal.open(sealed[...], data: [4], key: Samples.key(2)) } == .damaged)
        for other in sealed.flipped + sealed.cutAndContinued {
            #expect(refusal { try Seal.open(other[...], data: [4], key: Samples.key(1)) } == .damaged)
        }
    }

    @Test("one text that is sealed twice gives two seals")
    func nonces() {
        let seals = Set((0..<1000).map { _ in Seal.seal([1], data: [], key: Samples.key(1)) })
        #expect(Set(seals.map { Array($0.prefix(24)) }).count == 1000)
    }

    @Test("a hash is BLAKE2b of the label and the parts with their lengths")
    func hashes() {
        var message = PartWriter(.stamp)
        message.write(text: "ab")
        message.write(u8: 3)
        message.write(u32: 0x0102_0304)
        message.write(u64: 5)
        message.write(bytes: [6])
        #expect(
            message.bytes == [13, 0, 0, 0] + Array("brume/1/stamp".utf8) + [2, 0, 0, 0, 97, 98, 3, 4, 3, 2, 1]
                + [5, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 6])
        // hashlib.blake2b(message, digest_size=32, key=b"")
        #expect(Digest.hash(message).count == 32)
        #expect(Digest.hash(message) != Digest.derive(Samples.key(1), message), "a key makes another hash of it")
    }

    @Test("a stream of pieces has the hash of the whole, with and without a key")
    func streams() {
        var front = PartWriter(.asset)
        front.write(u32: 6)
        var whole = PartWriter(.asset)
        whole.write(bytes: [1, 2, 3, 4, 5, 6])
        for key in [nil, Samples.key(3)] {
            var stream = DigestStream(front, key: key)
            for piece: [UInt8] in [[1, 2], [], [3, 4, 5, 6]] { piece.withUnsafeBytes { stream.update($0) } }
            #expect(stream.finish() == key.map { Digest.derive($0, whole) } ?? Digest.hash(whole))
        }
    }

    @Test("a signature holds for its message and its key only")
    func signatures() throws {
        let pairs = Samples.device(1)
        var message = PartWriter(.statementOwn)
        message.write(text: "x")
        let signature = pairs.sign(message)
        try Signature.check(signature, of: message, by: pairs.publicKeys.signing)
        var other = PartWriter(.statementNext)
        other.write(text: "x")
        let stranger = Samples.device(2).publicKeys.signing
        #expect(refusal { try Signature.check(signature, of: other, by: pairs.publicKeys.signing) } == .badSignature)
        #expect(refusal { try Signature.check(signature, of: message, by: stranger) } == .badSignature)
        for damaged in signature.flipped + signature.cutAndContinued {
            #expect(
                refusal { try Signature.check(damaged, of: message, by: pairs.publicKeys.signing) } == .badSignature)
        }
        // The neutral element signs everything where a library allows it.
        let neutral: [UInt8] = [1] + [UInt8](repeating: 0, count: 31)
        #expect(
            refusal { try Signature.check(neutral + [UInt8](repeating: 0, count: 32), of: message, by: neutral) }
                == .badSignature)
    }

    @Test("a box opens for whom it was made, and shows every flipped bit and every cut")
    func boxes() throws {
        let pairs = Samples.device(1)
        let message = PartWriter(.identityBox)
        let box = try BoxPair.box(message, to: pairs.publicKeys.box)
        #expect(box.count == message.bytes.count + 48)
        #expect(try pairs.open(box) == message.bytes)
        #expect(refusal { try Samples.device(2).open(box) } == .damaged)
        for other in box.flipped + box.cutAndContinued { #expect(refusal { try pairs.open(other) } == .damaged) }
    }

    @Test("a device's key for signatures is not checked in a statement, where nobody checks signatures with it")
    func deviceKeys() throws {
        let code = RecoveryCode()
        let scope = IdentityScope(account: "_ann", container: "iCloud.example", environment: "production")
        var (identity, signed) = try Identity.first(
            scope: scope, device: Samples.device(1).publicKeys, deviceName: "", code: code)
        let none = PublicKeys(signing: [UInt8](repeating: 0xff, count: 32), box: Samples.device(2).publicKeys.box)
        (identity, signed) = try identity.adding(device: none, deviceName: "")
        #expect(try SignedStatement(signed.bytes).statement.devices[1].keys == none)
        #expect(try identity.adding(device: Samples.device(3).publicKeys, deviceName: "").signed.boxes.count == 4)
    }

    @Test("keys that are none are refused: points of small order, other encodings, other lengths")
    func smallOrder() throws {
        let zeros = [UInt8](repeating: 0, count: 31)
        let good = Samples.device(1).publicKeys
        try good.check()
        // Points of order 1, 2 and 4 on one curve or the other, and one that is written as a number above the field's.
        var high = good.box
        high[31] |= 0x80
        #expect(
            refusal { try PublicKeys(signing: good.signing, box: high).check() } == .damaged,
            "another way of writing it")
        let nine = [0xed + 9] + [UInt8](repeating: 0xff, count: 30) + [0x7f]
        #expect(refusal { try PublicKeys(signing: good.signing, box: nine).check() } == .damaged, "9, above the field")
        try PublicKeys(signing: good.signing, box: [9] + zeros).check()
        let none: [[UInt8]] = [
            [], [0] + zeros, [1] + zeros, [0xec] + [UInt8](repeating: 0xff, count: 30) + [0x7f],
            [0xed] + [UInt8](repeating: 0xff, count: 30) + [0x7f],
            bytes("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
            bytes("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
            Array(good.box.dropLast()), good.box + [0],
        ]
        for key in none {
            #expect(refusal { try PublicKeys(signing: key, box: good.box).check() } == .damaged, "\(key)")
            #expect(refusal { try PublicKeys(signing: good.signing, box: key).check() } == .damaged, "\(key)")
            #expect(refusal { try BoxPair.box(PartWriter(.identityBox), to: key) } == .damaged, "\(key)")
        }
    }

    @Test("a key's bytes stand in no description")
    func descriptions() {
        let key = SecretKey(copying: Array("a very secret key of 32 letters!".utf8))
        var dumped = ""
        dump(key, to: &dumped)
        #expect(["\(key)", String(reflecting: key), dumped].allSatisfy { $0.contains("SecretKey(32 bytes)") })
        #expect(!dumped.contains("- 97") && !dumped.contains("secret key of"), "\(dumped)")
        dumped = ""
        dump(KeyPairs(seed: key), to: &dumped)
        #expect(dumped.contains("seed: SecretKey(32 bytes)"), "\(dumped)")
    }

    @Test("parts end where they end: lengths beyond it, bytes behind it and text that is none are refused")
    func parts() throws {
        var reader = PartReader(unlabelled: [3, 0, 0, 0, 1, 2])
        #expect(refusal { try reader.readBytes(atMost: 10) } == .damaged)
        reader = PartReader(unlabelled: [255, 255, 255, 255])
        #expect(refusal { try reader.readBytes(atMost: .max) } == .damaged)
        reader = PartReader(unlabelled: [1, 0, 0, 0, 0xff])
        #expect(refusal { try reader.readText() } == .damaged)
        reader = PartReader(unlabelled: [1])
        #expect(refusal { try reader.end() } == .damaged)
        #expect(try reader.readU8() == 1)
        try reader.end()
        reader = PartReader(unlabelled: [1, 2])
        #expect(refusal { try reader.readFormat() } == .newer)
    }

    @Test("text of bytes has 64 characters, and no other byte is taken for one of them")
    func base64() {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        for byte in UInt8.min ... .max {
            let text = [byte] + Array("AAA".utf8)
            let read = Base64URL.bytes(text)
            #expect(read.map { Array(Base64URL.text($0).utf8) } == (alphabet.contains(byte) ? text : nil), "\(byte)")
        }
    }

    @Test("a seed decides random bytes for one call, on its thread, and for nothing else")
    func seeded() {
        func some() -> [[UInt8]] { (0..<3).map { _ in SecretKey.random().copyBytes() } + [Sodium.randomBytes(100)] }
        let first = SeededRandomness.testOnly_use(seed: 7) { some() }
        #expect(SeededRandomness.testOnly_use(seed: 7) { some() } == first && Set(first).count == 4)
        #expect(SeededRandomness.testOnly_use(seed: 8) { some() } != first)
        #expect(some() != first && some() != some())
        let sealed = (0..<2).map { _ in
            SeededRandomness.testOnly_use(seed: 7) { Seal.seal([1], data: [], key: Samples.key(1)) }
        }
        #expect(sealed[0] == sealed[1])
    }
}

extension PublicKeys {
    fileprivate func check() throws(EncryptionRefusal) {
        try Self.check(signing: signing)
        try Self.check(box: box)
    }
}
