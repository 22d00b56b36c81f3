/// How many bytes protobuf fields take, with their tags and lengths, as ``WireFiller`` and protobuf-c write them. For
/// fields up to number 15.
package enum WireSize {
    package static func varint(_ value: Int) -> Int {
        max((Int.bitWidth - value.leadingZeroBitCount + 6) / 7, 1)
    }

    /// Of a number, which is left out where it is 0.
    package static func integer(_ value: UInt64) -> Int {
        value == 0 ? 0 : 1 + varint(Int(bitPattern: UInt(value)))
    }

    /// Of so many bytes, or of a text of so many, which is left out where it is empty.
    package static func data(_ count: Int) -> Int { count == 0 ? 0 : message(count) }

    /// Of a message of so many bytes.
    package static func message(_ count: Int) -> Int { 1 + varint(count) + count }
}
