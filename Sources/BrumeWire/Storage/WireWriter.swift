/// Appends protobuf fields to bytes, as protobuf-c packs them: in the shortest form, and nothing for a zero or an empty text.
struct WireWriter {
    private(set) var bytes: [UInt8]

    init(capacity: Int) {
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    /// Goes on behind `bytes`, with room for so many more. ``WireWriter/bytes`` has them all then.
    init(continuing bytes: consuming [UInt8], capacity: Int) {
        self.bytes = bytes
        let needed = self.bytes.count + capacity
        if self.bytes.capacity < needed { self.bytes.reserveCapacity(max(needed, 2 * self.bytes.capacity)) }
    }

    mutating func text(_ number: UInt8, _ text: String) {
        guard !text.isEmpty else { return }
        bytes.append(number << 3 | 2)
        var text = text
        text.withUTF8 { utf8 in
            varint(UInt64(utf8.count))
            bytes.append(contentsOf: utf8)
        }
    }

    mutating func integer(_ number: UInt8, _ value: Int64) {
        integer(number, UInt64(bitPattern: value))
    }

    mutating func integer(_ number: UInt8, _ value: UInt64) {
        guard value != 0 else { return }
        bytes.append(number << 3)
        varint(value)
    }

    /// A field of bytes, which is left out where there are none.
    mutating func data(_ number: UInt8, _ content: [UInt8]) {
        if !content.isEmpty { message(number, content) }
    }

    /// A field that holds a message, also one without content.
    mutating func message(_ number: UInt8, _ content: [UInt8]) {
        messageHeader(number, count: content.count)
        bytes.append(contentsOf: content)
    }

    /// The beginning of a field that holds a message of `count` bytes, which follow.
    mutating func messageHeader(_ number: UInt8, count: Int) {
        bytes.append(number << 3 | 2)
        varint(UInt64(count))
    }

    /// Fields that are encoded already.
    mutating func append(_ fields: [UInt8]) {
        bytes.append(contentsOf: fields)
    }

    /// Fields that are encoded already.
    mutating func append(_ encoded: UnsafeRawBufferPointer) {
        bytes.append(contentsOf: encoded)
    }

    private mutating func varint(_ value: UInt64) {
        var value = value
        while value >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: value) | 0x80)
            value >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: value))
    }

    // MARK: Sizes

    /// Bytes that `value` takes as a varint.
    static func varintBytes(_ value: Int) -> Int {
        max((Int.bitWidth - value.leadingZeroBitCount + 6) / 7, 1)
    }

    /// Bytes that ``integer(_:_:)-(_,UInt64)`` writes.
    static func integerBytes(_ value: UInt64) -> Int {
        value == 0 ? 0 : 1 + varintBytes(Int(bitPattern: UInt(value)))
    }

    /// Bytes that ``data(_:_:)``, or ``text(_:_:)`` of so many bytes, writes.
    static func dataBytes(_ count: Int) -> Int { count == 0 ? 0 : messageBytes(count) }

    /// Bytes that ``message(_:_:)`` writes.
    static func messageBytes(_ count: Int) -> Int { 1 + varintBytes(count) + count }
}
