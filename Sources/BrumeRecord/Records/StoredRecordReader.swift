/// Walks a stored record in place: its system fields, then its fields in the order of their keys. Copies and allocates
/// nothing.
///
/// Bytes that are not a record end the walk; no bytes can make it trap.
package struct StoredRecordReader {
    package enum Element {
        case name(UnsafeRawBufferPointer)
        case type(UnsafeRawBufferPointer)
        case creator(UnsafeRawBufferPointer)
        case createdMilliseconds(Int64)
        case modifier(UnsafeRawBufferPointer)
        case modifiedMilliseconds(Int64)
        case parent(UnsafeRawBufferPointer)
        /// The key, and the encoded field for ``StoredRecordReader/value(ofField:)``.
        case field(key: UnsafeRawBufferPointer, field: UnsafeRawBufferPointer)
    }

    private var reader: WireReader

    package init(_ record: UnsafeRawBufferPointer) {
        reader = WireReader(record)
    }

    /// The next element, or nil at the end. Zeroes and empty texts are left out, as the encoding does.
    package mutating func next() -> Element? {
        while let element = try? reader.next() {
            switch element.number {
            case 1: return .name(element.content)
            case 2: return .type(element.content)
            case 4: return .creator(element.content)
            case 5: return .createdMilliseconds(Int64(bitPattern: element.scalar))
            case 6: return .modifier(element.content)
            case 7: return .modifiedMilliseconds(Int64(bitPattern: element.scalar))
            case 8: return .parent(element.content)
            case 15:
                var field = WireReader(element.content)
                guard let key = try? field.next(), key.number == 1 else { return nil }
                return .field(key: key.content, field: element.content)
            default: continue
            }
        }
        return nil
    }

    package static func value(ofField field: UnsafeRawBufferPointer) -> StoredValue {
        var reader = WireReader(field)
        while let element = try? reader.next() {
            if element.number == 2 { return StoredValue(encoded: element.content) }
        }
        return .missing
    }
}
