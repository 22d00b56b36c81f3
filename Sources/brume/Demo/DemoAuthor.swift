internal import BrumeKit
internal import Foundation

/// Device A of the demo: imports, edits and deletes. Its store holds what it wrote, not what the server says.
final class DemoAuthor {
    private let database: CKDatabase
    private let storePath: String
    private var store = DemoStore()
    /// The records as the server answered them, with the tags that the next edit carries.
    private var records: [CKRecord.ID: CKRecord] = [:]

    init(context: ClientContext, stateFolder: String) {
        database = context.database
        storePath = stateFolder + "/store.jsonl"
    }

    /// Deletes and makes both zones.
    func makeZones() async throws {
        let zoneIDs = [Languages.zone, TimeZones.zone].map { CKRecordZone.ID(zoneName: $0) }
        for result in try await database.modifyRecordZones(saving: [], deleting: zoneIDs).deleteResults.values {
            try result.get()
        }
        let zones = zoneIDs.map { CKRecordZone(zoneID: $0) }
        for result in try await database.modifyRecordZones(saving: zones, deleting: []).saveResults.values {
            _ = try result.get()
        }
    }

    /// Imports both files into the zones. Returns the number of records.
    func importAll() async throws -> Int {
        let sources = [
            (Languages.zone, Languages.recordType, try Languages.load()),
            (TimeZones.zone, TimeZones.recordType, try TimeZones.load()),
        ]
        let reporter = ProgressReporter(title: "import", total: sources.reduce(0) { $0 + $1.2.count }, unit: "records")
        defer { reporter.finish() }
        var done = 0
        for (zone, type, source) in sources {
            let importer = RecordImporter(
                database: database, zoneID: CKRecordZone.ID(zoneName: zone), recordType: type)
            var rest = source[...]
            let outcome = try await importer.run {
                rest.popFirst().map { record in
                    let bytes = 128 + record.fields.reduce(0) { $0 + $1.key.utf8.count + $1.value.estimatedBytes + 12 }
                    return RecordImporter.Item(
                        line: 0, name: record.name, fields: record.fields, estimatedBytes: bytes)
                }
            } progress: {
                reporter.advance(to: done + $0)
            }
            if let failure = outcome.failures.first {
                throw CommandError(failure.code, "\(zone)/\(failure.name): \(failure.message)")
            }
            done += source.count
            for record in source { store.set(zone, record.name, record.fields) }
        }
        return done
    }

    /// Edits records of the time zones one by one, each with its own save, and calls `edited` after each.
    func editTimeZones(count: Int, serial: Int, edited: (Int) -> Void) async throws {
        for (number, name) in names(TimeZones.zone, count).enumerated() {
            let record = try await record(name, TimeZones.zone)
            set(record, "note", .text("edit \(serial) of device A"))
            set(
                record, "edited",
                .date(Date(timeIntervalSince1970: (Date().timeIntervalSince1970 * 1000).rounded() / 1000)))
            records[record.recordID] = try await database.save(record)
            edited(number + 1)
        }
    }

    /// Edits languages in one atomic batch.
    func editLanguages(count: Int, serial: Int) async throws {
        let ids = names(Languages.zone, count).map(Self.id(Languages.zone))
        let fetched = try await database.records(for: ids)
        let edited = try ids.map { id in
            guard let record = try fetched[id]?.get() else {
                throw CommandError(.failed, "\(id.recordName) was not answered")
            }
            set(record, "reviewed", .int64(Int64(serial)))
            set(record, "score", .double(Double(serial) / 4))
            return record
        }
        for result in try await database.modifyRecords(saving: edited, deleting: []).saveResults.values {
            _ = try result.get()
        }
    }

    /// Deletes the last records of a zone.
    func delete(_ zone: String, count: Int) async throws {
        let names = store.zones[zone, default: [:]].keys.sorted().suffix(count)
        let results = try await database.modifyRecords(saving: [], deleting: names.map(Self.id(zone)))
        for result in results.deleteResults.values { try result.get() }
        for name in names {
            store.set(zone, name, nil)
            records[Self.id(zone)(name)] = nil
        }
    }

    var digest: String { store.digest }

    func writeStore() throws -> String {
        try store.write(to: storePath)
        return storePath
    }

    private static func id(_ zone: String) -> (String) -> CKRecord.ID {
        { CKRecord.ID(recordName: $0, zoneID: CKRecordZone.ID(zoneName: zone)) }
    }

    private func names(_ zone: String, _ count: Int) -> [String] {
        Array(store.zones[zone, default: [:]].keys.sorted().prefix(count))
    }

    private func record(_ name: String, _ zone: String) async throws -> CKRecord {
        let id = Self.id(zone)(name)
        if let known = records[id] { return known }
        return try await database.record(for: id)
    }

    private func set(_ record: CKRecord, _ key: String, _ value: TypedValue) {
        record[key] = value.recordValue(in: record.recordID.zoneID)
        let (zone, name) = (record.recordID.zoneID.zoneName, record.recordID.recordName)
        var fields = store.fields(zone, name) ?? [:]
        fields[key] = value
        store.set(zone, name, fields)
    }
}
