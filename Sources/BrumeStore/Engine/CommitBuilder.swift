internal import BrumeModel

/// Gathers what one request changes, zone by zone, into one commit. Never copied: every save makes one.
struct CommitBuilder: ~Copyable {
    /// The sequence that the commit will have, if anything changes.
    let sequence: UInt64
    private(set) var changes: [Change] = []
    private(set) var touched: [TouchedZone] = []
    /// Records whose types somebody subscribed to.
    private(set) var records: [CommittedRecord] = []
    /// Query subscriptions that it fires, as far as they are known.
    private(set) var matches = CommitMatches()
    /// Zone subscriptions that are deleted with their zones, and report that.
    private(set) var endedHints: [KeptSubscription] = []
    private(set) var clientToken: ClientTokenPut?
    /// The number of changes that have a position: those of records and zones.
    private(set) var positions: UInt32 = 0

    init(sequence: UInt64) {
        self.sequence = sequence
    }

    var isEmpty: Bool { changes.isEmpty && clientToken == nil }

    /// The position of the next change of a record or a zone.
    mutating func nextPosition() -> ChangePosition {
        defer { positions += 1 }
        return ChangePosition(sequence: sequence, index: positions)
    }

    /// The same, without taking it.
    var upcomingPosition: ChangePosition { ChangePosition(sequence: sequence, index: positions) }

    /// Reserves room for so many more changes.
    mutating func expect(_ count: Int) {
        changes.reserveCapacity(changes.count + count)
    }

    mutating func append(_ change: Change) {
        changes.append(change)
    }

    mutating func note(_ record: CommittedRecord) {
        records.append(record)
    }

    /// Returns the records that were noted, and removes them from the builder.
    mutating func takeRecords() -> [CommittedRecord] {
        defer { records = [] }
        return records
    }

    mutating func add(_ more: CommitMatches) {
        matches.matches += more.matches
        matches.overflowingOwners.formUnion(more.overflowingOwners)
    }

    mutating func ended(_ hint: KeptSubscription) {
        endedHints.append(hint)
    }

    mutating func touch(_ zone: TouchedZone) {
        guard let last = touched.last, last.incarnation == zone.incarnation else { return touched.append(zone) }
        touched[touched.count - 1].recordTypes = Set(last.recordTypes + zone.recordTypes).sorted()
        if let trees = zone.trees { touched[touched.count - 1].trees = (last.trees ?? []) + trees }
        if zone.isDeleted { touched[touched.count - 1].isDeleted = true }
    }

    /// Notes that a zone keeps the request's client token.
    mutating func note(_ token: ClientToken, inZone incarnation: UInt64) {
        clientToken = ClientTokenPut(token: token, zones: (clientToken?.zones ?? []) + [incarnation])
    }

    /// The commit of what changed.
    consuming func commit(of database: DatabaseID, run: UInt32, nowMilliseconds: Int64) -> Commit {
        Commit(
            entry: JournalEntry(
                database: database, sequence: sequence, committedMilliseconds: nowMilliseconds, changes: changes,
                run: run, clientToken: clientToken),
            zones: touched, matches: matches, endedHints: endedHints)
    }
}
