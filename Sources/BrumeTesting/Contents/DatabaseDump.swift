internal import BrumeModel
internal import BrumeRecord
internal import BrumeServer
internal import Foundation

/// What a dump of a database shows beside its zones, its records and their fields.
public struct DumpDetails: OptionSet, Sendable {
    /// The bits of the set.
    public let rawValue: Int

    /// A set of the given bits.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// The records' change tags. Stable with ``TestServer/Options/predictable``.
    public static let changeTags = DumpDetails(rawValue: 1)
    /// When records were made and changed, UTC. Stable with a clock of the server: ``TestServer/Options/clock``.
    public static let dates = DumpDetails(rawValue: 2)
    /// Who made records and who changed them, by the names of their accounts.
    public static let users = DumpDetails(rawValue: 4)
}

/// A database as text: sorted, and without what differs from run to run unless it is asked for.
struct DatabaseDump {
    private let details: DumpDetails
    /// Names of accounts by users' record names.
    private let accounts: [String: String]

    init(details: DumpDetails, accounts: [String: String]) {
        self.details = details
        self.accounts = accounts
    }

    func text(_ contents: DatabaseContents) throws(ServiceError) -> String {
        var lines: [String] = []
        for zone in contents.zones.sorted(by: { $0.id.name < $1.id.name }) {
            var records: [Record] = []
            for bytes in zone.records {
                let record: Result<Record, ServiceError> = bytes.withUnsafeBytes { bytes in
                    Result { () throws(ServiceError) in try StoredRecord.decode(bytes) }
                }
                records.append(try record.get())
            }
            // The server makes users' records, which are empty until an app writes to them.
            records.removeAll { $0.system.type == Names.userRecordType && $0.fields.isEmpty }
            // The default zone always exists.
            if zone.id.isDefault, records.isEmpty { continue }
            lines.append("zone \(zone.id.name)")
            let named = records.map { (name: name(ofRecord: $0.system.name), record: $0) }
            for (name, record) in named.sorted(by: {
                ($0.record.system.type, $0.name) < ($1.record.system.type, $1.name)
            }) {
                lines += self.lines(record, name).map { "  " + $0 }
            }
        }
        return lines.joined(separator: "\n")
    }

    private func lines(_ record: Record, _ name: String) -> [String] {
        let system = record.system
        var notes: [String] = []
        if details.contains(.changeTags) { notes.append("tag \(system.changeTag)") }
        func event(_ word: String, _ milliseconds: Int64, _ user: String) {
            var words = [word]
            if details.contains(.dates) { words.append(date(Double(milliseconds) / 1_000 - 978_307_200)) }
            if details.contains(.users) { words.append("by \(self.name(ofRecord: user))") }
            if words.count > 1 { notes.append(words.joined(separator: " ")) }
        }
        event("created", system.createdMilliseconds, system.creator)
        event("modified", system.modifiedMilliseconds, system.modifier)
        var lines = ["\(system.type) \(name)" + (notes.isEmpty ? "" : " [\(notes.joined(separator: ", "))]")]
        if let parent = system.parent { lines.append("  parent -> \(parent)") }
        lines += record.fields.sorted { $0.key < $1.key }.map { "  \($0.key): \(text($0.value))" }
        return lines
    }

    private func name(ofRecord name: String) -> String { accounts[name] ?? name }

    private func text(_ value: FieldValue) -> String {
        func list<Value>(_ values: [Value], _ text: (Value) -> String) -> String {
            "[" + values.map(text).joined(separator: ", ") + "]"
        }
        return switch value {
        case .string(let text): text.debugDescription
        case .int64(let number): String(number)
        case .double(let number): String(number)
        case .bytes(let bytes): self.bytes(bytes)
        case .date(let seconds): date(seconds)
        case .location(let location): self.location(location)
        case .reference(let reference): self.reference(reference)
        case .strings(let texts): list(texts) { $0.debugDescription }
        case .int64s(let numbers): list(numbers) { String($0) }
        case .doubles(let numbers): list(numbers) { String($0) }
        case .bytesList(let values): list(values, bytes)
        case .dates(let values): list(values, date)
        case .locations(let values): list(values, location)
        case .references(let values): list(values, reference)
        case .emptyList: "[]"
        case .asset(let asset): self.asset(asset)
        case .assets(let assets): list(assets, self.asset)
        case .encrypted(let value):
            value.assets.isEmpty
                ? "(encrypted \(value.plainTypeText))"
                : "(encrypted \(value.plainTypeText) of \(list(value.assets) { String($0.byteCount) }) bytes)"
        }
    }

    /// The same for equal contents, whichever stored copy is meant.
    private func asset(_ asset: Asset) -> String { "asset of \(asset.byteCount) bytes, SHA-256 \(asset.checksum)" }

    /// The first 32 bytes, and how many there are of more.
    private func bytes(_ bytes: [UInt8]) -> String {
        let digits = bytes.prefix(32).hexadecimal
        return bytes.count > 32 ? "<\(digits)… of \(bytes.count) bytes>" : "<\(digits)>"
    }

    /// UTC, to the millisecond.
    private func date(_ secondsSince2001: Double) -> String {
        Date(timeIntervalSinceReferenceDate: secondsSince2001)
            .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    private func location(_ location: Location) -> String { "(\(location.latitude), \(location.longitude))" }

    private func reference(_ reference: Reference) -> String {
        "-> \(name(ofRecord: reference.recordName))" + (reference.deletesSelf ? ", deleted with it" : "")
    }
}
