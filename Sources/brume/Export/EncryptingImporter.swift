internal import BrumeKit
internal import BrumeModel
internal import Foundation

/// Saves fields that an export holds in the clear, encrypted for where they are imported: through the SDK, which has
/// the zones' keys and makes those that are missing.
struct EncryptingImporter {
    /// How often a parent is set again in a record that changes meanwhile.
    private static let attemptsMax = 4

    /// Encrypted fields of a record.
    struct Item {
        let name: String
        let type: String
        let parent: String?
        let fields: [String: FieldValue]
    }

    private struct Zone {
        let id: CKRecordZone.ID
        let database: CKDatabase
        /// Whether it has to become one tree before something is encrypted in it.
        var lacksScope: Bool
        /// Whether files that are saved in it are encrypted; nil until the first such file comes.
        var encryptsAssets: Bool?
    }

    private var assets: ImportAssets
    private let plainDatabase: CKDatabase
    private let encryptingDatabase: CKDatabase
    private var zones: [String: Zone] = [:]
    private var zone = ""

    /// - Parameter database: The account's private database, for an app whose new zones have encrypted files or plain
    ///   ones.
    init(_ assets: ImportAssets, database: (_ encryptsAssets: Bool) -> CKDatabase) {
        self.assets = assets
        plainDatabase = database(false)
        encryptingDatabase = database(true)
    }

    /// Begins a zone, into which the fields go from now on.
    ///
    /// - Parameters:
    ///   - encryptsAssets: Whether its files will be encrypted if it has no keys yet, and gets them now; nil where the
    ///     export does not say: they are, since no file is to become plain because a word is missing.
    ///   - isPerZone: Whether it is one tree (`EncryptionScope.perZone`).
    mutating func begin(_ zone: String, encryptsAssets: Bool?, isPerZone: Bool) {
        self.zone = zone
        zones[zone] = Zone(
            id: zone == Names.defaultZone ? .default : CKRecordZone.ID(zoneName: zone),
            database: encryptsAssets ?? true ? encryptingDatabase : plainDatabase,
            lacksScope: isPerZone && zone != Names.defaultZone)
    }

    /// Saves the encrypted fields of records, 400 at most, and leaves their others as they are.
    ///
    /// - Returns: Why records were not saved, by their names.
    mutating func save(_ items: [Item]) async throws -> [String: String] {
        guard let zone = zones[zone] else { preconditionFailure("fields are saved before their zone begins") }
        if zone.lacksScope, !items.isEmpty {
            do throws(CKError) {
                try await zone.database.makePerZone(zone.id)
                zones[self.zone]!.lacksScope = false
            } catch {
                guard error.code == .invalidArguments || error.isOfItem else { throw error }
                let message = CommandError(describing: error).message
                return Dictionary(items.map { ($0.name, message) }, uniquingKeysWith: { first, _ in first })
            }
        }
        var failures: [String: String] = [:]
        let found = try await records(items.map(\.name), in: zone, &failures)
        var records: [CKRecord] = []
        for item in items where failures[item.name] == nil {
            let id = CKRecord.ID(recordName: item.name, zoneID: zone.id)
            // The server refuses a record whose name one of another type has.
            let record =
                found[item.name].flatMap { $0.recordType == item.type ? $0 : nil }
                ?? CKRecord(recordType: item.type, recordID: id)
            // The parent decides for which tree a value is encrypted. Parents that are new are set when all records
            // exist.
            if let parent = record.parent, parent.recordID.recordName != item.parent { record.parent = nil }
            do {
                for (key, value) in item.fields.sorted(by: { $0.key < $1.key }) {
                    try await set(value, key, of: record)
                }
                records.append(record)
            } catch {
                guard error is ValueError || (error as? CKError)?.isOfItem == true else { throw error }
                failures[item.name] = CommandError(describing: error).message
            }
        }
        try await save(records, .changedKeys, in: zone) { record, error in
            failures[record.recordID.recordName] = CommandError(describing: error).message
        }
        return failures
    }

    /// Sets parents, from the roots down.
    ///
    /// - Returns: Why records did not get theirs, by their names.
    mutating func setParents(_ parents: [String: String], in name: String) async throws -> [String: String] {
        guard let zone = zones[name] else { preconditionFailure("parents are set before their zone begins") }
        var failures: [String: String] = [:]
        for level in Self.levels(parents) {
            for start in stride(from: 0, to: level.count, by: Limits.itemsPerRequest) {
                var rest = Array(level[start..<min(level.count, start + Limits.itemsPerRequest)])
                for attempt in 1...Self.attemptsMax where !rest.isEmpty {
                    let found = try await records(rest, in: zone, &failures)
                    for (name, record) in found {
                        guard let parent = parents[name] else { continue }
                        record.parent = CKRecord.Reference(
                            recordID: CKRecord.ID(recordName: parent, zoneID: zone.id), action: .none)
                    }
                    var changed: [String] = []
                    let records = rest.compactMap { found[$0] }
                    for name in rest where found[name] == nil && failures[name] == nil {
                        failures[name] = "the record was deleted meanwhile"
                    }
                    try await save(records, .ifServerRecordUnchanged, in: zone) { record, error in
                        let name = record.recordID.recordName
                        if (error as? CKError)?.code == .serverRecordChanged, attempt < Self.attemptsMax {
                            changed.append(name)
                        } else {
                            failures[name] = CommandError(describing: error).message
                        }
                    }
                    rest = changed
                }
            }
        }
        return failures
    }

    /// Names of records by how many of these are above them, the topmost first.
    static func levels(_ parents: [String: String]) -> [[String]] {
        var depths: [String: Int] = [:]
        for name in parents.keys {
            var path: [String] = []
            var seen: Set<String> = []
            var next: String? = name
            // A malformed file may name parents in a circle, which the server refuses.
            while let current = next, depths[current] == nil, parents[current] != nil, seen.insert(current).inserted {
                path.append(current)
                next = parents[current]
            }
            var depth = next.flatMap { depths[$0] } ?? -1
            for name in path.reversed() {
                depth += 1
                depths[name] = depth
            }
        }
        let byDepth = Dictionary(grouping: depths.keys) { depths[$0] ?? 0 }
        return byDepth.sorted { $0.key < $1.key }.map { $0.value.sorted() }
    }

    // MARK: Parts

    private mutating func set(_ value: FieldValue, _ key: String, of record: CKRecord) async throws {
        let files: [CKAsset]
        switch value {
        case .asset, .assets:
            try await checkAssetsAreEncrypted(key)
            files = try value.assets.map { CKAsset(fileURL: try assets.file(of: $0)) }
        default: return record.setEncryptedValue(value, forKey: key)
        }
        if case .asset = value { record[key] = files[0] } else { record[key] = files }
    }

    /// A file that was encrypted must not become a plain one.
    private mutating func checkAssetsAreEncrypted(_ key: String) async throws {
        guard var known = zones[zone] else { return }
        if known.encryptsAssets == nil {
            known.encryptsAssets = try await known.database.encryptsAssets(in: known.id)
            zones[zone] = known
        }
        if known.encryptsAssets == true { return }
        throw ValueError(
            message: "\(key) is an encrypted file, and files of the zone \(zone) are not encrypted; import into "
                + "another zone (--zone)")
    }

    /// Those of the records that exist, by their names, without their fields.
    private func records(
        _ names: [String], in zone: Zone, _ failures: inout [String: String]
    ) async throws -> [String: CKRecord] {
        var found: [String: CKRecord] = [:]
        let ids = names.map { CKRecord.ID(recordName: $0, zoneID: zone.id) }
        for (id, result) in try await zone.database.records(for: ids, desiredKeys: []) {
            switch result {
            case .success(let record): found[id.recordName] = record
            case .failure(CKError.unknownItem): break
            case .failure(let error): failures[id.recordName] = CommandError(describing: error).message
            }
        }
        return found
    }

    /// Sends one request, or several if one can't hold all.
    private func save(
        _ records: [CKRecord], _ policy: CKModifyRecordsOperation.RecordSavePolicy, in zone: Zone,
        _ failed: (CKRecord, any Error) -> Void
    ) async throws {
        if records.isEmpty { return }
        let results: [CKRecord.ID: Result<CKRecord, any Error>]
        do {
            results = try await zone.database.modifyRecords(
                saving: records, deleting: [], savePolicy: policy, atomically: false
            ).saveResults
        } catch CKError.limitExceeded {
            if records.count == 1 {
                return failed(records[0], CommandError(.failed, "the record is larger than a request may be"))
            }
            let half = records.count / 2
            try await save(Array(records[..<half]), policy, in: zone, failed)
            try await save(Array(records[half...]), policy, in: zone, failed)
            return
        }
        for record in records {
            switch results[record.recordID] {
            case .success?: break
            case .failure(CKError.limitExceeded)? where records.count > 1:
                // The answer, or the commit, had no room for it with the others.
                try await save([record], policy, in: zone, failed)
            case .failure(let error)?: failed(record, error)
            case nil: failed(record, CommandError(.failed, "the server did not answer for the record"))
            }
        }
    }
}

extension CKError {
    /// Whether it is about what is saved, and not about the connection.
    fileprivate var isOfItem: Bool { code == .accountTemporarilyUnavailable || code == .incompatibleVersion }
}
