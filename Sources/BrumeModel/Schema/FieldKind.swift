/// What kind of value a field holds. Raw values are the numbers of `brume.v1.Value`'s members: that of an encrypted
/// kind is 32 more than that of its plain one.
package enum FieldKind: UInt8, Hashable, Sendable, CaseIterable {
    case string = 1
    case int64 = 2
    case double = 3
    case bytes = 4
    case date = 5
    case location = 6
    case reference = 7
    case strings = 8
    case int64s = 9
    case doubles = 10
    case bytesList = 11
    case dates = 12
    case locations = 13
    case references = 14
    case emptyList = 15
    case asset = 16
    case assets = 17
    case encryptedString = 33
    case encryptedInt64 = 34
    case encryptedDouble = 35
    case encryptedBytes = 36
    case encryptedDate = 37
    case encryptedLocation = 38
    case encryptedStrings = 40
    case encryptedInt64s = 41
    case encryptedDoubles = 42
    case encryptedBytesList = 43
    case encryptedDates = 44
    case encryptedLocations = 45
    case encryptedEmptyList = 47
    case encryptedAsset = 48
    case encryptedAssets = 49

    /// The kind of a member of `brume.v1.Value`; nil for a number that no kind has.
    package init?(number: UInt64) {
        guard let rawValue = UInt8(exactly: number) else { return nil }
        self.init(rawValue: rawValue)
    }

    private static let encryptionOffset: UInt8 = 32

    package init(_ value: FieldValue) {
        self =
            switch value {
            case .string: .string
            case .int64: .int64
            case .double: .double
            case .bytes: .bytes
            case .date: .date
            case .location: .location
            case .reference: .reference
            case .strings: .strings
            case .int64s: .int64s
            case .doubles: .doubles
            case .bytesList: .bytesList
            case .dates: .dates
            case .locations: .locations
            case .references: .references
            case .emptyList: .emptyList
            case .asset: .asset
            case .assets: .assets
            case .encrypted(let value): value.kind.encrypted!
            }
    }

    package var isEncrypted: Bool { rawValue > Self.encryptionOffset }

    /// Whether such a value names files that the server keeps.
    package var namesAssets: Bool {
        switch self {
        case .asset, .assets, .encryptedAsset, .encryptedAssets: true
        default: false
        }
    }

    /// Whether such a plain value may be put into an encrypted field. Assets are encrypted where they are, in fields
    /// that take plain ones, too.
    package var fitsEncryptedField: Bool { encrypted != nil && !namesAssets }

    /// The kind of such a value once it is encrypted; nil for references, which never are, and for what is encrypted
    /// already.
    package var encrypted: FieldKind? {
        isEncrypted ? nil : FieldKind(rawValue: rawValue + Self.encryptionOffset)
    }

    /// The kind of the value that is encrypted; nil for a plain kind.
    package var decrypted: FieldKind? {
        isEncrypted ? FieldKind(rawValue: rawValue - Self.encryptionOffset) : nil
    }

    /// As the schema language spells the type of such a value.
    package var schemaText: String {
        SchemaFieldType(learnedFrom: self)?.text ?? (isEncrypted ? "an encrypted empty list" : "an empty list")
    }
}
