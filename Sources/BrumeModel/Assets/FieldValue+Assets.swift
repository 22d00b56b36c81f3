extension FieldValue {
    /// The assets of the value, in their order, whether their contents are encrypted or not.
    package var assets: [Asset] {
        switch self {
        case .asset(let asset): [asset]
        case .assets(let assets): assets
        case .encrypted(let value): value.assets
        default: []
        }
    }

    /// The same value with other stored copies of its assets.
    ///
    /// - Parameter assets: One for each of ``assets``, in the same order.
    package func naming(_ assets: [Asset]) -> FieldValue {
        precondition(assets.count == self.assets.count, "a value would name another number of assets")
        return switch self {
        case .asset: .asset(assets[0])
        case .assets: .assets(assets)
        case .encrypted(let value): .encrypted(EncryptedValue(value.kind, value.bytes, assets: assets))
        default: self
        }
    }
}
