internal import BrumeModel
internal import Foundation

/// Field values as JSON, exact to the bit:
///
/// | type | JSON |
/// | --- | --- |
/// | text | `"text"` |
/// | 64-bit integer | `5` |
/// | double | `{"double": 0.5}` |
/// | bytes | `{"bytes": "base64"}` |
/// | date, seconds since 2001 | `{"date": 700000000.25}` |
/// | location | `{"location": {"latitude": …, "longitude": …, "altitude": …, "horizontalAccuracy": …, "verticalAccuracy": …, "course": …, "speed": …, "timestamp": …}}` |
/// | reference | `{"reference": "name", "deletesSelf": false}` |
/// | asset, whose content is a file beside the export, named by the checksum | `{"asset": {"checksum": "SHA-256 in hexadecimal digits", "byteCount": 5, "generation": "16 hexadecimal digits"}}` |
/// | value that a device encrypted, with the type of what is inside | `{"encrypted": "LIST<STRING>", "bytes": "base64"}`; an empty list of an unknown type: `"LIST"` |
/// | asset that a device encrypted, or a list of these; each content is a file beside the export, as encrypted | `{"encrypted": "ASSET", "bytes": "base64", "assets": [{"checksum": …, "byteCount": …, "generation": …}]}` |
/// | value that a device encrypted, in the clear, with its type | `{"encrypted": "LIST<STRING>", "value": {"strings": […]}}` |
/// | asset that a device encrypted, or a list of these, in the clear; each content is the plain file, in the folder `decrypted` beside the others, named by its own checksum | `{"encrypted": "ASSET", "value": {"asset": {…}}}` |
/// | list | `{"strings": […]}`, `{"int64s": […]}`, `{"doubles": […]}`, `{"bytesList": […]}`, `{"dates": […]}`, `{"locations": […]}`, `{"references": […]}`, `{"assets": […]}`; without elements `{"list": []}` |
///
/// Numbers are written with as many digits as restore the same bits. An infinity or a NaN, which JSON can't express, is
/// written as its bit pattern in text: `"0x7ff8000000000000"`. Elements of lists are written like the values inside the
/// objects. An encrypted value opens only where it was encrypted: for the account, container, environment, zone, record
/// and field that it came from, while the zone has not been deleted. Values in the clear are only in exports that were
/// made with `--decrypt`, and are encrypted again where they are imported.
extension FieldValue {
    var exported: JSONValue {
        switch self {
        case .string(let text): .string(text)
        case .int64(let value): .integer(value)
        case .double(let value): .object([("double", Self.json(value))])
        case .bytes(let bytes): .object([("bytes", Self.json(bytes))])
        case .date(let seconds): .object([("date", Self.json(seconds))])
        case .location(let location): .object([("location", Self.json(location))])
        case .reference(let reference): Self.json(reference)
        case .strings(let list): .object([("strings", .array(list.map { .string($0) }))])
        case .int64s(let list): .object([("int64s", .array(list.map { .integer($0) }))])
        case .doubles(let list): .object([("doubles", .array(list.map(Self.json)))])
        case .bytesList(let list): .object([("bytesList", .array(list.map(Self.json)))])
        case .dates(let list): .object([("dates", .array(list.map(Self.json)))])
        case .locations(let list): .object([("locations", .array(list.map(Self.json)))])
        case .references(let list): .object([("references", .array(list.map(Self.json)))])
        case .emptyList: .object([("list", .array([]))])
        case .asset(let asset): .object([("asset", Self.json(asset))])
        case .assets(let list): .object([("assets", .array(list.map(Self.json)))])
        case .encrypted(let value):
            .object(
                [("encrypted", .string(value.plainTypeText)), ("bytes", Self.json(value.bytes))]
                    + (value.assets.isEmpty ? [] : [("assets", .array(value.assets.map(Self.json)))]))
        }
    }

    init(exported json: JSONValue) throws(ValueError) {
        switch json {
        case .string(let text): self = .string(text)
        case .integer(let value): self = .int64(value)
        case .object(let members):
            guard let (key, value) = members.first else { throw Self.unknown }
            if key == "reference" || key == "deletesSelf" {
                self = .reference(try Self.reference(json))
                return
            }
            if json["encrypted"] != nil {
                self = .encrypted(try Self.encrypted(json, members.count))
                return
            }
            guard members.count == 1 else { throw Self.unknown }
            self = try Self.tagged(key, value)
        default: throw Self.unknown
        }
    }

    /// A value that was encrypted, in the clear and marked as such.
    ///
    /// The value must be of a kind that can be encrypted.
    var exportedOpened: JSONValue {
        guard let type = typeTextWhenEncrypted else { preconditionFailure("a value is exported that nobody encrypted") }
        return .object([("encrypted", .string(type)), ("value", exported)])
    }

    /// Reads a value that was encrypted and is in the clear; nil for any other value of an export.
    static func exportedOpened(_ json: JSONValue) throws(ValueError) -> FieldValue? {
        guard case .object(let members) = json, let type = json["encrypted"], let content = json["value"] else {
            return nil
        }
        guard members.count == 2, let type = type.text else { throw unknown }
        let value = try FieldValue(exported: content)
        guard value.typeTextWhenEncrypted == type else {
            throw ValueError(message: "the value inside is not of the type \(type), which it is said to be")
        }
        return value
    }

    /// How the schema language spells its type where it is encrypted; nil for a value that never is.
    private var typeTextWhenEncrypted: String? {
        let kind = FieldKind(self)
        guard kind.encrypted != nil, EncryptedValue.mayHave(assetCount: assets.count, kind: kind) else { return nil }
        return EncryptedValue(kind, [], assets: assets).plainTypeText
    }

    private static let unknown = ValueError(
        message: "this is no value of an export: text, a whole number, or an object that names the type")

    private static func tagged(_ key: String, _ value: JSONValue) throws(ValueError) -> FieldValue {
        switch key {
        case "double": return .double(try double(value))
        case "bytes": return .bytes(try bytes(value))
        case "date": return .date(try double(value))
        case "location": return .location(try location(value))
        case "asset": return .asset(try asset(value))
        default: break
        }
        guard let elements = value.array else { throw unknown }
        switch key {
        case "strings":
            return .strings(
                try list(elements) { (element) throws(ValueError) in
                    guard let text = element.text else { throw unknown }
                    return text
                })
        case "int64s":
            return .int64s(
                try list(elements) { (element) throws(ValueError) in
                    guard case .integer(let value) = element else { throw unknown }
                    return value
                })
        case "doubles": return .doubles(try list(elements, double))
        case "bytesList": return .bytesList(try list(elements, bytes))
        case "dates": return .dates(try list(elements, double))
        case "locations": return .locations(try list(elements, location))
        case "references": return .references(try list(elements, reference))
        case "assets": return .assets(try list(elements, asset))
        case "list" where elements.isEmpty: return .emptyList
        default: throw unknown
        }
    }

    private static func list<Element>(
        _ elements: [JSONValue], _ value: (JSONValue) throws(ValueError) -> Element
    ) throws(ValueError) -> [Element] {
        var values: [Element] = []
        values.reserveCapacity(elements.count)
        for element in elements { values.append(try value(element)) }
        return values
    }

    // MARK: Parts

    private static func json(_ value: Double) -> JSONValue {
        value.isFinite ? .number(value) : .string("0x" + String(value.bitPattern, radix: 16))
    }

    private static func double(_ json: JSONValue) throws(ValueError) -> Double {
        switch json {
        case .number(let value): return value
        case .integer(let value): return Double(value)
        case .string(let text):
            guard text.hasPrefix("0x"), let bits = UInt64(text.dropFirst(2), radix: 16) else { throw unknown }
            return Double(bitPattern: bits)
        default: throw unknown
        }
    }

    private static func json(_ bytes: [UInt8]) -> JSONValue { .string(Data(bytes).base64EncodedString()) }

    private static func bytes(_ json: JSONValue) throws(ValueError) -> [UInt8] {
        guard let text = json.text, let data = Data(base64Encoded: text) else {
            throw ValueError(message: "bytes are written as base64")
        }
        return Array(data)
    }

    private static func encrypted(
        _ json: JSONValue, _ memberCount: Int
    ) throws(ValueError) -> EncryptedValue {
        let named = json["assets"]
        guard memberCount == (named == nil ? 2 : 3), let type = json["encrypted"]?.text, let content = json["bytes"],
            named == nil || named?.array != nil
        else { throw unknown }
        let assets = try list(named?.array ?? [], asset)
        guard let value = EncryptedValue(plainTypeText: type, try bytes(content), assets: assets) else {
            throw ValueError(message: "no value of the type \(type) with \(assets.count) assets is ever encrypted")
        }
        return value
    }

    private static func json(_ location: Location) -> JSONValue {
        .object([
            ("latitude", json(location.latitude)), ("longitude", json(location.longitude)),
            ("altitude", json(location.altitude)), ("horizontalAccuracy", json(location.horizontalAccuracy)),
            ("verticalAccuracy", json(location.verticalAccuracy)), ("course", json(location.course)),
            ("speed", json(location.speed)), ("timestamp", json(location.timestamp)),
        ])
    }

    private static func location(_ json: JSONValue) throws(ValueError) -> Location {
        func part(_ key: String) throws(ValueError) -> Double {
            guard let value = json[key] else { throw ValueError(message: "a location lacks its \(key)") }
            return try double(value)
        }
        return Location(
            latitude: try part("latitude"), longitude: try part("longitude"), altitude: try part("altitude"),
            horizontalAccuracy: try part("horizontalAccuracy"), verticalAccuracy: try part("verticalAccuracy"),
            course: try part("course"), speed: try part("speed"), timestamp: try part("timestamp"))
    }

    private static func json(_ asset: Asset) -> JSONValue {
        .object([
            ("checksum", .string(asset.checksum.description)),
            ("byteCount", .integer(Int64(clamping: asset.byteCount))),
            ("generation", .string(withUnsafeBytes(of: asset.generation.bigEndian) { $0.hexadecimal })),
        ])
    }

    private static func asset(_ json: JSONValue) throws(ValueError) -> Asset {
        guard let digits = json["checksum"]?.text, let bytes = [UInt8](hexadecimal: digits[...]),
            let checksum = AssetChecksum(bytes), case .integer(let count)? = json["byteCount"],
            let byteCount = UInt64(exactly: count), let generation = json["generation"]?.text,
            generation.utf8.count == 16,
            let number = UInt64(generation, radix: 16)
        else { throw ValueError(message: "an asset lacks its checksum, its byteCount or its generation") }
        return Asset(checksum: checksum, byteCount: byteCount, generation: number)
    }

    private static func json(_ reference: Reference) -> JSONValue {
        .object([("reference", .string(reference.recordName)), ("deletesSelf", .bool(reference.deletesSelf))])
    }

    private static func reference(_ json: JSONValue) throws(ValueError) -> Reference {
        guard let name = json["reference"]?.text, case .bool(let deletesSelf)? = json["deletesSelf"] else {
            throw unknown
        }
        return Reference(recordName: name, deletesSelf: deletesSelf)
    }
}
