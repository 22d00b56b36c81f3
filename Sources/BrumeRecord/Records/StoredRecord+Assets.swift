package import BrumeModel

/// The assets that a record names, read without decoding the rest of it.
extension StoredRecord {
    /// Visits the assets of a record, or of a part of it that begins at the start of a field: in the order of the fields,
    /// those of a list in the order of the list.
    ///
    /// Throws `internalError` for bytes that are not a record.
    package static func forEachAsset(
        of bytes: UnsafeRawBufferPointer, _ visit: (Asset) -> Void
    ) throws(ServiceError) {
        var reader = WireReader(bytes)
        do throws(WireReader.Damage) {
            while let element = try reader.next() {
                guard element.number == UInt64(fieldsNumber) else { continue }
                var field = WireReader(element.content)
                while let part = try field.next() {
                    if part.number == 2 { try forEachAsset(ofValue: part.content, visit) }
                }
            }
        } catch {
            throw damaged("it is no protobuf message, or names an asset that is none")
        }
    }

    /// The same of an encoded value.
    static func forEachAsset(
        ofValue bytes: UnsafeRawBufferPointer, _ visit: (Asset) -> Void
    ) throws(WireReader.Damage) {
        var value = WireReader(bytes)
        while let kind = try value.next() {
            if kind.number == UInt64(FieldKind.asset.rawValue) { visit(try asset(kind.content)) }
            guard kind.number == UInt64(FieldKind.assets.rawValue) else { continue }
            var list = WireReader(kind.content)
            while let element = try list.next() { visit(try asset(element.content)) }
        }
    }

    private static func asset(_ message: UnsafeRawBufferPointer) throws(WireReader.Damage) -> Asset {
        guard let asset = Asset(encoded: message) else { throw WireReader.Damage() }
        return asset
    }
}
