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

    /// Whether two records name the same assets as often. False also when they do in another order, or when what opens
    /// them is another.
    package static func haveSameAssets(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
        var (oneReader, otherReader) = (AssetFieldReader(one), AssetFieldReader(other))
        while true {
            guard let first = try? oneReader.next() else { return (try? otherReader.next()) == nil }
            guard let second = try? otherReader.next(), first.number == second.number,
                ByteOrder.isEqual(first.content, second.content)
            else { return false }
        }
    }

    /// Whether fields that were sent name a plain asset that the record does not name in the same field, and plain as
    /// well. True for bytes that are no record. Both are in the order of their keys.
    ///
    /// Nothing is allocated where a field is new, or as it was.
    ///
    /// - Parameter read: Grows by the assets of the record that were read.
    package static func addsPlainAssets(
        _ sent: UnsafeRawBufferPointer, over record: UnsafeRawBufferPointer, read: inout Int
    ) -> Bool {
        do throws(WireReader.Damage) {
            var (sentReader, storedReader) = (AssetFieldReader(sent), AssetFieldReader(record))
            var stored = try storedReader.next()
            while let value = try sentReader.next() {
                if FieldKind(number: value.number)?.isEncrypted != false || holdsNone(value) { continue }
                let key = try sentReader.key
                while stored != nil, ByteOrder.compare(try storedReader.key, key) < 0 {
                    stored = try storedReader.next()
                }
                guard let former = stored, ByteOrder.isEqual(try storedReader.key, key),
                    FieldKind(number: former.number)?.isEncrypted == false, try hasAll(of: value, former, &read)
                else { return true }
            }
            return false
        } catch {
            return true
        }
    }

    /// Whether a list is empty.
    private static func holdsNone(_ value: WireReader.Element) -> Bool {
        value.number == UInt64(FieldKind.assets.rawValue) && value.content.isEmpty
    }

    /// Whether each asset of a value is one of another's.
    private static func hasAll(
        of value: WireReader.Element, _ other: WireReader.Element, _ read: inout Int
    ) throws(WireReader.Damage) -> Bool {
        if value.number == other.number, ByteOrder.isEqual(value.content, other.content) { return true }
        var known = Set<Asset>()
        _ = try forEachAsset(of: other) { known.insert($0).inserted || true }
        read += known.count
        return try forEachAsset(of: value) { known.contains($0) }
    }

    /// Returns whether `visit` wants more.
    private static func forEachAsset(
        of value: WireReader.Element, _ visit: (Asset) -> Bool
    ) throws(WireReader.Damage) -> Bool {
        guard let kind = FieldKind(number: value.number), kind.namesAssets else { return true }
        if kind == .asset { return visit(try asset(value.content)) }
        var members = WireReader(value.content)
        while let member = try members.next() {
            if kind.isEncrypted, member.number == secretsNumber { continue }
            guard member.number == assetsNumber else { throw WireReader.Damage() }
            if try !visit(asset(member.content)) { return false }
        }
        return true
    }

    /// Checks a value that names assets: whoever reads it later relies on its form.
    static func checkAssets(_ kind: FieldKind, _ value: UnsafeRawBufferPointer) throws(WireReader.Damage) {
        var count = 0
        var reader = WireReader(value)
        while let member = try reader.next() {
            _ = try forEachAsset(of: member) { _ in
                count += 1
                return true
            }
            guard let plain = kind.decrypted else { continue }
            _ = try secrets(ofAssets: member.content)
            guard EncryptedValue.mayHave(assetCount: count, kind: plain) else { throw WireReader.Damage() }
        }
    }

    /// What opens the contents of encrypted assets: the last part of their value.
    static func secrets(
        ofAssets content: UnsafeRawBufferPointer
    ) throws(WireReader.Damage) -> UnsafeRawBufferPointer {
        var reader = WireReader(content)
        while let member = try reader.next() {
            if member.number == assetsNumber { continue }
            guard member.number == secretsNumber, !member.content.isEmpty, try reader.next() == nil else { break }
            return member.content
        }
        throw WireReader.Damage()
    }

    // In `brume.v1.AssetList`, `EncryptedAsset` and `EncryptedAssetList` alike.
    private static let assetsNumber: UInt64 = 1
    private static let secretsNumber: UInt64 = 2

    private static func asset(_ message: UnsafeRawBufferPointer) throws(WireReader.Damage) -> Asset {
        guard let asset = Asset(encoded: message) else { throw WireReader.Damage() }
        return asset
    }
}

/// Walks the fields of a record that hold assets.
private struct AssetFieldReader {
    private var reader: WireReader
    /// The field that was read last.
    private var lastField = UnsafeRawBufferPointer(start: nil, count: 0)

    init(_ bytes: UnsafeRawBufferPointer) { reader = WireReader(bytes) }

    /// The key of the field that was read last.
    var key: UnsafeRawBufferPointer {
        get throws(WireReader.Damage) { try StoredRecord.key(ofField: lastField) }
    }

    /// The asset, or the list of assets, encrypted or not, of the next such field: a member of `brume.v1.Value`.
    mutating func next() throws(WireReader.Damage) -> WireReader.Element? {
        while let element = try reader.next() {
            guard element.number == UInt64(StoredRecord.fieldsNumber) else { continue }
            var field = WireReader(element.content)
            while let part = try field.next() {
                guard part.number == 2 else { continue }
                var value = WireReader(part.content)
                guard let kind = try value.next(), FieldKind(number: kind.number)?.namesAssets == true else { break }
                lastField = element.content
                return kind
            }
        }
        return nil
    }
}
