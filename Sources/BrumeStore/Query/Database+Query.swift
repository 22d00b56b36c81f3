package import BrumeModel

extension Database {
    /// Begins a query for one page of records; the run's steps do the work.
    ///
    /// - Parameters:
    ///   - zone: The zone to read, or nil for all zones of the database, which the owner alone may read.
    ///   - after: Where the page before ended, for the same query.
    ///   - resultsLimit: At most ``Limits/matchesPerPageMax``; 0 for the server's own page size.
    ///   - caller: The user who asks; nil for the owner.
    /// - Throws: `zoneNotFound`, and `invalidArguments` for a cursor of another query and where the zone is missing.
    package func startQuery(
        _ query: Query, zone: ZoneID?, after: QueryCursor? = nil, resultsLimit: Int = 0,
        desiredKeys: DesiredKeys? = nil,
        searchableFields: SearchableFields = .all, caller: Caller? = nil
    ) throws(ServiceError) -> QueryRun {
        if let after, after.values.count != query.sortDescriptors.count {
            throw ServiceError(
                .invalidArguments, "the cursor belongs to another query; start this one without a cursor")
        }
        let caller = caller ?? ownCaller
        if let zone {
            _ = try zoneIndex(of: zone, for: caller).get()
        } else if !isOwn(caller) {
            throw ServiceError(.invalidArguments, "a query of another user's zones needs a zone; send one for each")
        }
        return QueryRun(
            self, query: query, zone: zone, after: after, resultsLimit: resultsLimit, desiredKeys: desiredKeys,
            searchableFields: searchableFields, caller: caller)
    }
}
