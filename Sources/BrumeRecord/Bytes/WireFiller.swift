package import BrumeModel

/// Writes protobuf fields into a buffer of the right size, as protobuf-c packs them: in the shortest form, without
/// zeroes and empty texts. Writing beyond the buffer traps.
///
/// The size is counted first (``WireSize``), then everything is written at once: see
/// ``Swift/Array/append(byteCount:_:)``. Appending to an array would check its capacity before each byte.
///
/// `@inlinable` where it is called for every record: the engine is in another module.
@frozen @usableFromInline
package struct WireFiller {
    @usableFromInline let target: UnsafeMutableRawBufferPointer
    @usableFromInline private(set) var count = 0

    @inlinable package init(_ target: UnsafeMutableRawBufferPointer) {
        self.target = target
    }

    /// Writes a text, unless it is empty.
    package mutating func text(_ number: UInt8, _ text: String) {
        if !text.isEmpty { text.withUTF8Bytes { message(number, $0) } }
    }

    /// Writes a number, unless it is 0.
    @inlinable package mutating func integer(_ number: UInt8, _ value: UInt64) {
        if value == 0 { return }
        byte(number << 3)
        varint(value)
    }

    /// Writes a field of bytes, unless there are none.
    @inlinable package mutating func data(_ number: UInt8, _ content: [UInt8]) {
        if !content.isEmpty { message(number, content) }
    }

    /// Writes a field of bytes, unless there are none.
    package mutating func data(_ number: UInt8, _ content: SharedBytes) {
        if !content.isEmpty { message(number, content) }
    }

    /// Writes a field that holds a message, even an empty one.
    @inlinable package mutating func message(_ number: UInt8, _ content: [UInt8]) {
        content.withUnsafeBytes { message(number, $0) }
    }

    /// Writes a field that holds a message, even an empty one.
    package mutating func message(_ number: UInt8, _ content: SharedBytes) {
        content.withUnsafeBytes { message(number, $0) }
    }

    /// Writes the tag and length of a field that holds a message of `count` bytes, which follow.
    @inlinable @inline(__always)
    package mutating func messageHeader(_ number: UInt8, count: Int) {
        byte(number << 3 | 2)
        varint(UInt64(count))
    }

    @inlinable package mutating func message(_ number: UInt8, _ content: UnsafeRawBufferPointer) {
        messageHeader(number, count: content.count)
        append(content)
    }

    /// Writes fields that are encoded already.
    @inlinable package mutating func append(_ encoded: UnsafeRawBufferPointer) {
        guard let source = encoded.baseAddress, encoded.count > 0 else { return }
        precondition(encoded.count <= target.count - count, "what is encoded has no room")
        (target.baseAddress! + count).copyMemory(from: source, byteCount: encoded.count)
        count += encoded.count
    }

    @inlinable @inline(__always)
    mutating func varint(_ value: UInt64) {
        if value < 0x80 { byte(UInt8(truncatingIfNeeded: value)) } else { longVarint(value) }
    }

    @usableFromInline mutating func longVarint(_ value: UInt64) {
        var value = value
        while value >= 0x80 {
            byte(UInt8(truncatingIfNeeded: value) | 0x80)
            value >>= 7
        }
        byte(UInt8(truncatingIfNeeded: value))
    }

    @inlinable @inline(__always)
    mutating func byte(_ value: UInt8) {
        precondition(count < target.count, "what is encoded has no room")
        target.baseAddress!.storeBytes(of: value, toByteOffset: count, as: UInt8.self)
        count += 1
    }
}

extension [UInt8] {
    /// Appends so many bytes, all of which `fill` writes.
    @inlinable @inline(__always)
    package mutating func append(byteCount: Int, _ fill: (inout WireFiller) -> Void) {
        append(addingCapacity: byteCount) { span in
            span.withUnsafeMutableBufferPointer { room, count in
                var filler = WireFiller(UnsafeMutableRawBufferPointer(room))
                fill(&filler)
                precondition(filler.count == byteCount, "what is encoded has another size than was counted")
                count = byteCount
            }
        }
    }
}
