internal import BrumeModel
internal import BrumeRecord
internal import BrumeStore

/// Entries of the journal as the history reads them.
extension CommitHistory {
    /// An entry of the journal, for people.
    static func description(of bytes: [UInt8]) -> String {
        guard let entry = decodeEntry(bytes) else { return "what can't be decoded" }
        let changes = entry.changes.map { change in
            switch change {
            case .recordPut(let incarnation, let bytes):
                "\(decode(bytes).map(description) ?? "?") put into \(incarnation)"
            case .recordDeletion(let incarnation, let name, _): "\(name) deleted from \(incarnation)"
            case .zoneCreation(let incarnation, let name): "zone \(name) made as \(incarnation)"
            case .zoneDeletion(_, let name, _): "zone \(name) deleted"
            case .subscriptionPut(let subscription): "subscription \(subscription.id) put"
            case .subscriptionDeletion(let name, _): "subscription \(name) deleted"
            case .sharedZoneAsked(let zone): "part asked for in zone \(zone.incarnation) of \(zone.owner)"
            case .sharedZoneAnswered(let zone): "answered about zone \(zone.incarnation) of \(zone.owner)"
            case .sharedZonePut(let zone): "zone \(zone.id.name) of \(zone.id.owner) came"
            case .sharedZoneEnd(let id): "zone \(id.name) of \(id.owner) went"
            case .statement(let number, _): "statement \(number) made"
            case .statementsReplaced: "statements replaced"
            case .statementsEnd: "statements went"
            case .ringEntry(let zone, let root, let number, _): "entry \(number) of ring \(zone) \(root)"
            case .ringsEnd(let zone): "rings of \(zone) went"
            case .ringStatement(let zone, let user, let number, _, _):
                "statement \(number) of \(user) beside rings of \(zone)"
            case .ringChain(let zone, let user, let chain): "chain \(chain) of \(user) beside rings of \(zone)"
            case .ringGuest(let zone, let root, let guest): "\(guest.user) guest of ring \(zone) \(root)"
            case .ringGuestEnd(let zone, let root, let user): "\(user) no guest of ring \(zone) \(root)"
            case .ringUsersUnnamed(let zone, let users): "\(users) named by no ring of \(zone)"
            case .ringUsersNamed(let zone, let users): "\(users) named by a ring of \(zone)"
            case .ringUsersEnd(let zone, let users): "statements of \(users) beside rings of \(zone) went"
            }
        }
        return "\(entry.database.scope) \(entry.database.owner) \(entry.sequence): " + changes.joined(separator: ", ")
    }

    private static func description(of record: Record) -> String {
        "\(record.system.name) (\(record.fields.keys.sorted().joined()))"
    }

    static func decodeEntry(_ bytes: [UInt8]) -> JournalEntry? {
        let decoded = bytes.withUnsafeBytes { buffer in
            Result { () throws(StoreCodingError) in try StoreCoder.decodeJournalEntry(buffer) }
        }
        return try? decoded.get()
    }

    /// Whom a share is shared with; nil for any other record.
    static func share(_ bytes: SharedBytes) -> Share? {
        let part = bytes.withUnsafeBytes { StoredRecord.sharing(of: $0) }
        return part.storedShare.isEmpty ? nil : try? part.storedShare.withUnsafeBytes { try ShareCoder.decode($0) }
    }

    static func decode(_ bytes: SharedBytes) -> Record? {
        let result = bytes.withUnsafeBytes { buffer in
            Result { () throws(ServiceError) in try StoredRecord.decode(buffer) }
        }
        return try? result.get()
    }
}

extension JournalEntry {
    /// The user of whose operation it is, where they don't own the private database.
    var participant: String? { database.scope == .private && !operationUser.isEmpty ? operationUser : nil }

    /// Whether it is of a ring's entry.
    var isOfRingEntry: Bool { if case .ringEntry? = changes.first { true } else { false } }

    /// Whether it is of a ring, or of what is beside one.
    var changesRings: Bool {
        changes.contains { change in
            switch change {
            case .ringEntry, .ringStatement, .ringChain, .ringGuest, .ringGuestEnd, .ringUsersUnnamed,
                .ringUsersNamed, .ringUsersEnd:
                true
            default: false
            }
        }
    }
}
