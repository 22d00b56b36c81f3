/// Encrypts and decrypts the fields of one record, and stamps it (Documentation/EncryptionFormats.md, sections 4 and
/// 5).
///
/// What is sealed names the record, its type, the field and the value's type: a server that puts a value into another
/// place gets it refused.
package struct RecordCipher: Sendable {
    /// A stamp has the header and a seal of nothing.
    package static let stampBytes = ValueHeader.byteCount + Seal.overheadBytes

    private let cipher: TreeCipher
    private let header: [UInt8]
    private let fieldData: PartWriter
    private let stampData: PartWriter

    init(tree cipher: TreeCipher, recordName: String, recordType: String) {
        self.cipher = cipher
        let header = cipher.header.bytes
        func data(_ label: Label) -> PartWriter {
            var data = PartWriter(label, capacity: 512)
            data.write(bytes: header)
            data.write(cipher.tree.place)
            data.write(text: recordName)
            data.write(text: recordType)
            return data
        }
        self.header = header
        fieldData = data(.field)
        stampData = data(.stamp)
    }

    /// Encrypts a field's value.
    ///
    /// - Parameter valueType: As schemas write it: `STRING`, `LIST<INT64>`.
    package func seal(_ value: [UInt8], field: String, valueType: String) -> [UInt8] {
        let length = 4 + value.count
        let paddedLength = Int(Padding.padded(UInt64(length)))
        var padded = [UInt8]()
        padded.reserveCapacity(paddedLength)
        withUnsafeBytes(of: UInt32(value.count).littleEndian) { padded.append(contentsOf: $0) }
        padded += value
        padded.append(contentsOf: repeatElement(0, count: paddedLength - length))
        defer { Sodium.wipe(&padded) }
        return Seal.seal(padded, data: data(field: field, valueType: valueType), key: cipher.fieldKey, behind: header)
    }

    /// A field's value.
    ///
    /// - Throws: `newer`; `wrongTree` and `keyMissing` where another key is wanted; `damaged` for all that was not
    ///   encrypted for this field of this record.
    package func open(_ sealed: [UInt8], field: String, valueType: String) throws(EncryptionRefusal) -> [UInt8] {
        try cipher.check(ValueHeader(of: sealed))
        var padded = try Seal.open(
            sealed[ValueHeader.byteCount...], data: data(field: field, valueType: valueType), key: cipher.fieldKey)
        defer { Sodium.wipe(&padded) }
        guard padded.count >= 4 else { throw .damaged }
        let count = Int(padded[..<4].reversed().reduce(0) { $0 << 8 | UInt32($1) })
        let end = 4 + count
        guard end <= padded.count, UInt64(padded.count) == Padding.padded(UInt64(end)),
            padded[end...].allSatisfy({ $0 == 0 })
        else { throw .damaged }
        return Array(padded[4..<end])
    }

    /// Says that somebody with the tree's key put the record into this tree, below this parent.
    ///
    /// - Parameter parent: The parent's record name; nil for a root.
    package func stamp(parent: String?) -> [UInt8] {
        Seal.seal([], data: data(parent: parent), key: cipher.stampKey, behind: header)
    }

    /// Refuses a stamp that does not say that the record is in this tree, below this parent.
    package func check(stamp: [UInt8], parent: String?) throws(EncryptionRefusal) {
        try cipher.check(ValueHeader(of: stamp))
        guard stamp.count == Self.stampBytes else { throw .damaged }
        _ = try Seal.open(stamp[ValueHeader.byteCount...], data: data(parent: parent), key: cipher.stampKey)
    }

    private func data(field: String, valueType: String) -> [UInt8] {
        var data = fieldData
        data.write(text: field)
        data.write(text: valueType)
        return data.bytes
    }

    private func data(parent: String?) -> [UInt8] {
        var data = stampData
        data.write(u8: parent == nil ? 0 : 1)
        data.write(text: parent ?? "")
        return data.bytes
    }
}
