internal import BrumeKit
internal import BrumeModel

/// Opens the encrypted fields of records for an export that holds them in the clear.
///
/// A field that does not open stays in its record as it is encrypted, and is listed among the problems.
final class ExportOpener {
    private let database: CKDatabase
    /// Where plain files go; nil leaves assets as they are encrypted.
    private let assets: ExportAssets?
    /// Fields that stay encrypted, and why. Of a record that changes meanwhile the line further down counts.
    private var failures: [Key: [(field: String, problem: String)]] = [:]

    private struct Key: Hashable {
        let zone: String
        let name: String
    }

    init(_ database: CKDatabase, _ assets: ExportAssets?) {
        self.database = database
        self.assets = assets
    }

    /// Begins a zone; returns what its keys were made with, where it has some.
    func begin(_ zone: String) async throws -> ZonePolicies? { try await database.zonePolicies(in: Self.id(of: zone)) }

    /// The records of a zone without the encrypted fields that opened, and these in the clear.
    func open(_ records: [Record], in zone: String) async throws -> [(Record, opened: [String: FieldValue])] {
        let zoneID = Self.id(of: zone)
        var results: [(Record, opened: [String: FieldValue])] = []
        for record in try await database.opened(records, in: zoneID) {
            let key = Key(zone: zone, name: record.record.system.name)
            failures[key] = record.unreadable.sorted { $0.key < $1.key }.map { ($0.key, Self.sentence($0.value)) }
            var opened = record.values
            if let assets {
                for field in record.assetKeys {
                    do throws(CKError) {
                        opened[field] = try await plain(field, of: record, in: zoneID, assets)
                    } catch {
                        guard error.code == .assetNotAvailable else { throw error }
                        failures[key, default: []].append((field, Self.staysEncrypted + error.localizedDescription))
                    }
                }
            }
            var rest = record.record
            for field in opened.keys { rest.fields[field] = nil }
            rest.system.stamp = []
            results.append((rest, opened))
        }
        return results
    }

    /// A field of encrypted assets as one of plain files.
    private func plain(
        _ field: String, of record: OpenedRecord, in zoneID: CKRecordZone.ID, _ assets: ExportAssets
    ) async throws(CKError) -> FieldValue? {
        guard case .encrypted(let value)? = record.record.fields[field] else { return nil }
        var files: [Asset] = []
        for (index, asset) in value.assets.enumerated() {
            files.append(try await assets.takeFile(of: record, in: zoneID, key: field, index: index, asset))
        }
        return value.kind == .asset ? .asset(files[0]) : .assets(files)
    }

    /// Forgets what did not open in a record that was deleted.
    func forget(_ name: String, in zone: String) { failures[Key(zone: zone, name: name)] = nil }

    /// A sentence for each field that did not open.
    var problems: [String] {
        failures.sorted { ($0.key.zone, $0.key.name) < ($1.key.zone, $1.key.name) }.flatMap { key, fields in
            fields.map { "\(key.name) of \(key.zone): \($0.field) \($0.problem)" }
        }
    }

    private static func id(of zone: String) -> CKRecordZone.ID {
        zone == Names.defaultZone ? .default : CKRecordZone.ID(zoneName: zone)
    }

    private static let staysEncrypted = "is written as it is encrypted: "

    private static func sentence(_ reason: CKRecord.UnreadableReason) -> String {
        switch reason {
        case .noKeys: staysEncrypted + "this device has no keys for it; brume key says what to do"
        case .keyMissing: staysEncrypted + "the key that it was encrypted with is missing on this device"
        case .newerVersion: staysEncrypted + "a newer version of Brume encrypted it; update this one"
        case .notEncrypted:
            "is a plain file where the zone's are encrypted, and written as that: nobody knows who put it there"
        default: staysEncrypted + "it is damaged"
        }
    }
}
