/// Fixed-width integers, least significant byte first, as all files of the store hold them.
extension [UInt8] {
    mutating func appendInteger(_ value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
    }

    mutating func setInteger(_ value: some FixedWidthInteger, at offset: Int) {
        Swift.withUnsafeBytes(of: value.littleEndian) { replaceSubrange(offset..<offset + $0.count, with: $0) }
    }

    /// The integer at `offset`, which must lie within the array.
    func integer<Value: FixedWidthInteger>(at offset: Int, as type: Value.Type = Value.self) -> Value {
        precondition(
            offset >= 0 && offset + MemoryLayout<Value>.size <= count, "an integer is read outside of its bytes")
        return withUnsafeBytes { Value(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: Value.self)) }
    }

    /// CRC-32C of a part of the array.
    func checksum(_ range: Range<Int>) -> UInt32 {
        withUnsafeBytes { bytes in
            var crc = CRC32C()
            crc.update(UnsafeRawBufferPointer(rebasing: bytes[range]))
            return crc.value
        }
    }

    /// The index of the last byte at or after `start` that is not zero; nil when all are zero.
    func lastNonzeroIndex(from start: Int) -> Int? {
        withUnsafeBytes { bytes in
            var index = bytes.count
            while index > start, index % 8 != 0 || bytes.loadUnaligned(fromByteOffset: index - 8, as: UInt64.self) == 0
            {
                if index % 8 != 0 {
                    if bytes[index - 1] != 0 { return index - 1 }
                    index -= 1
                } else if index - 8 >= start {
                    index -= 8
                } else {
                    break
                }
            }
            while index > start {
                if bytes[index - 1] != 0 { return index - 1 }
                index -= 1
            }
            return nil
        }
    }
}
