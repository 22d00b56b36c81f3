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

    init(_ bytes: UnsafeRawBufferPointer) { reader = WireReader(bytes) }

    /// The asset, or the list of assets, encrypted or not, of the next such field: a member of `brume.v1.Value`.
    mutating func next() throws(WireReader.Damage) -> WireReader.Element? {
        while let element = try reader.next() {
            guard element.number == UInt64(StoredRecord.fieldsNumber) else { continue }
            var field = WireReader(element.content)
            while let part = try field.next() {
                guard part.number == 2 else { continue }
                var value = WireReader(part.content)
                guard let kind = try value.next(), FieldKind(number: kind.number)?.namesAssets == true else { break }
                return kind
            }
        }
        return nil
    }
}
