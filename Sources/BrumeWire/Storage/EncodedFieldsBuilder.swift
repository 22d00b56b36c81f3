internal import BrumeModel

/// Makes ``EncodedFields`` of fields that don't stand one behind the other.
struct EncodedFieldsBuilder {
    private var bytes: [UInt8] = []
    private var count = 0

    mutating func reserve(byteCount: Int) {
        bytes.reserveCapacity(byteCount)
    }

    /// Appends a field in canonical encoding, whose key stands behind all others.
    mutating func append(_ field: UnsafeRawBufferPointer) {
        bytes.append(byteCount: WireSize.message(field.count)) { $0.message(StoredRecord.fieldsNumber, field) }
        count += 1
    }

    /// Appends so many fields as they will stand, whose keys stand behind all others.
    mutating func append(encoded fields: Slice<UnsafeRawBufferPointer>, count fieldCount: Int) {
        bytes.append(contentsOf: fields)
        count += fieldCount
    }

    var isEmpty: Bool { count == 0 }

    var fields: EncodedFields { EncodedFields(SharedBytes(bytes), count: count) }
}
