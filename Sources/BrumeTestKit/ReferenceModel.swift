package import BrumeModel
internal import BrumeStore

/// What a private database should do, written as plainly as possible: dictionaries, whole copies, and loops over
/// everything.
///
/// It shares no code and no data structure with the engine. Values are decoded; a record's version is its change tag,
/// which the model names as the engine does, from an epoch and a counter of commits.
package struct ReferenceModel {
    package struct Record: Equatable, Sendable {
        package var type: String
        package var fields: [String: FieldValue]
        package var parent: String?
        package var tag: String
        /// The commit that wrote it.
        package var commit: UInt64
    }

    package struct Zone: Sendable {
        package var records: [String: Record] = [:]
        /// Record names by the last commit that put or deleted them.
        package var lastTouch: [String: UInt64] = [:]
        package var createdAt: UInt64
    }

    /// A save, its fields decoded; nil removes a key.
    package typealias Save = RecordSave<DecodedFields>

    package enum SaveOutcome: Equatable, Sendable {
        case saved(tag: String, fieldsOmitted: Bool)
        case failed(ErrorCode)
    }

    package let epoch: UInt32
    package private(set) var commit: UInt64 = 0
    package private(set) var zones: [String: Zone] = [Names.defaultZone: Zone(createdAt: 0)]

    package init(epoch: UInt32) {
        self.epoch = epoch
    }

    // MARK: Zones

    /// Saves a zone. Returns whether anything changed.
    package mutating func saveZone(_ name: String) -> Bool {
        if zones[name] != nil { return false }
        commit += 1
        zones[name] = Zone(createdAt: commit)
        return true
    }

    /// Deletes a zone. Returns whether anything changed.
    package mutating func deleteZone(_ name: String) -> Bool {
        if zones.removeValue(forKey: name) == nil { return false }
        commit += 1
        return true
    }

    // MARK: Records

    /// Saves and deletes in one zone, by the rules of Documentation/CloudKit.md, Change tags and save policies, Atomic
    /// batches, References. Names must not repeat.
    package mutating func modify(
        zone name: String, policy: SavePolicy, isAtomic: Bool, saves: [Save], deletions: [String]
    ) -> (saves: [SaveOutcome], deletions: [ErrorCode?]) {
        guard let zone = zones[name] else {
            return (saves.map { _ in .failed(.zoneNotFound) }, deletions.map { _ in .zoneNotFound })
        }
        let next = commit + 1
        var outcomes = saves.map { evaluate($0, in: zone, policy: policy, commit: next) }
        var deletionErrors: [ErrorCode?] = deletions.map { _ in nil }
        let atomic = isAtomic && name != Names.defaultZone
        var failed = outcomes.contains { $0.error != nil }

        var mayChange = true
        while mayChange {
            mayChange = false
            // Newly named parents must exist after the saves, before anything is deleted.
            var state = after(outcomes, of: saves, in: zone)
            var orphan = true
            while orphan {
                orphan = false
                for (index, save) in saves.enumerated() {
                    guard case .staged(let record) = outcomes[index], let parent = record.parent,
                        zone.records[save.name]?.parent != parent, state[parent] == nil,
                        !(atomic && saves.contains { $0.name == parent })
                    else { continue }
                    outcomes[index] = .failed(.referenceViolation)
                    orphan = true
                    failed = true
                }
                state = after(outcomes, of: saves, in: zone)
            }
            // The records that go with the deletions that still stand.
            let wanted = deletions.enumerated().filter {
                deletionErrors[$0.offset] == nil && zone.records[$0.element] != nil
            }.map(\.element)
            let gone = falling(with: wanted, in: state)
            // Those of them that can't go: the parents of records that stay, and the records that would take one of
            // these along.
            var stays = Set<String>()
            var grows = true
            while grows {
                grows = false
                for name in gone where !stays.contains(name) {
                    let isParent = state.contains {
                        $0.value.parent == name && (!gone.contains($0.key) || stays.contains($0.key))
                    }
                    let takesOne = state.contains { stays.contains($0.key) && cascades($0.value, to: name) }
                    if isParent || takesOne {
                        stays.insert(name)
                        grows = true
                    }
                }
            }
            for (index, name) in deletions.enumerated() where deletionErrors[index] == nil && stays.contains(name) {
                deletionErrors[index] = .referenceViolation
                failed = true
                // An atomic batch fails as a whole: nobody asks what would hold without this item.
                mayChange = !atomic
            }
        }
        if atomic, failed {
            return (
                outcomes.map { .failed($0.error ?? .batchRequestFailed) },
                deletionErrors.map { $0 ?? .batchRequestFailed }
            )
        }
        apply(outcomes, saves, deletions: deletions, errors: deletionErrors, toZone: name)
        return (
            zip(outcomes, saves).map { outcome, save in
                let known = zone.records[save.name]
                let saved: Record
                switch outcome {
                case .failed(let code): return .failed(code)
                case .unchanged: saved = known!
                case .staged(let record): saved = record
                }
                let sent = save.fields.filter { $0.value != nil }
                let isKnown =
                    known == nil || known?.tag == save.changeTag
                    || policy == .allKeys && Set(sent.keys) == Set(saved.fields.keys)
                return .saved(tag: saved.tag, fieldsOmitted: isKnown)
            }, deletionErrors
        )
    }

    private enum Outcome {
        case failed(ErrorCode)
        case unchanged
        case staged(Record)

        var error: ErrorCode? {
            if case .failed(let code) = self { return code }
            return nil
        }
    }

    private func evaluate(_ save: Save, in zone: Zone, policy: SavePolicy, commit: UInt64) -> Outcome {
        let known = zone.records[save.name]
        if policy == .ifServerRecordUnchanged {
            if let known, known.tag != save.changeTag { return .failed(.serverRecordChanged) }
            if known == nil, !save.changeTag.isEmpty { return .failed(.unknownItem) }
        }
        if let known, known.type != save.type { return .failed(.invalidArguments) }
        var record = known ?? Record(type: save.type, fields: [:], parent: nil, tag: "", commit: 0)
        for (key, value) in save.fields { record.fields[key] = value }
        switch save.parent {
        case .unchanged: break
        case .removed: record.parent = nil
        case .set(let name):
            if name == save.name { return .failed(.invalidArguments) }
            record.parent = name
        }
        if record == known { return .unchanged }
        record.tag = ChangeTag(number: Database.plainTagNumber(run: epoch, sequence: commit)).text
        record.commit = commit
        return .staged(record)
    }

    /// The zone's records with the staged saves applied.
    private func after(_ outcomes: [Outcome], of saves: [Save], in zone: Zone) -> [String: Record] {
        var state = zone.records
        for (outcome, save) in zip(outcomes, saves) {
            if case .staged(let record) = outcome { state[save.name] = record }
        }
        return state
    }

    private func cascades(_ record: Record, to name: String) -> Bool {
        record.fields.values.contains { value in
            switch value {
            case .reference(let reference): reference.deletesSelf && reference.recordName == name
            case .references(let list): list.contains { $0.deletesSelf && $0.recordName == name }
            default: false
            }
        }
    }

    private func falling(with names: [String], in state: [String: Record]) -> Set<String> {
        var gone = Set(names)
        while true {
            let more = state.filter { record in
                !gone.contains(record.key) && gone.contains { cascades(record.value, to: $0) }
            }
            if more.isEmpty { return gone }
            gone.formUnion(more.keys)
        }
    }

    private mutating func apply(
        _ outcomes: [Outcome], _ saves: [Save], deletions: [String], errors: [ErrorCode?], toZone name: String
    ) {
        var zone = zones[name]!
        let before = zone.records
        let state = after(outcomes, of: saves, in: zone)
        let wanted = zip(deletions, errors).filter { $0.1 == nil && before[$0.0] != nil }.map(\.0)
        let gone = falling(with: wanted, in: state)
        zone.records = state.filter { !gone.contains($0.key) }
        let touched = Set(before.keys).union(state.keys).filter { before[$0] != zone.records[$0] }
        if touched.isEmpty { return }
        commit += 1
        for record in touched { zone.lastTouch[record] = commit }
        zones[name] = zone
    }

    // MARK: Feeds

    /// What changed in a zone after a commit: the names that exist, and those that do not any more.
    package func changes(inZone name: String, after commit: UInt64) -> (live: Set<String>, deleted: Set<String>) {
        guard let zone = zones[name] else { return ([], []) }
        let touched = zone.lastTouch.filter { $0.value > commit }.keys
        return (Set(touched.filter { zone.records[$0] != nil }), Set(touched.filter { zone.records[$0] == nil }))
    }
}
