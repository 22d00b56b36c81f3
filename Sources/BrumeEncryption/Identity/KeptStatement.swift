/// What a signed statement that was kept says of its place in its chain, and of its account's keys.
///
/// It is read in place: nothing is hashed, and nothing is checked but that these parts stand where they should. Whoever
/// checks the entries of rings needs no more of any statement but the last of a chain, and a whole one lists up to 64
/// devices, with a box for each.
struct KeptStatement {
    let number: UInt32
    let previousHash: InlineHash
    private let bytes: [UInt8]
    private let signing: Range<Int>
    private let box: Range<Int>
    private let code: Range<Int>

    init(_ bytes: [UInt8]) throws(EncryptionRefusal) {
        var offset = 0
        func number(at start: Int) throws(EncryptionRefusal) -> UInt32 {
            guard start <= bytes.count - 4 else { throw .damaged }
            return UInt32(bytes[start]) | UInt32(bytes[start + 1]) << 8 | UInt32(bytes[start + 2]) << 16
                | UInt32(bytes[start + 3]) << 24
        }
        /// The next part, which has its length before it.
        func part() throws(EncryptionRefusal) -> Range<Int> {
            let count = Int(try number(at: offset))
            let start = offset + 4
            guard count <= bytes.count - start else { throw .damaged }
            offset = start + count
            return start..<offset
        }
        func part(of count: Int) throws(EncryptionRefusal) -> Range<Int> {
            let range = try part()
            guard range.count == count else { throw .damaged }
            return range
        }
        _ = try part()  // The label.
        offset += 4  // The length of the statement.
        _ = try part()  // Its label.
        offset += 2  // Format and suite.
        for _ in 0..<3 { _ = try part() }  // The scope.
        self.number = try number(at: offset)
        offset += 4
        previousHash = InlineHash(bytes, at: try part(of: Digest.byteCount).lowerBound)
        signing = try part(of: PublicKeys.byteCount)
        box = try part(of: PublicKeys.byteCount)
        code = try part(of: PublicKeys.byteCount)
        self.bytes = bytes
    }

    var keys: PublicKeys { PublicKeys(signing: Array(bytes[signing]), box: Array(bytes[box])) }
    var codeKey: [UInt8] { Array(bytes[code]) }

    /// Whether its keys are these: without an allocation.
    func names(_ keys: PublicKeys) -> Bool { bytes[signing] == keys.signing[...] && bytes[box] == keys.box[...] }

    func names(code key: [UInt8]) -> Bool { bytes[code] == key[...] }
}

/// A hash in place, not in an array of its own: many of them are kept, and compared one after the other.
struct InlineHash: Hashable, Sendable {
    private let words: SIMD4<UInt64>

    /// - Precondition: The bytes of a hash stand there.
    init(_ bytes: [UInt8], at start: Int) {
        precondition(start >= 0 && start <= bytes.count - Digest.byteCount, "a hash has 32 bytes")
        func word(_ index: Int) -> UInt64 {
            var word: UInt64 = 0
            for byte in 0..<8 { word |= UInt64(bytes[start + index * 8 + byte]) << UInt64(byte * 8) }
            return word
        }
        words = SIMD4(word(0), word(1), word(2), word(3))
    }

    /// Nil for what is no hash.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == Digest.byteCount else { return nil }
        self.init(bytes, at: 0)
    }
}
