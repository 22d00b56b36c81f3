package import BrumeModel

/// What a stored record says of its encrypted values.
extension StoredRecord {
    /// Calls `visit` with each field's header, nil for a field that is not encrypted, and the bytes of the field.
    /// Nothing is allocated.
    package static func forEachEncryptedHeader(
        of record: UnsafeRawBufferPointer, _ visit: (EncryptedHeader?, _ byteCount: Int) -> Void
    ) {
        var reader = WireReader(record)
        while let element = try? reader.next() {
            if element.number == UInt64(fieldsNumber) {
                visit(encryptedHeader(ofField: element.content), element.content.count)
            }
        }
    }

    /// Whether the value of a field that was checked is encrypted.
    package static func isEncrypted(field bytes: UnsafeRawBufferPointer) throws(WireReader.Damage) -> Bool {
        var parts = WireReader(bytes)
        while let part = try parts.next() {
            guard part.number == 2 else { continue }
            var value = WireReader(part.content)
            guard let member = try value.next() else { return false }
            return FieldKind(number: member.number)?.isEncrypted == true
        }
        return false
    }

    /// The header of the value of a field that was checked; nil where it is not encrypted.
    static func encryptedHeader(ofField bytes: UnsafeRawBufferPointer) -> EncryptedHeader? {
        var parts = WireReader(bytes)
        while let part = try? parts.next() {
            guard part.number == 2 else { continue }
            var value = WireReader(part.content)
            guard let member = try? value.next(), let kind = FieldKind(number: member.number), kind.isEncrypted else {
                return nil
            }
            let sealed = kind.namesAssets ? try? secrets(ofAssets: member.content) : member.content
            guard let sealed, let header = try? EncryptedHeader(ofValue: sealed) else {
                preconditionFailure("an encrypted value that was checked has no header")
            }
            return header
        }
        return nil
    }
}
