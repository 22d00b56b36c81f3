internal import BrumeModel
internal import BrumeSystem
internal import Foundation

extension TypedValue {
    /// Reads `text` as a value of the type called `type`: `int64=1`, `date=2026-01-02T03:04:05Z`, `location=52.5,13.4`.
    init(text: String, type: String) throws(ValueError) {
        switch type {
        case "text", "string": self = .text(text)
        case "int64", "int":
            guard let value = Int64(text) else {
                throw ValueError(message: "\"\(text)\" is no whole number of 64 bits, such as 42")
            }
            self = .int64(value)
        case "double":
            guard let value = Double(text) else { throw ValueError(message: "\"\(text)\" is no number, such as 0.5") }
            self = .double(value)
        case "bool":
            guard ColumnGuess.isBool(text) else { throw ValueError(message: "\"\(text)\" is neither true nor false") }
            self = .int64(text.lowercased() == "true" ? 1 : 0)
        case "date":
            guard let date = Self.date(text) else {
                throw ValueError(message: "\"\(text)\" is no date such as 2026-01-02 or 2026-01-02T03:04:05.678Z")
            }
            self = .date(date)
        case "bytes":
            guard let data = Data(base64Encoded: text) else { throw ValueError(message: "the bytes are not base64") }
            self = .bytes(data)
        case "location":
            let parts = text.split(separator: ",").map { Double($0.drop { $0 == " " }) }
            guard parts.count == 2, let latitude = parts[0], let longitude = parts[1] else {
                throw ValueError(message: "\"\(text)\" is no place such as 52.52,13.40 (latitude,longitude)")
            }
            self = try Self.checkedLocation(latitude, longitude)
        case "reference": self = .reference(text, deletesSelf: false)
        case "asset": self = try Self.existing(file: text)
        case "encrypted": throw Self.isEncrypted
        case "list":
            let value: JSONValue
            do { value = try JSONParser.value(of: text) } catch { throw ValueError(message: error.message) }
            guard case .array = value else {
                throw ValueError(message: "a list is written as JSON, such as [\"a\",\"b\"]")
            }
            self = try TypedValue(json: value)
        default:
            let nearest = NearestName.find(type, among: Self.typeNames).map { "; did you mean \"\($0)\"?" } ?? ""
            throw ValueError(
                message:
                    "there is no type \"\(type)\"\(nearest.isEmpty ? "; there are \(Self.typeNames.joined(separator: ", "))" : nearest)"
            )
        }
    }

    /// A value that is marked as encrypted is not stored as a plain one.
    static let isEncrypted = ValueError(
        message: "encrypted values are set with --encrypted KEY=VALUE of brume records save, and in apps")

    /// The file of a new asset.
    static func existing(file path: String) throws(ValueError) -> TypedValue {
        if path.isEmpty { throw ValueError(message: "no file is named") }
        guard FileSystem.exists(path) else { throw ValueError(message: "there is no file \(path)") }
        if FileSystem.isDirectory(path) { throw ValueError(message: "\(path) is a folder; an asset is one file") }
        return .file(path)
    }

    static func checkedLocation(_ latitude: Double, _ longitude: Double) throws(ValueError) -> TypedValue {
        guard (-90...90).contains(latitude), (-180...180).contains(longitude) else {
            throw ValueError(
                message: "\(latitude),\(longitude) is no place: latitude is -90 to 90, longitude -180 to 180")
        }
        return .location(latitude: latitude, longitude: longitude)
    }

    /// Reads a day, or a day and a time with its offset from UTC, fractions of a second included.
    static func date(_ text: String) -> Date? {
        for style in [
            Date.ISO8601FormatStyle(includingFractionalSeconds: false),
            Date.ISO8601FormatStyle(includingFractionalSeconds: true),
            Date.ISO8601FormatStyle().year().month().day(),
        ] {
            if let date = try? style.parse(text) { return date }
        }
        return nil
    }

    /// The date in ISO 8601 and UTC, with milliseconds if it has any. Reading the text gives a date with the same text.
    static func text(of date: Date) -> String {
        // The system's format truncates to milliseconds: 0.894, which is stored slightly lower, would become 0.893.
        let milliseconds = Int64((date.timeIntervalSince1970 * 1000).rounded())
        let (seconds, fraction) = milliseconds.quotientAndRemainder(dividingBy: 1000)
        let whole = fraction < 0 ? seconds - 1 : seconds
        let text = Date(timeIntervalSince1970: Double(whole)).formatted(
            Date.ISO8601FormatStyle(includingFractionalSeconds: false))
        if fraction == 0 { return text }
        let digits = String(fraction < 0 ? fraction + 1000 : fraction)
        return text.dropLast() + "." + String(repeating: "0", count: 3 - digits.count) + digits + "Z"
    }

    /// The value on one line, for people.
    var summary: String {
        switch self {
        case .text(let text): text
        case .int64(let value): String(value)
        case .double(let value): String(value)
        case .date(let date): Self.text(of: date)
        case .bytes(let data): "<\(data.count) bytes>"
        case .location(let latitude, let longitude): "\(latitude),\(longitude)"
        case .reference(let name, _): "-> \(name)"
        case .file(let path): path
        case .asset(let asset): Self.summary(of: asset)
        case .encrypted(let field):
            field.assets.isEmpty
                ? "(encrypted, not readable here)"
                : field.assets.map(Self.summary).joined(separator: ", ") + "  (encrypted)"
        case .opened(_, let value): "\(value.summary)  (encrypted)"
        case .list(let elements): "[" + elements.map(\.summary).joined(separator: ", ") + "]"
        }
    }

    private static func summary(of asset: AssetValue) -> String {
        (asset.path ?? "<asset>") + " (\(ByteSize(bytes: asset.byteCount).rounded))"
    }
}
