package import BrumeModel

/// Makes ``EncodedFields`` from fields that are not contiguous in memory.
package struct EncodedFieldsBuilder {
    private var bytes: [UInt8] = []
    private var count = 0

    package init() {}

    package mutating func reserve(byteCount: Int) {
        bytes.reserveCapacity(byteCount)
    }

    /// Appends a field in canonical encoding, whose key comes after all keys so far.
    package mutating func append(_ field: UnsafeRawBufferPointer) {
        bytes.append(byteCount: WireSize.message(field.count)) { $0.message(StoredRecord.fieldsNumber, field) }
        count += 1
    }

    /// Appends that many fields, encoded as in a record, whose keys come after all keys so far.
    package mutating func append(encoded fields: Slice<UnsafeRawBufferPointer>, count fieldCount: Int) {
        bytes.append(contentsOf: fields)
        count += fieldCount
    }

    package var isEmpty: Bool { count == 0 }

    package var fields: EncodedFields { EncodedFields(SharedBytes(bytes), count: count) }
}
