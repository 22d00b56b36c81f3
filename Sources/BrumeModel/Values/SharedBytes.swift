/// Immutable bytes in an array that others may share. The records of a request are in one array, and what its items say
/// about them in another: two allocations for hundreds of records.
///
/// A small part keeps the whole array in memory: to keep it longer than the request, keep its ``array``.
@frozen @usableFromInline
package struct SharedBytes: Sendable {
    @usableFromInline package let storage: [UInt8]
    @usableFromInline package let start: UInt32
    @usableFromInline package let byteCount: UInt32

    /// All of an array, which is not copied. It has less than 4 GiB.
    @inlinable
    package init(_ bytes: [UInt8]) {
        self.init(of: bytes, at: 0..<bytes.count)
    }

    /// A part of an array.
    @inlinable
    package init(of bytes: [UInt8], at range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count, "bytes are shared that are not there")
        storage = bytes
        start = UInt32(range.lowerBound)
        byteCount = UInt32(range.count)
    }

    /// None.
    package init() { self.init([]) }

    @inlinable
    package var count: Int { Int(byteCount) }

    @inlinable
    package var isEmpty: Bool { byteCount == 0 }

    /// The bytes alone, in no more memory than they need: the array that they are in, or a copy where that holds others
    /// or has room for many more.
    package var array: [UInt8] {
        if count == storage.count, Self.isSnug(count, in: storage.capacity) { return storage }
        return withUnsafeBytes { [UInt8]($0) }
    }

    /// Whether that many bytes may stay in an allocation of that capacity: an eighth may be unused, and what an
    /// allocator adds.
    package static func isSnug(_ count: Int, in capacity: Int) -> Bool { capacity - count <= count / 8 + 32 }

    /// A part of the bytes, by offsets from their beginning. Nothing is copied.
    package func part(_ range: Range<Int>) -> SharedBytes {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "bytes are shared that are others'")
        return SharedBytes(of: storage, at: Int(start) + range.lowerBound..<Int(start) + range.upperBound)
    }

    /// Whether these are the bytes of that part of that array, not others that are equal: what was found out of them
    /// holds of these.
    package func isSame(as other: SharedBytes) -> Bool {
        start == other.start && byteCount == other.byteCount
            && storage.withUnsafeBufferPointer { mine in
                other.storage.withUnsafeBufferPointer { mine.baseAddress == $0.baseAddress }
            }
    }

    /// Calls `body` with the bytes in place. The pointer is valid only during the call.
    @inlinable @inline(__always)
    package func withUnsafeBytes<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        storage.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[Int(start)..<Int(start) + count])) }
    }
}

extension SharedBytes: Equatable {
    @usableFromInline
    package static func == (left: Self, right: Self) -> Bool {
        left.withUnsafeBytes { left in right.withUnsafeBytes { ByteOrder.isEqual(left, $0) } }
    }
}

extension SharedBytes: CustomStringConvertible {
    /// The bytes alone: other bytes of the same array stay private.
    @usableFromInline package var description: String { array.description }
}
