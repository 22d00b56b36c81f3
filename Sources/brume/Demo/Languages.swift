internal import Foundation

/// The languages of ISO 639-3, from Debian's `iso-codes`: some 7,900 small records.
enum Languages {
    static let path = "/usr/share/iso-codes/json/iso_639-3.json"
    static let zone = "Languages"
    static let recordType = "Language"

    static func load(path: String = path) throws(CommandError) -> [DemoRecord] {
        guard FileManager.default.fileExists(atPath: path) else {
            throw CommandError(
                .notFound, "the demo's languages are missing: \(path)", hint: "install them: apt-get install iso-codes")
        }
        let data = try FileBytes.read(path)
        let json: JSONValue
        do {
            json = try data.withUnsafeBytes { bytes in
                Result { () throws(RowError) -> JSONValue in
                    var parser = JSONParser(bytes)
                    return try parser.value()
                }
            }.get()
        } catch {
            throw CommandError(.failed, "\(path):\(error.line): \(error.message)", hint: "install iso-codes again")
        }
        guard let entries = json["639-3"]?.array, !entries.isEmpty else {
            throw CommandError(.failed, "\(path) holds no languages", hint: "install iso-codes again")
        }
        return entries.compactMap(record)
    }

    private static func record(_ entry: JSONValue) -> DemoRecord? {
        guard let code = entry["alpha_3"]?.text, case .object(let members) = entry else { return nil }
        var fields: [String: TypedValue] = [:]
        for (key, value) in members {
            if let text = value.text { fields[key] = .text(text) }
        }
        return DemoRecord(name: code, fields: fields)
    }
}

/// A record that the demo saves.
struct DemoRecord: Equatable, Sendable {
    let name: String
    var fields: [String: TypedValue]
}
