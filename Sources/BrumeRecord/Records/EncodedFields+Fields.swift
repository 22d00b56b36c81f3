package import BrumeModel

extension EncodedFields {
    /// Encodes fields, which may come in any order, each key once.
    package init(_ fields: [EncodedField]) {
        var fields = fields
        if !zip(fields, fields.dropFirst()).allSatisfy({ $0.key < $1.key }) {
            fields.sort { $0.key < $1.key }
        }
        var builder = EncodedFieldsBuilder()
        builder.reserve(byteCount: fields.reduce(0) { $0 + WireSize.message($1.bytes.count) })
        for field in fields { field.bytes.withUnsafeBytes { builder.append($0) } }
        self = builder.fields
    }

    /// Visits the fields in the order of their keys: the key in UTF-8, and the kind of the value. Stops when `visit`
    /// returns false.
    package func forEach(_ visit: (UnsafeRawBufferPointer, FieldKind) -> Bool) {
        bytes.withUnsafeBytes { bytes in
            var reader = WireReader(bytes)
            do throws(WireReader.Damage) {
                while let field = try reader.next() {
                    let key = try StoredRecord.key(ofField: field.content)
                    if !visit(key, StoredRecord.kind(ofField: field.content)) { return }
                }
            } catch {
                preconditionFailure("fields that were checked are no protobuf message")
            }
        }
    }

    /// Calls `visit` with the header of each encrypted value, until it returns false. Nothing is allocated.
    package func forEachEncryptedHeader(_ visit: (EncryptedHeader) -> Bool) {
        bytes.withUnsafeBytes { bytes in
            var reader = WireReader(bytes)
            while let field = try? reader.next() {
                if let header = StoredRecord.encryptedHeader(ofField: field.content), !visit(header) { return }
            }
        }
    }
}
