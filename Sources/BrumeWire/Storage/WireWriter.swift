/// Appends protobuf fields to bytes, as protobuf-c packs them: in the shortest form, and nothing for a zero or an empty text.
struct WireWriter {
    private(set) var bytes: [UInt8]

    init(capacity: Int) {
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    mutating func text(_ number: UInt8, _ text: String) {
        guard !text.isEmpty else { return }
        bytes.append(number << 3 | 2)
        varint(UInt64(text.utf8.count))
        bytes.append(contentsOf: text.utf8)
    }

    mutating func integer(_ number: UInt8, _ value: Int64) {
        guard value != 0 else { return }
        bytes.append(number << 3)
        varint(UInt64(bitPattern: value))
    }

    mutating func message(_ number: UInt8, _ content: [UInt8]) {
        messageHeader(number, content.count)
        bytes.append(contentsOf: content)
    }

    /// What stands in front of a message whose bytes are appended next.
    mutating func messageHeader(_ number: UInt8, _ byteCount: Int) {
        bytes.append(number << 3 | 2)
        varint(UInt64(byteCount))
    }

    /// Fields that are encoded already.
    mutating func append(_ fields: [UInt8]) {
        bytes.append(contentsOf: fields)
    }

    /// Bytes that a message takes as a field: 0 is written too.
    static func fieldBytes(_ number: UInt8, _ byteCount: Int) -> Int {
        1 + varintBytes(byteCount) + byteCount
    }

    private mutating func varint(_ value: UInt64) {
        var value = value
        while value >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: value) | 0x80)
            value >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: value))
    }

    /// Bytes that `value` takes as a varint.
    static func varintBytes(_ value: Int) -> Int {
        max((Int.bitWidth - value.leadingZeroBitCount + 6) / 7, 1)
    }
}
