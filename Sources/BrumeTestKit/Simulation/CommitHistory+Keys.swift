internal import BrumeEncryption
internal import BrumeModel

/// Which keys records are encrypted with, as they went to the journal.
extension CommitHistory {
    /// An entry of a ring and a last statement.
    struct EntryAndStatement: Hashable {
        let entry: [UInt8]
        let statement: [UInt8]
    }

    /// Why nothing may be encrypted with a key.
    enum KeyProblem: String {
        case hasNoRing = "there is no such ring, or it was closed"
        case isAnother = "the key is not the newest of its ring"
        case isDue = "the ring has old keys of its owner"
        case isRenewed = "the ring has old keys of a member"
        case isDeparted = "a member of the ring takes part no more"
        case isOfZone = "the record is in a shared tree, and the key is the zone's"
    }

    /// I17: whatever a commit encrypts anew is of the newest key of its ring as the commit before left that, and the
    /// ring is boxed to the newest keys of its members, all of whom take part in what it is of; and whoever saved it
    /// may be told of that ring. No value of the zone's key comes into a shared tree whose ring is open.
    ///
    /// - Parameter user: Whoever saved it, where that is not the zone's owner.
    func checkKeys(
        of version: Version, over former: Version?, in zone: String, before state: State, by user: String?
    ) {
        var headers = version.fields.compactMap { key, value in
            former?.fields[key] == value ? nil : Self.header(of: value)
        }
        let isOfZone = headers.contains { !$0.isShared }
        if isOfZone, state.isInOpenTree(version.record.system.name, parent: version.parent, of: zone, self) {
            return fail("I17: \(version.record.system.name) of \(zone) was saved, and \(KeyProblem.isOfZone.rawValue)")
        }
        let stamp = version.record.system.stamp
        if stamp != former?.record.system.stamp ?? [] { headers += [Self.header(ofStamp: stamp)].compactMap(\.self) }
        encryptedChecked += headers.count
        encryptedInTreesChecked += headers.count(where: \.isShared)
        for header in headers {
            guard let problem = problem(with: header, in: zone, of: state, for: user) else { continue }
            return fail("I17: \(version.record.system.name) of \(zone) was saved, and \(problem.rawValue)")
        }
    }

    /// What is wrong with a key; nil if something may be encrypted with it.
    ///
    /// - Parameter user: Whoever encrypts, where that is not the zone's owner.
    func problem(with header: EncryptedHeader, in zone: String, of state: State, for user: String?) -> KeyProblem? {
        let kept = state.rings(of: zone)
        guard let root = header.isShared ? self.root(of: header.treeID, in: kept) : "",
            user.map({ state.mayLearn($0, ofRing: root, in: zone) }) ?? true, let ring = kept.entries[root],
            let last = ring.last.flatMap(outline), !last.isClosed
        else { return .hasNoRing }
        if header.keyNumber != ring.count { return .isAnother }
        if isDue(ring.last!, state.statements) { return .isDue }
        for member in last.others {
            if !state.takesPart(member.user, in: zone, root: root) { return .isDeparted }
            if !hasNewestKeys(member.statementHash, kept.currentChain(of: member.user)) { return .isRenewed }
        }
        return nil
    }

    /// Whether a save has a value of the zone's key for a shared tree whose ring is open.
    func bringsZoneKey(_ save: RecordSave<DecodedFields>, into zone: String, of state: State) -> Bool {
        guard save.fields.values.contains(where: { $0.flatMap(Self.header)?.isShared == false }) else { return false }
        let parent: String? =
            switch save.parent {
            case .unchanged: state.zones[zone]?.records[save.name]?.parent
            case .set(let parent): parent
            case .removed: nil
            }
        return state.isInOpenTree(save.name, parent: parent, of: zone, self)
    }

    /// Whether the account has other keys than those that an entry is boxed to.
    func isDue(_ entry: SharedBytes, _ statements: [SharedBytes]) -> Bool {
        guard let last = statements.last else { return true }
        let key = EntryAndStatement(entry: entry.array, statement: last.array)
        if let known = ringFacts.dueEntries[key] { return known }
        let isDue = outline(of: entry).map { !hasNewestKeys($0.ownerStatementHash, statements) } ?? true
        ringFacts.dueEntries[key] = isDue
        return isDue
    }

    /// Whether a zone's ring ends with the entry of a hash; true for none.
    func endsRing(_ hash: [UInt8], of zone: String, in state: State) -> Bool {
        hash.isEmpty || state.ring(of: zone).last.flatMap(self.hash) == hash
    }

    /// The hash of an entry of a ring; nil for what is none.
    func hash(of entry: SharedBytes) -> [UInt8]? { outline(of: entry)?.hash }

    /// The headers of all that a save encrypts.
    static func headers(of save: RecordSave<DecodedFields>) -> [EncryptedHeader] {
        save.fields.values.compactMap { $0.flatMap(header) } + [header(ofStamp: save.stamp)].compactMap(\.self)
    }

    static func header(of value: FieldValue) -> EncryptedHeader? {
        guard case .encrypted(let value) = value else { return nil }
        return value.bytes.withUnsafeBytes { try? EncryptedHeader(ofValue: $0) }
    }

    private static func header(ofStamp stamp: [UInt8]) -> EncryptedHeader? {
        stamp.isEmpty ? nil : stamp.withUnsafeBytes { try? EncryptedHeader(ofStamp: $0) }
    }
}
