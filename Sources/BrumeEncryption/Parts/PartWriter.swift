/// Writes a labelled message, part for part (Documentation/EncryptionFormats.md, section 1).
struct PartWriter {
    private(set) var bytes: [UInt8]

    init(_ label: Label, capacity: Int = 256) {
        self.init(capacity: capacity)
        write(text: label.text)
    }

    /// Parts without a label, for what is encrypted. They are no longer than `capacity`, so that no copy of a secret
    /// is left behind.
    init(capacity: Int) {
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    mutating func write(u8 number: UInt8) { bytes.append(number) }

    mutating func write(u32 number: UInt32) {
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func write(u64 number: UInt64) {
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func write(text: String) {
        write(u32: UInt32(text.utf8.count))
        bytes.append(contentsOf: text.utf8)
    }

    mutating func write(bytes part: [UInt8]) {
        write(u32: UInt32(part.count))
        bytes += part
    }

    /// Bytes without a length before them.
    mutating func write(raw part: [UInt8]) { bytes += part }

    mutating func write(bytes part: UnsafeRawBufferPointer) {
        write(u32: UInt32(part.count))
        bytes.append(contentsOf: part)
    }

    mutating func write(_ key: SecretKey) { key.withBytes { write(bytes: $0) } }

    mutating func write(list parts: [[UInt8]]) {
        write(u32: UInt32(parts.count))
        for part in parts { write(bytes: part) }
    }

    /// Overwrites a message that held a secret.
    mutating func wipe() { Sodium.wipe(&bytes) }
}
