package import BrumeModel

/// The assets that a request may name although no record names them yet: those whose receipts it came with, and that
/// somebody keeps from going until the request is decided.
package struct AssetGrants: Sendable {
    private var assets: [String: Set<Asset>] = [:]

    package init() {}

    /// - Parameter zone: The name of the zone that the asset was uploaded for.
    package mutating func add(_ asset: Asset, inZone zone: String) { assets[zone, default: []].insert(asset) }

    /// Those of a zone; nil for none.
    func assets(inZone zone: String) -> Set<Asset>? { assets.isEmpty ? nil : assets[zone] }
}
