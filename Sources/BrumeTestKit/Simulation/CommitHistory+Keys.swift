internal import BrumeEncryption
internal import BrumeModel

/// Which keys records are encrypted with, as they went to the journal.
extension CommitHistory {
    /// An entry of a ring and a last statement.
    struct EntryAndStatement: Hashable {
        let entry: [UInt8]
        let statement: [UInt8]
    }

    /// I17: whatever a commit encrypts anew is of the newest key of its ring as the commit before left that, and the
    /// ring is boxed to the newest keys of the account.
    func checkKeys(of version: Version, over former: Version?, in zone: String, before state: State) {
        var headers = version.fields.compactMap { key, value in
            former?.fields[key] == value ? nil : Self.header(of: value)
        }
        let stamp = version.record.system.stamp
        if stamp != former?.record.system.stamp ?? [] { headers += [Self.header(ofStamp: stamp)].compactMap(\.self) }
        encryptedChecked += headers.count
        for header in headers {
            guard let problem = problem(with: header, in: zone, of: state) else { continue }
            return fail("I17: \(version.record.system.name) of \(zone) was saved, and \(problem)")
        }
    }

    /// What is wrong with a key; nil if something may be encrypted with it.
    func problem(with header: EncryptedHeader, in zone: String, of state: State) -> String? {
        let ring = state.ring(of: zone)
        guard let last = ring.last else { return "there is no ring" }
        if header.isShared { return "no tree has a ring" }
        if header.keyNumber != ring.count { return "key \(header.keyNumber) is not the newest of \(ring.count)" }
        return isDue(last, state.statements) ? "the ring is due" : nil
    }

    /// Whether the account has other keys than those that an entry is boxed to.
    private func isDue(_ entry: SharedBytes, _ statements: [SharedBytes]) -> Bool {
        guard let last = statements.last else { return true }
        let key = EntryAndStatement(entry: entry.array, statement: last.array)
        if let known = dueEntries[key] { return known }
        let hash = (try? SignedRingEntry(entry.array))?.entry.members.first { $0.role == .owner }?.statementHash
        let all = statements.compactMap { try? Statement(kept: $0.array) }
        let isDue = all.count < statements.count || all.first { $0.hash == hash }?.keys != all.last?.keys
        dueEntries[key] = isDue
        return isDue
    }

    /// Whether a zone's ring ends with the entry of a hash; true for none.
    func endsRing(_ hash: [UInt8], of zone: String, in state: State) -> Bool {
        hash.isEmpty || state.ring(of: zone).last.flatMap(self.hash) == hash
    }

    /// The hash of an entry of a ring; nil for what is none.
    func hash(of entry: SharedBytes) -> [UInt8]? {
        if let known = entryHashes[entry.array] { return known }
        let hash = try? RingOutline(kept: entry.array).hash
        entryHashes[entry.array] = hash
        return hash
    }

    /// The headers of all that a save encrypts.
    static func headers(of save: RecordSave<DecodedFields>) -> [EncryptedHeader] {
        save.fields.values.compactMap { $0.flatMap(header) } + [header(ofStamp: save.stamp)].compactMap(\.self)
    }

    private static func header(of value: FieldValue) -> EncryptedHeader? {
        guard case .encrypted(let value) = value else { return nil }
        return value.bytes.withUnsafeBytes { try? EncryptedHeader(ofValue: $0) }
    }

    private static func header(ofStamp stamp: [UInt8]) -> EncryptedHeader? {
        stamp.isEmpty ? nil : stamp.withUnsafeBytes { try? EncryptedHeader(ofStamp: $0) }
    }
}

extension CommitHistory.State {
    /// The entries of a zone's own ring; none where there is no zone.
    func ring(of zone: String) -> [SharedBytes] { zones[zone].flatMap { rings[$0.incarnation] } ?? [] }
}
