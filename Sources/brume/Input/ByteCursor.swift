/// A position in the bytes of a file, with the line that it is on.
struct ByteCursor {
    let bytes: UnsafeRawBufferPointer
    private(set) var offset: Int
    /// Counted from 1.
    private(set) var line = 1

    /// Starts after a byte order mark, if there is one. The bytes must outlive the cursor.
    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        offset = bytes.count >= 3 && bytes[0] == 0xEF && bytes[1] == 0xBB && bytes[2] == 0xBF ? 3 : 0
    }

    var peek: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    mutating func next() -> UInt8? {
        guard offset < bytes.count else { return nil }
        let byte = bytes[offset]
        offset += 1
        if byte == UInt8(ascii: "\n") { line += 1 }
        return byte
    }

    mutating func skipWhitespace() {
        while let byte = peek, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { _ = next() }
    }

    /// Goes to the start of the next line.
    mutating func skipLine() {
        while let byte = next(), byte != UInt8(ascii: "\n") {}
    }
}
