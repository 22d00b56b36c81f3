package import BrumeModel

/// Makes ``EncodedFields`` of fields that don't stand one behind the other.
package struct EncodedFieldsBuilder {
    private var bytes: [UInt8] = []
    private var count = 0

    package init() {}

    package mutating func reserve(byteCount: Int) {
        bytes.reserveCapacity(byteCount)
    }

    /// Appends a field in canonical encoding, whose key stands behind all others.
    package mutating func append(_ field: UnsafeRawBufferPointer) {
        bytes.append(byteCount: WireSize.message(field.count)) { $0.message(StoredRecord.fieldsNumber, field) }
        count += 1
    }

    /// Appends so many fields as they will stand, whose keys stand behind all others.
    package mutating func append(encoded fields: Slice<UnsafeRawBufferPointer>, count fieldCount: Int) {
        bytes.append(contentsOf: fields)
        count += fieldCount
    }

    package var isEmpty: Bool { count == 0 }

    package var fields: EncodedFields { EncodedFields(SharedBytes(bytes), count: count) }
}
