/// Reads the parts of a message that came from outside: nothing of it is trusted, and nothing is read past its end.
struct PartReader {
    private var bytes: [UInt8]
    private var offset = 0

    /// Reads a message that has to have this label.
    init(_ bytes: [UInt8], _ label: Label) throws(EncryptionRefusal) {
        self.bytes = bytes
        guard try readText(atMost: label.text.utf8.count) == label.text else { throw .damaged }
    }

    /// Reads parts without a label.
    init(unlabelled bytes: [UInt8]) { self.bytes = bytes }

    mutating func readU8() throws(EncryptionRefusal) -> UInt8 { UInt8(try readNumber(byteCount: 1)) }
    mutating func readU32() throws(EncryptionRefusal) -> UInt32 { UInt32(try readNumber(byteCount: 4)) }
    mutating func readU64() throws(EncryptionRefusal) -> UInt64 { try readNumber(byteCount: 8) }

    mutating func readBytes(atMost limit: Int) throws(EncryptionRefusal) -> [UInt8] {
        let count = Int(try readU32())
        guard count <= limit else { throw .damaged }
        return Array(try take(count))
    }

    mutating func readBytes(exactly count: Int) throws(EncryptionRefusal) -> [UInt8] {
        guard Int(try readU32()) == count else { throw .damaged }
        return Array(try take(count))
    }

    /// Bytes without a length before them.
    mutating func readRaw(_ count: Int) throws(EncryptionRefusal) -> [UInt8] { Array(try take(count)) }

    mutating func readText(atMost limit: Int = Limits.textBytes) throws(EncryptionRefusal) -> String {
        guard let text = String(validating: try readBytes(atMost: limit), as: UTF8.self) else { throw .damaged }
        return text
    }

    /// The number of elements that follow.
    mutating func readCount(_ range: ClosedRange<Int>) throws(EncryptionRefusal) -> Int {
        let count = Int(try readU32())
        guard range.contains(count) else { throw .damaged }
        return count
    }

    /// Format and suite, which stand in front of what is stored.
    mutating func readFormat() throws(EncryptionRefusal) {
        try Suite.check(bytes[offset...].prefix(2))
        offset += 2
    }

    /// A key, which is not left behind in a copy.
    mutating func readKey(isLocked: Bool = false) throws(EncryptionRefusal) -> SecretKey {
        var key = try readBytes(exactly: SecretKey.byteCount)
        defer { Sodium.wipe(&key) }
        return SecretKey(copying: key, isLocked: isLocked)
    }

    /// Overwrites a message that holds a secret, and that nobody else has.
    mutating func wipe() { Sodium.wipe(&bytes) }

    /// Nothing may stand behind the last part.
    func end() throws(EncryptionRefusal) {
        guard offset == bytes.count else { throw .damaged }
    }

    private mutating func readNumber(byteCount: Int) throws(EncryptionRefusal) -> UInt64 {
        try take(byteCount).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    private mutating func take(_ count: Int) throws(EncryptionRefusal) -> ArraySlice<UInt8> {
        guard count <= bytes.count - offset else { throw .damaged }
        defer { offset += count }
        return bytes[offset..<offset + count]
    }
}
