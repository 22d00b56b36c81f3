internal import BrumeEncryption
internal import BrumeModel

extension EncryptedValue {
    /// Which key opens it; nil for what no device writes.
    var header: ValueHeader? { try? ValueHeader(of: bytes) }
}

extension Record {
    /// Which keys open its encrypted values, of those that can be read.
    var valueHeaders: [ValueHeader] {
        fields.values.compactMap { value in
            guard case .encrypted(let value) = value else { return nil }
            return value.header
        }
    }
}
