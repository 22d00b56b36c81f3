/// The order of texts, names and bytes wherever the server orders them: byte by byte, as unsigned numbers. For UTF-8
/// this is the order of the code points.
package enum ByteOrder {
    /// Negative where `left` stands before `right`, 0 where they are the same.
    package static func compare(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
        let count = min(left.count, right.count)
        var position = 0
        while position + 8 <= count {
            let first = left.loadUnaligned(fromByteOffset: position, as: UInt64.self)
            let second = right.loadUnaligned(fromByteOffset: position, as: UInt64.self)
            if first != second { return first.bigEndian < second.bigEndian ? -1 : 1 }
            position += 8
        }
        while position < count {
            if left[position] != right[position] { return left[position] < right[position] ? -1 : 1 }
            position += 1
        }
        return left.count - right.count
    }

    /// The same with a text on the left.
    package static func compare(_ left: String, _ right: UnsafeRawBufferPointer) -> Int {
        left.withUTF8Bytes { compare($0, right) }
    }

    package static func isEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        left.count == right.count && compare(left, right) == 0
    }

    package static func hasPrefix(_ bytes: UnsafeRawBufferPointer, _ prefix: UnsafeRawBufferPointer) -> Bool {
        bytes.count >= prefix.count && isEqual(UnsafeRawBufferPointer(rebasing: bytes[..<prefix.count]), prefix)
    }
}
