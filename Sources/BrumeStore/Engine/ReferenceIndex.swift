internal import BrumeModel
internal import BrumeRecord

/// A record's references to others, as far as the rules about references need them.
struct RecordReferences: Sendable {
    /// The name of the parent record, or empty.
    var parent = ""
    /// The names that `deleteSelf` references point to, one for each reference.
    var targets: [String] = []
}

/// How a save changes the references of its record.
enum ReferenceChange: Sendable {
    /// It is to be found out from both versions.
    case unknown
    case none
    /// What both have in common may be missing from both.
    case changed(from: RecordReferences, to: RecordReferences)
}

/// The records of a zone by what they refer to.
///
/// In a public database children don't keep their parent from being deleted, so nobody asks for them, and none are
/// kept.
struct ReferenceIndex: Sendable {
    /// Whether the records that refer to a name are told apart by their users.
    let tellsUsersApart: Bool
    /// Live records by their parent's name.
    private var children = NameTable<Set<Int32>>()
    /// Live records by the targets of their `deleteSelf` references.
    private var referrers = NameTable<Referrers>()
    /// About what it takes in memory.
    private(set) var approximateBytes = 0

    private static let nameBytes = 96
    private static let entryBytes = 24

    init(tellsUsersApart: Bool) {
        self.tellsUsersApart = tellsUsersApart
    }

    /// Whether deletions have to look at references at all.
    var isEmpty: Bool { children.isEmpty && referrers.isEmpty }

    /// Slots of the records whose parent is `name`. Empty in a public database.
    func children(of name: String) -> Set<Int32> { children[name] ?? [] }

    /// The records with a `deleteSelf` reference to `name`.
    func referrers(of name: String) -> Referrers { referrers[name] ?? Referrers() }

    /// The user under whom a record's references are counted.
    func user(of record: RecordSlot) -> UserKey {
        tellsUsersApart ? record.withBytes { UserKey(StoredRecord.creator(of: $0)) } : .all
    }

    mutating func add(_ references: RecordReferences, of slot: Int32, by user: UserKey) {
        var growth = 0
        if !references.parent.isEmpty, !tellsUsersApart {
            children.update(references.parent, startingWith: []) { children in
                if children.isEmpty { growth += ReferenceIndex.bytes(ofName: references.parent) }
                if children.insert(slot).inserted { growth += ReferenceIndex.entryBytes }
                return .stays
            }
        }
        for target in references.targets {
            referrers.update(target, startingWith: Referrers()) { referrers in
                let before = referrers.entries.count
                if before == 0 { growth += ReferenceIndex.bytes(ofName: target) }
                referrers.add(slot, by: user)
                growth += (referrers.entries.count - before) * ReferenceIndex.entryBytes
                return .stays
            }
        }
        approximateBytes += growth
    }

    mutating func remove(_ references: RecordReferences, of slot: Int32) {
        var growth = 0
        if !references.parent.isEmpty, !tellsUsersApart {
            children.update(references.parent, startingWith: []) { children in
                guard children.remove(slot) != nil else { return children.isEmpty ? .goes : .stays }
                growth -= ReferenceIndex.entryBytes
                if !children.isEmpty { return .stays }
                growth -= ReferenceIndex.bytes(ofName: references.parent)
                return .goes
            }
        }
        for target in references.targets {
            referrers.update(target, startingWith: Referrers()) { referrers in
                let before = referrers.entries.count
                if before == 0 { return .goes }
                referrers.remove(slot)
                growth -= (before - referrers.entries.count) * ReferenceIndex.entryBytes
                if !referrers.isEmpty { return .stays }
                growth -= ReferenceIndex.bytes(ofName: target)
                return .goes
            }
        }
        approximateBytes += growth
    }

    private static func bytes(ofName name: String) -> Int { nameBytes + name.utf8.count }
}

/// Values by names, in parts that grow separately: no addition makes room for all of them at once.
private struct NameTable<Value: Sendable>: Sendable {
    /// Hashed once: the hash chooses the part, too.
    private struct Key: Hashable, Sendable {
        let hash: Int
        let name: String

        init(_ name: String) {
            self.name = name
            hash = name.hashValue
        }

        func hash(into hasher: inout Hasher) { hasher.combine(hash) }
    }

    private var parts: [[Key: Value]] = [[:]]
    private var count = 0

    /// Moving so many takes a fraction of a millisecond.
    private static var wholeMax: Int { 4_096 }
    private static var partCount: Int { 256 }

    var isEmpty: Bool { count == 0 }

    subscript(name: String) -> Value? {
        if isEmpty { return nil }
        let key = Key(name)
        return parts[part(of: key)][key]
    }

    enum Fate { case stays, goes }

    /// Changes the value of a name where it stands.
    mutating func update(
        _ name: String, startingWith value: @autoclosure () -> Value, _ change: (inout Value) -> Fate
    ) {
        let key = Key(name)
        let part = part(of: key)
        let before = parts[part].count
        if change(&parts[part][key, default: value()]) == .goes { parts[part][key] = nil }
        count += parts[part].count - before
        if count > NameTable.wholeMax, parts.count == 1 { split() }
    }

    private func part(of key: Key) -> Int { parts.count == 1 ? 0 : key.hash & (NameTable.partCount - 1) }

    private mutating func split() {
        let all = parts[0]
        parts = [[Key: Value]](repeating: [:], count: NameTable.partCount)
        for (key, value) in all { parts[part(of: key)][key] = value }
    }
}
