internal import BrumeModel

/// A query that a device reads page by page, and what its pages have to be, found plainly: all records are looked
/// through, sorted, and cut after the last match.
struct PagedQuery {
    struct Match: Hashable {
        var zone: String
        var name: String
        var tag: String
    }

    /// Where the page before ended.
    private struct Place {
        /// The sort key's number.
        var number: Int64
        var created: UInt64
    }

    /// The request for the next page, with the cursor of the page before.
    private(set) var request: QueryRequest
    /// What had been seen when the first page was asked for.
    let start: CommitHistory.Sight
    /// Counts answered pages, so that two calls for one page are told apart.
    private(set) var pages = 0
    private(set) var shown: [Match] = []
    private var place: Place?

    init(_ request: QueryRequest, start: CommitHistory.Sight) {
        self.request = request
        self.start = start
    }

    private var predicate: Predicate { request.query.predicate }

    private func isInZone(_ name: String) -> Bool { request.zone == nil || request.zone?.name == name }

    private func matches(_ version: CommitHistory.Version) -> Bool {
        version.type == request.query.recordType && NaivePredicate.holds(predicate, version.record) == true
    }

    /// The number to sort by: `w`, which all records have, negated where the order is reversed.
    private func number(of version: CommitHistory.Version) -> Int64 {
        guard let sort = request.query.sortDescriptors.first, case .int64(let number) = version.fields["w"] else {
            return 0
        }
        return sort.isAscending ? number : -number
    }

    /// All matches after the page before, in order; nil if the zone does not exist.
    private func rest(in state: CommitHistory.State) -> [(zone: String, version: CommitHistory.Version)]? {
        if let zone = request.zone, state.zones[zone.name] == nil { return nil }
        var found: [(zone: String, version: CommitHistory.Version)] = []
        for (zone, content) in state.zones where isInZone(zone) {
            for version in content.records.values where matches(version) {
                let order = (number(of: version), version.created)
                if let place, order <= (place.number, place.created) { continue }
                found.append((zone, version))
            }
        }
        return found.sorted {
            (number(of: $0.version), $0.version.created) < (number(of: $1.version), $1.version.created)
        }
    }

    /// Takes a page if it is what the database, in that state, has to answer.
    mutating func take(_ page: QueryPage<Record>, in state: CommitHistory.State) -> Bool {
        guard let rest = rest(in: state) else { return false }
        let limit = request.resultsLimit == 0 ? Limits.matchesPerPage : request.resultsLimit
        let expected = rest.prefix(limit)
        guard page.matches.count == expected.count,
            zip(page.matches, expected).allSatisfy({ $0.zone.name == $1.zone && $0.record == $1.version.record }),
            page.cursor.isEmpty == (rest.count <= limit)
        else { return false }
        if let last = expected.last {
            place = Place(number: number(of: last.version), created: last.version.created)
        }
        shown += expected.map { Match(zone: $0.zone, name: $0.version.record.system.name, tag: $0.version.tag) }
        request.cursor = page.cursor
        pages += 1
        return true
    }

    /// Checks, after the last page, that a match that existed from the first page to the last one, and stayed as it
    /// was, was shown once.
    func problem(in states: ArraySlice<CommitHistory.State>) -> String? {
        if Set(shown).count < shown.count { return "I1: a query shows a record twice" }
        guard let first = states.first else { return nil }
        for (zone, content) in first.zones where isInZone(zone) {
            for (name, version) in content.records where matches(version) {
                let stayed = states.allSatisfy { $0.zones[zone]?.records[name] == version }
                if stayed, !shown.contains(Match(zone: zone, name: name, tag: version.tag)) {
                    return "I1: a query never shows \(name) of \(zone), which was there all the while"
                }
            }
        }
        return nil
    }

    /// Whether the server may say that the schema does not know what the query asks for: nothing was saved yet that
    /// would have taught it; or what taught it was lost with a restored backup, even while the query is being read.
    func mayBeUnknown(to timeline: CommitHistory.Timeline, since seen: UInt64) -> Bool {
        (pages == 0 || !timeline.isOfThisEra(start)) && timeline.wasTrue(since: seen, mayBeUnknown)
    }

    private func mayBeUnknown(in state: CommitHistory.State) -> Bool {
        var named = RandomPredicate.fields(of: predicate)
        for sort in request.query.sortDescriptors {
            if case .field(let name) = sort.key { named.insert(name) }
        }
        let versions = state.zones.values.flatMap(\.records.values).filter { $0.type == request.query.recordType }
        let hasText = versions.contains { $0.fields["c"] != nil || $0.fields["t"] != nil || $0.fields["l"] != nil }
        if RandomPredicate.searchesText(predicate), !hasText { return true }
        return versions.isEmpty || !named.allSatisfy { name in versions.contains { $0.fields[name] != nil } }
    }
}
