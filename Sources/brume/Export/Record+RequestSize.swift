internal import BrumeModel

extension Record {
    /// An estimate of the bytes that the record takes in a request.
    var estimatedRequestBytes: Int {
        fields.reduce(64 + system.name.utf8.count + system.type.utf8.count) { sum, field in
            sum + 16 + field.key.utf8.count + field.value.estimatedRequestBytes
        }
    }
}

extension FieldValue {
    /// The same for a value.
    var estimatedRequestBytes: Int {
        switch self {
        case .string(let text): text.utf8.count
        case .bytes(let bytes): bytes.count
        case .strings(let list): list.reduce(0) { $0 + $1.utf8.count + 4 }
        case .bytesList(let list): list.reduce(0) { $0 + $1.count + 4 }
        case .int64s(let list): list.count * 11
        case .doubles(let list), .dates(let list): list.count * 10
        case .locations(let list): list.count * 80
        case .references(let list): list.reduce(0) { $0 + $1.recordName.utf8.count + 8 }
        case .location: 80
        case .reference(let reference): reference.recordName.utf8.count + 8
        case .int64, .double, .date, .emptyList: 12
        case .asset(let asset): 64 + asset.receipt.count
        case .assets(let list): list.reduce(0) { $0 + 64 + $1.receipt.count }
        case .encrypted(let value): value.assets.reduce(value.bytes.count + 4) { $0 + 64 + $1.receipt.count }
        }
    }
}
