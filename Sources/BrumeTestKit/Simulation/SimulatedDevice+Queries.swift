internal import BrumeKit
internal import BrumeModel
internal import BrumeProtocol
internal import BrumeRandom

/// Queries, page by page, and how each page is checked against the commits.
extension SimulatedDevice {
    /// Asks for the next page of the query that the device reads, or for the first of another one.
    func query() {
        let query: PagedQuery
        if let reading, !generator.oneIn(8) {
            query = reading
        } else {
            let isPublic = generator.oneIn(4)
            query = PagedQuery(
                randomQuery(isPublic: isPublic),
                start: simulation.history.sight(of: isPublic ? simulation.publicDatabase : database))
            reading = query
        }
        let id = query.request.database == .public ? simulation.publicDatabase : database
        simulation.say("device \(number) asks for page \(query.pages) of \(query.request.query)")
        let sight = simulation.history.sight(of: id)
        call(.recordsQuery, coder.encodeQueryRequest(query.request), .none) { [self] result in
            switch result {
            case .failure(let error):
                if error.code == .zoneNotFound { reading = nil }
                checkRefusal(error, of: query, seen: simulation.history[id].start(of: sight), in: id)
            case .success(let bytes):
                let decoded = bytes.withUnsafeBytes { buffer in
                    Result { () throws(ServiceError) in try coder.decodeQueryResponse(buffer) }
                }
                guard case .success(let page) = decoded else { return simulation.violated("an answer can't be read") }
                simulation.wasAnswered()
                received(tampered(page, of: query), of: query, sight: sight, in: id)
            }
        }
    }

    private func randomQuery(isPublic: Bool) -> QueryRequest {
        var request = QueryRequest(
            database: isPublic ? .public : .private, zone: nil,
            query: Query(recordType: "Note", predicate: .constant(true)))
        // Now and then the plainest one.
        if generator.oneIn(4) { return request }
        request.query.predicate = RandomPredicate.make(&generator)
        if generator.oneIn(2) {
            request.query.sortDescriptors = [QuerySort(key: .field("w"), isAscending: Bool.random(using: &generator))]
        }
        if !isPublic, generator.oneIn(2) {
            request.zone = ZoneID(name: generator.pick(zoneNames + [Names.defaultZone]))
        }
        request.resultsLimit = generator.oneIn(4) ? 0 : Int.random(in: 1...4, using: &generator)
        return request
    }

    private func received(
        _ page: QueryPage<Record>, of query: PagedQuery, sight: CommitHistory.Sight, in id: DatabaseID
    ) {
        let timeline = simulation.history[id]
        let seen = timeline.start(of: sight)
        simulation.report.queryPages += 1
        var query = query
        let isTrue = timeline.wasTrue(since: seen) { query.take(page, in: $0) }
        guard isTrue else {
            if let stranger = page.matches.first(where: { !timeline.heldOnce($0.record) }) {
                return simulation.violated(
                    "I7: a query shows a version of \(stranger.record.system.name) that its database never had")
            }
            return simulation.violated(
                "I1: page \(query.pages) of a query shows what no commit since \(seen) left: \(query.request.query)")
        }
        for match in page.matches { saw(match.record.system.changeTag, of: id) }
        // Another call for this page may have been faster.
        guard let reading, reading.pages == query.pages - 1, reading.request.query == query.request.query else {
            return
        }
        if !page.cursor.isEmpty { return self.reading = query }
        self.reading = nil
        simulation.report.queriesFinished += 1
        guard timeline.isOfThisEra(query.start) else { return }
        let first = Int(min(timeline.start(of: query.start), timeline.last))
        if let problem = query.problem(in: timeline.states[first...]) { simulation.violated(problem) }
    }

    private func checkRefusal(_ error: ServiceError, of query: PagedQuery, seen: UInt64, in id: DatabaseID) {
        let timeline = simulation.history[id]
        switch error.code {
        case .zoneNotFound:
            if let zone = query.request.zone, timeline.wasTrue(since: seen, { $0.zones[zone.name] == nil }) { return }
            simulation.violated("I3: a query's zone is there, and it is not: \(error.message)")
        case .unknownItem, .invalidArguments:
            if query.mayBeUnknown(to: timeline, since: seen) { return reading = nil }
            simulation.violated("I1: a query is refused: \(error.message)")
        default: break
        }
    }

    /// Changes a page to break a promise on purpose.
    private func tampered(_ page: QueryPage<Record>, of query: PagedQuery) -> QueryPage<Record> {
        var page = page
        switch simulation.options.brokenPromise {
        case .losesMatches:
            if generator.oneIn(2), !page.matches.isEmpty { page.matches.removeFirst() }
        case .repeatsMatches:
            if query.pages > 0, let lastMatch { page.matches.insert(lastMatch, at: 0) }
            lastMatch = page.matches.last
        case .showsOthersMatches:
            if query.request.database == .public { break }
            let others = simulation.lastPage
            simulation.lastPage = (account, page)
            // A page without matches would be wrong, but it would show nobody's data.
            if let others, others.account != account, !others.page.matches.isEmpty { page = others.page }
        case .queriesThePast:
            guard query.pages == 0, query.request.query.predicate == .constant(true), query.request.zone == nil else {
                break
            }
            let former = firstPages.updateValue(page, forKey: query.request)
            page = former ?? page
        default: break
        }
        return page
    }
}

extension CommitHistory.Timeline {
    /// Whether the record existed in this form after some commit.
    fileprivate func heldOnce(_ record: Record) -> Bool {
        states.contains { state in
            state.zones.values.contains { $0.records[record.system.name]?.record == record }
        }
    }
}
