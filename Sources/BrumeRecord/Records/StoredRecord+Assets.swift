package import BrumeModel

/// The assets that a record names, read without decoding the rest of it.
extension StoredRecord {
    /// Visits the assets of a record, or of a part of it that begins at the start of a field: in the order of the
    /// fields, those of a list in the order of the list. Stops when `visit` returns false.
    ///
    /// Throws `internalError` for bytes that are not a record.
    package static func forEachAsset(
        of bytes: UnsafeRawBufferPointer, _ visit: (Asset) -> Bool
    ) throws(ServiceError) {
        var reader = AssetFieldReader(bytes)
        do throws(WireReader.Damage) {
            while let field = try reader.next() {
                if try !forEachAsset(of: field, visit) { return }
            }
        } catch {
            throw damaged("it is no protobuf message, or names an asset that is none")
        }
    }

    /// Whether a record, or a part of it that begins at the start of a field, names an asset.
    package static func holdsAssets(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var reader = AssetFieldReader(bytes)
        return (try? reader.next()) != nil
    }

    /// Whether two records name the same assets as often. False also when they do in another order.
    package static func haveSameAssets(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
        var (oneReader, otherReader) = (AssetFieldReader(one), AssetFieldReader(other))
        while true {
            guard let first = try? oneReader.next() else { return (try? otherReader.next()) == nil }
            guard let second = try? otherReader.next(), first.number == second.number,
                ByteOrder.isEqual(first.content, second.content)
            else { return false }
        }
    }

    /// Returns whether `visit` wants more.
    static func forEachAsset(
        of value: WireReader.Element, _ visit: (Asset) -> Bool
    ) throws(WireReader.Damage) -> Bool {
        if value.number == UInt64(FieldKind.asset.rawValue) { return visit(try asset(value.content)) }
        guard value.number == UInt64(FieldKind.assets.rawValue) else { return true }
        var list = WireReader(value.content)
        while let element = try list.next() {
            if try !visit(asset(element.content)) { return false }
        }
        return true
    }

    private static func asset(_ message: UnsafeRawBufferPointer) throws(WireReader.Damage) -> Asset {
        guard let asset = Asset(encoded: message) else { throw WireReader.Damage() }
        return asset
    }
}

/// Walks the fields of a record that hold assets.
private struct AssetFieldReader {
    private var reader: WireReader

    init(_ bytes: UnsafeRawBufferPointer) { reader = WireReader(bytes) }

    /// The asset, or the list of assets, of the next such field: a member of `brume.v1.Value`.
    mutating func next() throws(WireReader.Damage) -> WireReader.Element? {
        while let element = try reader.next() {
            guard element.number == UInt64(StoredRecord.fieldsNumber) else { continue }
            var field = WireReader(element.content)
            while let part = try field.next() {
                guard part.number == 2 else { continue }
                var value = WireReader(part.content)
                guard let kind = try value.next(),
                    kind.number == UInt64(FieldKind.asset.rawValue) || kind.number == UInt64(FieldKind.assets.rawValue)
                else { break }
                return kind
            }
        }
        return nil
    }
}
