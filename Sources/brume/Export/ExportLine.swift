internal import BrumeModel
internal import Foundation

/// One line of an export, a lossless format: JSON lines, UTF-8, in this order.
///
/// ```
/// {"brume":"export","version":1,"database":"private"}
/// {"zone":"Notes"}
/// {"zone":"Notes","name":"a","type":"Note","parent":"b","fields":{…},"system":{…}}
/// {"zone":"Notes","name":"c","deleted":true}
/// {"end":true,"zones":1,"records":1}
/// ```
///
/// A zone's line comes before its records'. A record that is changed or deleted while its zone is exported has another
/// line further down, which counts. `parent` is left out when there is none, and so is `stamp`, the record's in base64
/// (Documentation/EncryptionFormats.md, section 5); `system` is for information: an imported
/// record gets its own change tag, dates and users. The last line confirms that nothing is missing.
///
/// A field is text, a whole number (a 64-bit integer), or an object that names its type; see `FieldValue+Export.swift`.
///
/// An export with encrypted values in the clear (`--decrypt`) has another header, and its zones say whether the files
/// of their records are encrypted:
///
/// ```
/// {"brume":"export","version":2,"database":"private","decrypted":true}
/// {"zone":"Notes","encryptsAssets":true,"perZone":true}
/// ```
///
/// `encryptsAssets` is left out where the zone has no keys, and `perZone` where it is false.
///
/// Its version is another one so that an older reader refuses it at once: that reader would save all records up to the
/// first value that it doesn't know, and then fail. Records have no stamps there, since these belong to the keys of the
/// zone that was exported; an import makes new ones.
enum ExportLine: Equatable, Sendable {
    static let version: Int64 = 1
    /// The version of exports with encrypted values in the clear.
    static let decryptedVersion: Int64 = 2

    case header(isDecrypted: Bool)
    case zone(String, encryptsAssets: Bool? = nil, isPerZone: Bool = false)
    /// `opened` has the record's encrypted fields in the clear, which are not among its other fields.
    case record(zone: String, Record, opened: [String: FieldValue] = [:])
    case deletion(zone: String, name: String)
    case end(zones: Int, records: Int)

    var json: JSONValue {
        switch self {
        case .header(let isDecrypted):
            return .object(
                [
                    ("brume", .string("export")),
                    ("version", .integer(isDecrypted ? Self.decryptedVersion : Self.version)),
                    ("database", .string("private")),
                ] + (isDecrypted ? [("decrypted", .bool(true))] : []))
        case .zone(let zone, let encryptsAssets, let isPerZone):
            return .object(
                [("zone", .string(zone))] + (encryptsAssets.map { [("encryptsAssets", .bool($0))] } ?? [])
                    + (isPerZone ? [("perZone", .bool(true))] : []))
        case .record(let zone, let record, let opened):
            let system = record.system
            var members: [(key: String, value: JSONValue)] = [
                ("zone", .string(zone)), ("name", .string(system.name)), ("type", .string(system.type)),
            ]
            if let parent = system.parent { members.append(("parent", .string(parent))) }
            if !system.stamp.isEmpty { members.append(("stamp", .string(Data(system.stamp).base64EncodedString()))) }
            let fields = record.fields.mapValues(\.exported).merging(opened.mapValues(\.exportedOpened)) { $1 }
            members.append(("fields", .object(fields.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })))
            members.append(
                (
                    "system",
                    .object([
                        ("changeTag", .string(system.changeTag)), ("creator", .string(system.creator)),
                        ("createdMilliseconds", .integer(system.createdMilliseconds)),
                        ("modifier", .string(system.modifier)),
                        ("modifiedMilliseconds", .integer(system.modifiedMilliseconds)),
                    ])
                ))
            return .object(members)
        case .deletion(let zone, let name):
            return .object([("zone", .string(zone)), ("name", .string(name)), ("deleted", .bool(true))])
        case .end(let zones, let records):
            return .object([
                ("end", .bool(true)), ("zones", .integer(Int64(zones))), ("records", .integer(Int64(records))),
            ])
        }
    }

    init(_ json: JSONValue) throws(ValueError) {
        if json["brume"] == .string("export") {
            switch (json["version"], json["decrypted"]) {
            case (.integer(Self.version)?, nil): self = .header(isDecrypted: false)
            case (.integer(Self.decryptedVersion)?, .bool(true)?): self = .header(isDecrypted: true)
            default:
                throw ValueError(
                    message: "the export is of another version; this brume reads versions \(Self.version) and "
                        + "\(Self.decryptedVersion)")
            }
        } else if json["end"] == .bool(true), case .integer(let zones)? = json["zones"],
            case .integer(let records)? = json["records"]
        {
            self = .end(zones: Int(clamping: zones), records: Int(clamping: records))
        } else if let zone = json["zone"]?.text {
            guard let name = json["name"]?.text else {
                let encryptsAssets: Bool? = if case .bool(let value)? = json["encryptsAssets"] { value } else { nil }
                self = .zone(zone, encryptsAssets: encryptsAssets, isPerZone: json["perZone"] == .bool(true))
                return
            }
            if json["deleted"] == .bool(true) {
                self = .deletion(zone: zone, name: name)
            } else {
                let (record, opened) = try Self.record(json, name: name)
                self = .record(zone: zone, record, opened: opened)
            }
        } else {
            throw ValueError(message: "this is no line of an export")
        }
    }

    private static func record(
        _ json: JSONValue, name: String
    ) throws(ValueError) -> (Record, opened: [String: FieldValue]) {
        guard let type = json["type"]?.text, case .object(let members)? = json["fields"] else {
            throw ValueError(message: "\(name): a record has a type and fields")
        }
        var record = Record(system: SystemFields(name: name, type: type, parent: json["parent"]?.text))
        var opened: [String: FieldValue] = [:]
        for (key, value) in members {
            do throws(ValueError) {
                if let plain = try FieldValue.exportedOpened(value) {
                    opened[key] = plain
                } else {
                    record.fields[key] = try FieldValue(exported: value)
                }
            } catch {
                throw ValueError(message: "\(name), \(key): \(error.message)")
            }
        }
        if let text = json["stamp"]?.text {
            guard let stamp = Data(base64Encoded: text) else {
                throw ValueError(message: "\(name): a stamp is written as base64")
            }
            record.system.stamp = Array(stamp)
        }
        func integer(_ key: String) -> Int64 {
            if case .integer(let value)? = json["system"]?[key] { return value }
            return 0
        }
        record.system.changeTag = json["system"]?["changeTag"]?.text ?? ""
        record.system.creator = json["system"]?["creator"]?.text ?? ""
        record.system.createdMilliseconds = integer("createdMilliseconds")
        record.system.modifier = json["system"]?["modifier"]?.text ?? ""
        record.system.modifiedMilliseconds = integer("modifiedMilliseconds")
        return (record, opened)
    }
}
