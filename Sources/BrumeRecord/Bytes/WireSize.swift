/// How many bytes protobuf fields take, with their tags and lengths, as ``WireFiller`` and protobuf-c write them. For
/// fields up to number 15.
@frozen @usableFromInline
package enum WireSize {
    @inlinable package static func varint(_ value: Int) -> Int {
        max((Int.bitWidth - value.leadingZeroBitCount + 6) / 7, 1)
    }

    /// The size of a number's field, which is left out when the number is 0.
    @inlinable package static func integer(_ value: UInt64) -> Int {
        value == 0 ? 0 : 1 + varint(Int(bitPattern: UInt(value)))
    }

    /// The size of a field of that many bytes or of a text of that many, which is left out when it is empty.
    @inlinable package static func data(_ count: Int) -> Int { count == 0 ? 0 : message(count) }

    /// The size of a field that holds a message of that many bytes.
    @inlinable package static func message(_ count: Int) -> Int { 1 + varint(count) + count }
}
