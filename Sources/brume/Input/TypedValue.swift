internal import Foundation

/// A field's value as the command line reads and prints it.
enum TypedValue: Equatable, Sendable {
    case text(String)
    case int64(Int64)
    case double(Double)
    case date(Date)
    case bytes(Data)
    /// Degrees.
    case location(latitude: Double, longitude: Double)
    /// A reference to a record of the same zone.
    case reference(String, deletesSelf: Bool)
    /// A file that is to become an asset, by its path.
    case file(String)
    /// An asset that the server keeps.
    case asset(AssetValue)
    /// What a device encrypted, and this one has no key for.
    case encrypted(EncryptedField)
    /// What a device encrypted, opened here; the type as schemas write it.
    indirect case opened(type: String, TypedValue)
    case list([TypedValue])

    /// The name of the type, as `key:type=value` spells it.
    var typeName: String {
        switch self {
        case .text: "text"
        case .int64: "int64"
        case .double: "double"
        case .date: "date"
        case .bytes: "bytes"
        case .location: "location"
        case .reference: "reference"
        case .file, .asset: "asset"
        case .encrypted, .opened: "encrypted"
        case .list: "list"
        }
    }

    /// `bool` is a way to write a 64-bit integer, as in CloudKit.
    static let typeNames = [
        "text", "int64", "double", "bool", "date", "bytes", "location", "reference", "asset", "list",
    ]

    /// An estimate of the bytes that it takes in a request, for filling batches.
    var estimatedBytes: Int {
        switch self {
        case .text(let text): text.utf8.count + 4
        case .bytes(let data): data.count + 4
        case .reference(let name, _): name.utf8.count + 6
        case .location: 32
        case .file, .asset: 256
        case .list(let elements): elements.reduce(4) { $0 + $1.estimatedBytes }
        default: 10
        }
    }
}

/// An asset that the server keeps, as the command line prints it.
struct AssetValue: Equatable, Sendable {
    /// SHA-256 of the content, in hexadecimal digits.
    let checksum: String
    let byteCount: Int
    /// Where the content is on this machine; nil when it was not fetched.
    var path: String?
}

/// An encrypted value that is not open, as the command line prints it.
struct EncryptedField: Equatable, Sendable {
    /// The type of the value inside, as schemas write it.
    let type: String
    let bytes: Data
    /// What the server keeps of encrypted assets; empty for all other values.
    var assets: [AssetValue] = []
}

/// Why a value can't be stored.
struct ValueError: Error, Equatable, Sendable {
    let message: String
}
