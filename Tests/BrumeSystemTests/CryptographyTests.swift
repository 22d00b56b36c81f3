import BrumeSystem
import Testing

@Suite struct CryptographyTests {
    private func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    @Test("HMAC-SHA256 agrees with RFC 4231, also when the context is used again")
    func messageAuthentication() {
        let authentication = MessageAuthentication(key: Array("Jefe".utf8))
        let message = Array("what do ya want for nothing?".utf8)
        let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        #expect(hexadecimal(authentication.authenticate(message)) == expected)
        #expect(hexadecimal(authentication.authenticate([])) != expected)
        #expect(hexadecimal(authentication.authenticate(message)) == expected)
        let long = MessageAuthentication(key: [UInt8](repeating: 0xaa, count: 131))
        #expect(
            hexadecimal(long.authenticate(Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8)))
                == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
    }

    @Test("a code is valid for its message alone, shortened or whole")
    func validity() {
        let authentication = MessageAuthentication(key: [1, 2, 3])
        let message: [UInt8] = [4, 5, 6]
        let code = authentication.authenticate(message)
        func isValid(_ code: [UInt8], _ message: [UInt8]) -> Bool {
            code.withUnsafeBytes { code in message.withUnsafeBytes { authentication.isValid(code, for: $0) } }
        }
        #expect(isValid(code, message))
        #expect(isValid(Array(code.prefix(16)), message))
        #expect(!isValid(code, [4, 5, 7]))
        #expect(!isValid([], message))
        #expect(!isValid(code + [0], message))
        for index in code.indices {
            var flipped = code
            flipped[index] ^= 1
            #expect(!isValid(flipped, message))
        }
    }

    @Test("SHA-256 agrees with FIPS 180-4")
    func sha256() {
        #expect(
            hexadecimal(SHA256.digest(Array("abc".utf8)))
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(
            hexadecimal(SHA256.digest([UInt8]()))
                == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    }

    @Test("SHA-256 of bytes that come in pieces is that of all of them")
    func sha256InPieces() {
        let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 3) }
        for length in [1, 63, 64, 4096, 65_537] {
            let stream = SHA256Stream()
            for start in stride(from: 0, to: bytes.count, by: length) {
                Array(bytes[start..<min(start + length, bytes.count)]).withUnsafeBytes { stream.update($0) }
                [UInt8]().withUnsafeBytes { stream.update($0) }
            }
            #expect(stream.finish() == SHA256.digest(bytes), "\(length) at a time")
        }
        #expect(SHA256Stream().finish() == SHA256.digest([UInt8]()))
    }

    @Test("random bytes have the length that was asked for and differ")
    func random() {
        #expect(SecureRandom.bytes(0).isEmpty)
        #expect(SecureRandom.bytes(1000).count == 1000)
        #expect(SecureRandom.bytes(16) != SecureRandom.bytes(16))
    }

    @Test("comparison tells equal from different")
    func comparison() {
        #expect(ConstantTime.isEqual([], []))
        #expect(ConstantTime.isEqual([1, 2], [1, 2]))
        #expect(!ConstantTime.isEqual([1, 2], [1, 3]))
        #expect(!ConstantTime.isEqual([1, 2], [1, 2, 3]))
    }

    @Test("a deterministic seal is the code and AES in counter mode from it on, as other software computes them")
    func deterministicSeal() {
        let text = Array("attack at dawn, 45 bytes or so of it, no more".utf8)
        let seal = DeterministicSeal(secret: [UInt8](repeating: 7, count: 32), label: "test")
        let sealed = seal.seal(text, version: 9)
        #expect(
            hexadecimal(sealed)
                == "090c7258f7dbd17542564e4c5fcf2df742c7700b04510743613ccfdc672f8dee5b5486342a03"
                + "65b9100f1225ba89f541f2dd575698f99a28683ea888e461")
        #expect(seal.open(sealed) == text)
        #expect(seal.open(seal.seal([], version: 0)) == [])
    }

    @Test("a seal with any bit flipped, cut, of another label or another secret does not open")
    func forgedSeals() {
        let secret = [UInt8](repeating: 7, count: 32)
        let seal = DeterministicSeal(secret: secret, label: "test")
        let sealed = seal.seal([1, 2, 3, 4], version: 9)
        for bit in 0..<sealed.count * 8 {
            var forged = sealed
            forged[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(seal.open(forged) == nil, "bit \(bit)")
        }
        for count in 0..<sealed.count { #expect(seal.open(Array(sealed[..<count])) == nil) }
        #expect(DeterministicSeal(secret: secret, label: "other").open(sealed) == nil)
        let other = DeterministicSeal(secret: [UInt8](repeating: 8, count: 32), label: "test")
        #expect(other.open(sealed) == nil)
    }
}
