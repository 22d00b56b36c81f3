internal import BrumeEncryption
internal import BrumeModel

/// Which assets records name, as they went to the journal.
extension CommitHistory {
    /// A5: a record names an asset that its version before does not name only if the save had a receipt of it.
    func checkAssets(
        of puts: [(zone: String, name: String)], receipts: [String: Set<Asset>], before: State, after: State
    ) {
        for (zone, name) in puts {
            let named = after.zones[zone]?.records[name]?.fields.assets ?? []
            if named.isEmpty { continue }
            encryptedAssetHolders += after.zones[zone]!.records[name]!.fields.values.count {
                FieldKind($0).isEncrypted && FieldKind($0).namesAssets
            }
            let allowed = (receipts[zone] ?? []).union(before.zones[zone]?.records[name]?.fields.assets ?? [])
            guard let asset = named.first(where: { !allowed.contains($0) }) else { continue }
            return fail("A5: \(name) of \(zone) names an asset without a receipt: \(asset)")
        }
    }

    /// A6: no commit puts a plain asset into a field that did not have it, in a zone whose ring says that its assets
    /// are encrypted.
    func checkPlainAssets(of version: Version, over former: Version?, in zone: String, before state: State) {
        guard encryptsAssets(zone, state), version.type != Names.shareType else { return }
        plainAssetsKept += version.fields.values.count { !$0.plainAssets.isEmpty }
        guard let key = newPlainAsset(in: version.fields, over: former) else { return }
        fail("A6: \(version.record.system.name) of \(zone) was saved with a plain asset in \(key)")
    }

    /// Whether the ring of a zone says that its assets are encrypted; false where there is none.
    func encryptsAssets(_ zone: String, _ state: State) -> Bool {
        guard let first = state.ring(of: zone).first else { return false }
        if takesRingsForEncrypting { return true }
        if let known = ringFacts.plainAssetRings[first.array] { return !known }
        let hasPlainAssets = (try? SignedRingEntry(first.array))?.entry.hasPlainAssets ?? false
        ringFacts.plainAssetRings[first.array] = hasPlainAssets
        return !hasPlainAssets
    }

    /// The first field with a plain asset that a version before does not have in it.
    func newPlainAsset(in fields: [String: FieldValue], over former: Version?) -> String? {
        fields.keys.sorted().first { key in
            !Set(fields[key]!.plainAssets).isSubset(of: former?.fields[key]?.plainAssets ?? [])
        }
    }
}

extension [String: FieldValue] {
    /// The assets of the fields, encrypted or not, in the order of their keys.
    var assets: [Asset] { sorted { $0.key < $1.key }.flatMap(\.value.assets) }
}

extension FieldValue {
    /// The assets that the value names as plain ones, without their receipts.
    fileprivate var plainAssets: [Asset] {
        if case .encrypted = self { return [] }
        return assets.map { asset in
            var asset = asset
            asset.receipt = []
            return asset
        }
    }
}
