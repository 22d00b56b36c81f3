internal import BrumeKit
internal import BrumeModel

/// Saves what an export holds, exactly: an existing record becomes the exported one, and loses any other keys.
///
/// It takes two rounds, because a parent has to exist before its children name it, and an export is not in that order:
/// first all records without new parents, then only the parents. Requests are sent one after the other, so that a later
/// line of a record counts. The names of records with parents are held in memory until the end.
///
/// Encrypted fields that an export holds in the clear are encrypted again, and saved before the others of their record:
/// where they can't be encrypted, the record stays as it was.
struct ExportImporter {
    /// The number of failed records that are kept to be shown; the rest is counted.
    private static let failuresLimit = 1_000

    struct Failure: Equatable {
        let line: Int
        let name: String
        let message: String
    }

    private struct Item {
        let line: Int
        let record: Record
        /// Encrypted fields in the clear.
        let opened: [String: FieldValue]

        var estimatedRequestBytes: Int {
            // Encryption adds a header, a nonce, a tag and padding.
            opened.values.reduce(record.estimatedRequestBytes) { $0 + 160 + $1.estimatedRequestBytes * 17 / 16 }
        }
    }

    private struct Key: Hashable {
        let zone: String
        let name: String
    }

    private struct Parent {
        let line: Int
        let type: String
        let parent: String
        let stamp: [UInt8]
    }

    /// One save of a request.
    private struct Place {
        let line: Int
        let save: RecordSave<DecodedFields>
    }

    private let session: ClientSession
    /// The zone that everything goes into; nil means the zones that the export names.
    private let targetZone: String?
    /// Whether this device has the account's keys: what is encrypted and not in the export goes by no other.
    private let hasKeys: Bool

    private var assets: ImportAssets
    private var encrypting: EncryptingImporter
    private(set) var saved = 0
    private(set) var failures: [Failure] = []
    private(set) var failureCount = 0
    private var zone = ""
    private var filler = BatchFiller<Item>()
    /// Names in the batch that is being filled.
    private var pending: Set<String> = []
    private var parents: [Key: Parent] = [:]

    init(
        session: ClientSession, targetZone: String?, hasKeys: Bool, assets: ImportAssets, encrypting: EncryptingImporter
    ) {
        self.session = session
        self.targetZone = targetZone
        self.hasKeys = hasKeys
        self.assets = assets
        self.encrypting = encrypting
    }

    mutating func run(_ reader: ExportReader, progress: (_ offset: Int, _ saved: Int) -> Void) async throws {
        while let line = try reader.next() {
            switch line {
            case .header, .end: break
            case .zone(let name, let encryptsAssets, let isPerZone):
                try await flush()
                zone = targetZone ?? name
                encrypting.begin(zone, encryptsAssets: encryptsAssets, isPerZone: isPerZone)
                // The default zone exists and can't be made.
                if zone == Names.defaultZone { continue }
                let result = try await session.modifyZones(
                    ModifyZonesRequest(database: .private, saves: [ZoneID(name: zone)], operationID: Self.operationID())
                )
                for save in result.saves { _ = try save.get() }
            case .record(_, var record, let opened):
                // A user record's fields go into the user record of the importing account.
                if record.system.type == Names.userRecordType, let user = try await session.welcome().userRecordName {
                    record.system.name = user
                }
                do {
                    record = try await assets.uploaded(record, to: zone)
                } catch let error as ValueError {
                    note(reader.line, record.system.name, error.message)
                    continue
                }
                try await add(Item(line: reader.line, record: record, opened: opened))
            case .deletion(_, let name):
                try await flush()
                parents[Key(zone: zone, name: name)] = nil
                try await delete(name, line: reader.line)
            }
            progress(reader.offset, saved)
        }
        try await flush()
        if reader.isDecrypted { try await setStampedParents() } else { try await setParents() }
    }

    private mutating func add(_ item: Item) async throws {
        let name = item.record.system.name
        // A request may name a record only once.
        if pending.contains(name) { try await flush() }
        pending.insert(name)
        parents[Key(zone: zone, name: name)] = item.record.system.parent.map {
            Parent(line: item.line, type: item.record.system.type, parent: $0, stamp: item.record.system.stamp)
        }
        if let batch = filler.add(item, bytes: item.estimatedRequestBytes) {
            pending = [name]
            try await save(batch)
        }
    }

    private mutating func flush() async throws {
        pending = []
        try await save(filler.take())
    }

    // MARK: Requests

    private mutating func save(_ all: [Item]) async throws {
        var batch = all
        let marked = batch.filter { !$0.opened.isEmpty }.map {
            EncryptingImporter.Item(
                name: $0.record.system.name, type: $0.record.system.type, parent: $0.record.system.parent,
                fields: $0.opened)
        }
        if !marked.isEmpty {
            let refused = try await encrypting.save(marked)
            for item in batch {
                if let message = refused[item.record.system.name] { note(item.line, item.record.system.name, message) }
            }
            batch.removeAll { refused[$0.record.system.name] != nil }
        }
        if batch.isEmpty { return }
        let existing = try await existing(batch.map(\.record.system.name))
        let places = zip(batch, existing).map { item, known in
            let system = item.record.system
            var fields: DecodedFields = item.record.fields.mapValues { .some($0) }
            for key in known.map({ Array($0.fields.keys) }) ?? []
            where fields[key] == nil && item.opened[key] == nil { fields[key] = .some(nil) }
            // The exported parent is set when all records exist; a different one is removed now.
            let keepsParent = known?.system.parent == nil || known?.system.parent == system.parent
            return Place(
                line: item.line,
                save: RecordSave(
                    name: system.name, type: system.type, parent: keepsParent ? .unchanged : .removed,
                    // With a parent it comes when that is set, which takes an earlier one away.
                    stamp: system.parent == nil ? system.stamp : [],
                    replacesEncrypted: hasKeys, fields: fields))
        }
        saved += try await send(places)
    }

    /// The records that exist, in the order of the names; nil for those that don't.
    private func existing(_ names: [String]) async throws -> [Record?] {
        var known = [Record?](repeating: nil, count: names.count)
        var remaining = Array(names.indices)
        while !remaining.isEmpty {
            let request = FetchRecordsRequest(
                database: .private, zones: [.init(zone: ZoneID(name: zone), names: remaining.map { names[$0] })])
            let outcomes = try await session.fetchRecords(request).first ?? []
            guard outcomes.count == remaining.count else {
                throw CommandError(.failed, "the server did not answer for every record")
            }
            var deferred: [Int] = []
            for (index, outcome) in zip(remaining, outcomes) {
                switch outcome {
                case .record(let record): known[index] = record
                case .deferred: deferred.append(index)
                case .failure(let error):
                    // An invalid name is reported when it is saved.
                    if error.code != .unknownItem, error.code != .invalidArguments { throw error }
                }
            }
            guard deferred.count < remaining.count else {
                throw CommandError(.failed, "the server answered for no record")
            }
            remaining = deferred
        }
        return known
    }

    /// Sends one request, or several if one can't hold all; returns the number of saved records.
    private mutating func send(_ places: [Place]) async throws -> Int {
        let outcomes: [SaveResult<Record>]
        do throws(ServiceError) {
            outcomes =
                try await session.modifyRecords(
                    ModifyRecordsRequest(
                        database: .private, savePolicy: .allKeys, isAtomic: false, operationID: Self.operationID(),
                        zones: [ZoneModification(zone: ZoneID(name: zone), saves: places.map(\.save))])
                ).first?.saves ?? []
        } catch {
            if error.code != .limitExceeded { throw error }
            guard places.count > 1 else {
                note(places[0].line, places[0].save.name, error)
                return 0
            }
            // The estimate was too low: two halves fit, or show the record that never does.
            let half = places.count / 2
            let first = try await send(Array(places[..<half]))
            return first + (try await send(Array(places[half...])))
        }
        var count = 0
        for (place, result) in zip(places, outcomes) {
            switch result.outcome {
            case .record, .deferred: count += 1
            case .failure(let error) where error.code == .limitExceeded && places.count > 1:
                // The answer, or the commit, had no room for it with the others.
                count += try await send([place])
            case .failure(let error): note(place.line, place.save.name, error)
            }
        }
        return count
    }

    private mutating func delete(_ name: String, line: Int) async throws {
        let results = try await session.modifyRecords(
            ModifyRecordsRequest(
                database: .private, isAtomic: false, operationID: Self.operationID(),
                zones: [ZoneModification(zone: ZoneID(name: zone), deletions: [name])]))
        if let error = results.first?.deletions.first ?? nil { note(line, name, error) }
    }

    /// Sets the parents: the second round. Its records were counted in the first.
    private mutating func setParents() async throws {
        let failed = Set(failures.map(\.line))
        let byZone = Dictionary(grouping: parents.filter { !failed.contains($0.value.line) }, by: \.key.zone)
        for (name, entries) in byZone.sorted(by: { $0.key < $1.key }) {
            zone = name
            let ordered = entries.sorted { $0.value.line < $1.value.line }
            for start in stride(from: 0, to: ordered.count, by: Limits.itemsPerRequest) {
                let part = ordered[start..<min(ordered.count, start + Limits.itemsPerRequest)]
                let places = part.map {
                    Place(
                        line: $0.value.line,
                        save: RecordSave(
                            name: $0.key.name, type: $0.value.type, parent: .set($0.value.parent),
                            stamp: $0.value.stamp, fields: [:]))
                }
                saved -= places.count - (try await send(places))
            }
        }
    }

    /// The same for an export with encrypted fields in the clear. A parent puts a record into another tree: the record
    /// is stamped, and its values are encrypted again.
    private mutating func setStampedParents() async throws {
        let failed = Set(failures.map(\.line))
        let byZone = Dictionary(grouping: parents.filter { !failed.contains($0.value.line) }, by: \.key.zone)
        for (name, entries) in byZone.sorted(by: { $0.key < $1.key }) {
            let parents = Dictionary(uniqueKeysWithValues: entries.map { ($0.key.name, $0.value.parent) })
            let lines = Dictionary(uniqueKeysWithValues: entries.map { ($0.key.name, $0.value.line) })
            let refused = try await encrypting.setParents(parents, in: name)
            for (name, message) in refused.sorted(by: { $0.key < $1.key }) { note(lines[name] ?? 0, name, message) }
            saved -= refused.count
        }
    }

    private mutating func note(_ line: Int, _ name: String, _ error: ServiceError) {
        let isOfOtherKeys = error.detail == .keysChanged
        note(line, name, isOfOtherKeys ? Self.isOfOtherKeys : error.message)
    }

    private static let isOfOtherKeys =
        "what is encrypted in it has other keys than the zone has now, and is imported from a file that was made with "
        + "brume export --decrypt"

    private mutating func note(_ line: Int, _ name: String, _ message: String) {
        failureCount += 1
        if failures.count < Self.failuresLimit { failures.append(Failure(line: line, name: name, message: message)) }
    }

    /// A random operation id, so that a retry of a request has one effect.
    private static func operationID() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }
}
