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
enum ExportLine: Equatable, Sendable {
    static let version: Int64 = 1

    case header
    case zone(String)
    case record(zone: String, Record)
    case deletion(zone: String, name: String)
    case end(zones: Int, records: Int)

    var json: JSONValue {
        switch self {
        case .header:
            return .object([
                ("brume", .string("export")), ("version", .integer(Self.version)), ("database", .string("private")),
            ])
        case .zone(let zone): return .object([("zone", .string(zone))])
        case .record(let zone, let record):
            let system = record.system
            var members: [(key: String, value: JSONValue)] = [
                ("zone", .string(zone)), ("name", .string(system.name)), ("type", .string(system.type)),
            ]
            if let parent = system.parent { members.append(("parent", .string(parent))) }
            if !system.stamp.isEmpty { members.append(("stamp", .string(Data(system.stamp).base64EncodedString()))) }
            members.append(
                ("fields", .object(record.fields.sorted { $0.key < $1.key }.map { ($0.key, $0.value.exported) })))
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
            guard json["version"] == .integer(Self.version) else {
                throw ValueError(message: "the export is of another version; this brume reads version \(Self.version)")
            }
            self = .header
        } else if json["end"] == .bool(true), case .integer(let zones)? = json["zones"],
            case .integer(let records)? = json["records"]
        {
            self = .end(zones: Int(clamping: zones), records: Int(clamping: records))
        } else if let zone = json["zone"]?.text {
            guard let name = json["name"]?.text else {
                self = .zone(zone)
                return
            }
            if json["deleted"] == .bool(true) {
                self = .deletion(zone: zone, name: name)
            } else {
                self = .record(zone: zone, try Self.record(json, name: name))
            }
        } else {
            throw ValueError(message: "this is no line of an export")
        }
    }

    private static func record(_ json: JSONValue, name: String) throws(ValueError) -> Record {
        guard let type = json["type"]?.text, case .object(let members)? = json["fields"] else {
            throw ValueError(message: "\(name): a record has a type and fields")
        }
        var record = Record(system: SystemFields(name: name, type: type, parent: json["parent"]?.text))
        for (key, value) in members {
            do throws(ValueError) {
                record.fields[key] = try FieldValue(exported: value)
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
        return record
    }
}
