internal import BrumeKit
internal import Foundation

/// The records that a device of the demo holds, by zone and name, and its change tokens.
struct DemoStore: Equatable, Sendable {
    /// The records' fields, by zone, then by record name.
    private(set) var zones: [String: [String: [String: TypedValue]]] = [:]
    /// The change tokens by zone; the empty name stands for the database.
    var tokens: [String: [UInt8]] = [:]

    /// The sum of the hashes of all records: equal for equal records, whatever their order.
    private var sum: UInt64 = 0

    var recordCount: Int { zones.values.reduce(0) { $0 + $1.count } }

    /// A text that is equal for equal records.
    var digest: String { "\(recordCount)-\(String(sum, radix: 16))" }

    func fields(_ zone: String, _ name: String) -> [String: TypedValue]? { zones[zone]?[name] }

    /// Stores a record, or removes it when `fields` is nil.
    mutating func set(_ zone: String, _ name: String, _ fields: [String: TypedValue]?) {
        if let old = zones[zone]?[name] { sum &-= Self.hash(zone, name, old) }
        zones[zone, default: [:]][name] = fields
        if let fields { sum &+= Self.hash(zone, name, fields) }
    }

    mutating func dropZone(_ zone: String) {
        for name in zones[zone, default: [:]].keys { set(zone, name, nil) }
        zones[zone] = nil
        tokens[zone] = nil
    }

    private static func hash(_ zone: String, _ name: String, _ fields: [String: TypedValue]) -> UInt64 {
        hash("\(zone)/\(name)\(json(fields).line)")
    }

    /// FNV-1a with a final mix, so that sums of similar texts differ.
    private static func hash(_ text: String) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        hash ^= hash >> 32
        return hash &* 0x9E37_79B9_7F4A_7C15
    }

    static func json(_ fields: [String: TypedValue]) -> JSONValue {
        .object(fields.sorted { $0.key < $1.key }.map { ($0.key, $0.value.json) })
    }

    mutating func put(_ record: CKRecord) {
        let fields = RecordText.fields(of: record).map { ($0.key, $0.value) }
        set(
            record.recordID.zoneID.zoneName, record.recordID.recordName, Dictionary(uniqueKeysWithValues: fields))
    }

    /// Differences in words, field by field; at most `limit`.
    func differences(from other: DemoStore, names: (String, String), limit: Int) -> [String] {
        var differences: [String] = []
        for zone in Set(zones.keys).union(other.zones.keys).sorted() {
            let (mine, others) = (zones[zone] ?? [:], other.zones[zone] ?? [:])
            for name in Set(mine.keys).union(others.keys).sorted() where mine[name] != others[name] {
                guard differences.count < limit else { return differences }
                guard let left = mine[name] else {
                    differences.append("\(zone)/\(name) is missing on \(names.0)")
                    continue
                }
                guard let right = others[name] else {
                    differences.append("\(zone)/\(name) is missing on \(names.1)")
                    continue
                }
                for key in Set(left.keys).union(right.keys).sorted() where left[key] != right[key] {
                    let texts = (left[key]?.summary ?? "nothing", right[key]?.summary ?? "nothing")
                    differences.append("\(zone)/\(name).\(key): \(texts.0) on \(names.0), \(texts.1) on \(names.1)")
                }
            }
        }
        return differences
    }
}

/// The store as a file: one line of tokens, then one line for each record.
extension DemoStore {
    func write(to path: String) throws {
        let tokens = tokens.sorted { $0.key < $1.key }.map { name, bytes in
            (key: name, value: JSONValue.string(Data(bytes).base64EncodedString()))
        }
        var text = JSONValue.object(tokens).line + "\n"
        for (zone, records) in zones {
            for (name, fields) in records {
                text += JSONValue.array([.string(zone), .string(name), Self.json(fields)]).line + "\n"
            }
        }
        try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
    }

    /// Reads the file. The store is empty when there is none.
    init(contentsOf path: String) throws {
        guard let data = FileManager.default.contents(atPath: path) else { return }
        var lines = String(decoding: data, as: UTF8.self).split(separator: "\n")[...]
        guard let first = lines.popFirst(), case .object(let members) = try JSONParser.value(of: String(first)) else {
            throw CommandError(.failed, "\(path) is no store of the demo")
        }
        for (name, value) in members {
            tokens[name] = value.text.flatMap { Data(base64Encoded: $0) }.map { [UInt8]($0) }
        }
        for line in lines {
            guard let parts = try JSONParser.value(of: String(line)).array, parts.count == 3, let zone = parts[0].text,
                let name = parts[1].text, case .object(let members) = parts[2]
            else { throw CommandError(.failed, "\(path) is no store of the demo") }
            var fields: [String: TypedValue] = [:]
            for (key, value) in members { fields[key] = try TypedValue(json: value) }
            set(zone, name, fields)
        }
    }
}
