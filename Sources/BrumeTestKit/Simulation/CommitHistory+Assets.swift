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
}

extension [String: FieldValue] {
    /// The assets of the fields, encrypted or not, in the order of their keys.
    var assets: [Asset] { sorted { $0.key < $1.key }.flatMap(\.value.assets) }
}
