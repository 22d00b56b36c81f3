internal import Foundation

/// Converts typed values to and from JSON. JSON has text, numbers and lists; the other types are objects with one key:
/// `{"date": "2026-01-02T03:04:05Z"}`, `{"bytes": "base64"}`, `{"location": [52.5, 13.4]}`, `{"reference": "name",
/// "deletesSelf": true}`, `{"asset": "path of a file"}`, and `{"double": 1}` for a double that is written as a whole
/// number. What is printed can be read back, but for assets that the server keeps, `{"asset": {"checksum": "…",
/// "byteCount": 5, "file": "path, if it was fetched"}}`, and for what devices encrypted: `{"encrypted": "STRING",
/// "value": "text"}` where this device can open it, else `{"encrypted": "STRING", "bytes": "base64"}`, with `"assets":
/// [{"checksum": "…", "byteCount": 5}]` where it is of these.
extension TypedValue {
    init(json: JSONValue) throws(ValueError) {
        switch json {
        case .string(let text): self = .text(text)
        case .integer(let value): self = .int64(value)
        case .number(let value): self = .double(value)
        // CloudKit stores truth values as numbers.
        case .bool(let value): self = .int64(value ? 1 : 0)
        case .null: throw ValueError(message: "null is no value; leave the key out")
        case .array(let elements): self = try Self.list(elements)
        case .object(let members): self = try Self.tagged(json, members.map(\.key))
        }
    }

    private static func list(_ elements: [JSONValue]) throws(ValueError) -> TypedValue {
        var values: [TypedValue] = []
        for element in elements {
            let value = try TypedValue(json: element)
            if case .list = value { throw ValueError(message: "a list in a list can't be stored; store it as text") }
            values.append(value)
        }
        let types = Set(values.map(\.typeName))
        if types == ["int64", "double"] {
            values = values.map { value in
                if case .int64(let number) = value { return .double(Double(number)) }
                return value
            }
        } else if types.count > 1 {
            throw ValueError(
                message: "a list holds values of several types (\(types.sorted().joined(separator: ", ")))")
        }
        return .list(values)
    }

    private static func tagged(_ json: JSONValue, _ keys: [String]) throws(ValueError) -> TypedValue {
        if keys == ["date"], let text = json["date"]?.text { return try TypedValue(text: text, type: "date") }
        if keys == ["bytes"], let text = json["bytes"]?.text { return try TypedValue(text: text, type: "bytes") }
        if keys == ["double"], let value = number(json["double"]) { return .double(value) }
        if keys == ["location"], let parts = json["location"]?.array, parts.count == 2,
            let latitude = number(parts[0]), let longitude = number(parts[1])
        {
            return try checkedLocation(latitude, longitude)
        }
        if let name = json["reference"]?.text, Set(keys).isSubset(of: ["reference", "deletesSelf"]) {
            return .reference(name, deletesSelf: json["deletesSelf"] == .bool(true))
        }
        if keys.contains("encrypted") { throw isEncrypted }
        if keys == ["asset"], let path = json["asset"]?.text { return try existing(file: path) }
        throw ValueError(
            message: "an object can't be stored; store its parts as fields, or it as text, or write "
                + "{\"date\": …}, {\"bytes\": …}, {\"location\": [lat, lon]}, {\"reference\": …} or "
                + "{\"asset\": \"FILE\"}"
        )
    }

    private static func number(_ json: JSONValue?) -> Double? {
        switch json {
        case .integer(let value): Double(value)
        case .number(let value): value
        case .string(let text): Double(text)
        default: nil
        }
    }

    var json: JSONValue {
        switch self {
        case .text(let text): .string(text)
        case .int64(let value): .integer(value)
        case .double(let value): value.isFinite ? .number(value) : .object([("double", .string("\(value)"))])
        case .date(let date): .object([("date", .string(Self.text(of: date)))])
        case .bytes(let data): .object([("bytes", .string(data.base64EncodedString()))])
        case .location(let latitude, let longitude):
            .object([("location", .array([.number(latitude), .number(longitude)]))])
        case .reference(let name, let deletesSelf):
            deletesSelf
                ? .object([("reference", .string(name)), ("deletesSelf", .bool(true))])
                : .object([("reference", .string(name))])
        case .file(let path): .object([("asset", .string(path))])
        case .asset(let asset): .object([("asset", Self.json(asset))])
        case .encrypted(let field):
            .object(
                [("encrypted", .string(field.type)), ("bytes", .string(field.bytes.base64EncodedString()))]
                    + (field.assets.isEmpty ? [] : [("assets", .array(field.assets.map(Self.json)))]))
        case .opened(let type, let value): .object([("encrypted", .string(type)), ("value", value.json)])
        case .list(let elements): .array(elements.map(\.json))
        }
    }

    private static func json(_ asset: AssetValue) -> JSONValue {
        .object(
            [("checksum", .string(asset.checksum)), ("byteCount", .integer(Int64(asset.byteCount)))]
                + (asset.path.map { [("file", .string($0))] } ?? []))
    }
}
