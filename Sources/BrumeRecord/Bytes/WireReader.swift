/// Walks the fields of one encoded message in place, without copying or allocating.
///
/// For stored records, of whose many fields only a few are read. Never reads past the message's end, whatever the bytes
/// say.
///
/// `@inlinable` where it is called for every field of a request: the readers of requests are in another module.
@frozen @usableFromInline
package struct WireReader {
    @frozen @usableFromInline
    package struct Element {
        @usableFromInline package let number: UInt64
        /// The content of a length-delimited field, empty for other kinds.
        @usableFromInline package let content: UnsafeRawBufferPointer
        /// The value of a varint or the bits of a fixed field.
        @usableFromInline package let scalar: UInt64
        /// How the content is encoded, as the tag says.
        @usableFromInline package let wireType: UInt8
        /// The field's range in the message, its tag included.
        @usableFromInline package let range: Range<Int>

        @inlinable
        init(
            number: UInt64, content: UnsafeRawBufferPointer, scalar: UInt64, wireType: UInt8, range: Range<Int>
        ) {
            self.number = number
            self.content = content
            self.scalar = scalar
            self.wireType = wireType
            self.range = range
        }

        @inlinable package var isLengthDelimited: Bool { wireType == 2 }
        @inlinable package var isVarint: Bool { wireType == 0 }
    }

    /// The bytes are no protobuf message.
    @frozen @usableFromInline
    package struct Damage: Error {
        @inlinable package init() {}
    }

    @usableFromInline let bytes: UnsafeRawBufferPointer
    @usableFromInline var offset = 0

    @inlinable
    package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    /// The next field, or nil at the end.
    @inlinable @inline(__always)
    package mutating func next() throws(Damage) -> Element? {
        let left = bytes.count - offset
        guard left > 0, let base = bytes.baseAddress else { return nil }
        // Most fields are texts and messages with a number below 16, whose length takes one byte or two.
        if left >= 3, bytes[offset] & 0x87 == 2, bytes[offset] >= 8 {
            let (low, high) = (Int(bytes[offset + 1]), Int(bytes[offset + 2]))
            let isShort = low < 0x80
            let (head, count) = isShort ? (2, low) : (3, low & 0x7F | high << 7)
            if isShort || high < 0x80, count <= left - head {
                let start = offset
                offset += head + count
                return Element(
                    number: UInt64(bytes[start] >> 3),
                    content: UnsafeRawBufferPointer(start: base + start + head, count: count), scalar: 0, wireType: 2,
                    range: Range(uncheckedBounds: (start, offset)))
            }
        }
        return try nextOfAnyKind()
    }

    @usableFromInline
    mutating func nextOfAnyKind() throws(Damage) -> Element? {
        let start = offset
        let tag = try varint(bytesLimit: Self.headBytesLimit)
        let number = tag >> 3
        guard number > 0 else { throw Damage() }
        var scalar: UInt64 = 0
        var content = UnsafeRawBufferPointer(start: nil, count: 0)
        switch tag & 7 {
        case 0:
            scalar = try varint()
        case 1:
            let fixed = try take(8)
            scalar = UInt64(littleEndian: fixed.loadUnaligned(as: UInt64.self))
        case 2:
            content = try take(try varint(bytesLimit: Self.headBytesLimit))
        case 5:
            let fixed = try take(4)
            scalar = UInt64(UInt32(littleEndian: fixed.loadUnaligned(as: UInt32.self)))
        default:
            throw Damage()
        }
        return Element(
            number: number, content: content, scalar: scalar, wireType: UInt8(tag & 7), range: start..<offset)
    }

    /// The next of a run of packed varints, or nil at the end.
    package mutating func nextVarint() throws(Damage) -> UInt64? {
        guard offset < bytes.count else { return nil }
        return try varint()
    }

    /// The next of a run of packed fixed numbers, or nil at the end.
    package mutating func nextFixed64() throws(Damage) -> UInt64? {
        guard offset < bytes.count else { return nil }
        return UInt64(littleEndian: try take(8).loadUnaligned(as: UInt64.self))
    }

    @inline(__always)
    private mutating func take(_ count: UInt64) throws(Damage) -> UnsafeRawBufferPointer {
        guard let start = bytes.baseAddress, count <= UInt64(bytes.count - offset) else { throw Damage() }
        defer { offset += Int(count) }
        return UnsafeRawBufferPointer(start: start + offset, count: Int(count))
    }

    /// The most bytes of a tag or length, which have 32 bits: protobuf-c accepts no longer ones.
    private static let headBytesLimit: UInt64 = 5

    @inline(__always)
    private mutating func varint(bytesLimit: UInt64 = 10) throws(Damage) -> UInt64 {
        // Almost all tags and lengths have one byte or two.
        if offset < bytes.count, bytes[offset] < 0x80 {
            defer { offset += 1 }
            return UInt64(bytes[offset])
        }
        if bytes.count - offset >= 2, bytes[offset + 1] < 0x80 {
            defer { offset += 2 }
            return UInt64(bytes[offset] & 0x7F) | UInt64(bytes[offset + 1]) << 7
        }
        return try longVarint(bytesLimit: bytesLimit)
    }

    private mutating func longVarint(bytesLimit: UInt64) throws(Damage) -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while offset < bytes.count, shift < 7 * bytesLimit {
            let byte = bytes[offset]
            offset += 1
            // More than 64 bits: other readers differ in what they make of that.
            if shift == 63, byte > 1 { throw Damage() }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
        throw Damage()
    }
}
