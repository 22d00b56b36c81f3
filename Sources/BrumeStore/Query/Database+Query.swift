package import BrumeModel

extension Database {
    /// Begins a query for one page of records; the run's steps do the work.
    ///
    /// - Parameters:
    ///   - zone: The zone to read, or nil for all zones of the database.
    ///   - after: Where the page before ended, for the same query.
    ///   - resultsLimit: At most ``Limits/matchesPerPageMax``; 0 for the server's own page size.
    /// - Throws: `zoneNotFound`, and `invalidArguments` for a cursor of another query.
    package func startQuery(
        _ query: Query, zone: ZoneID?, after: QueryCursor? = nil, resultsLimit: Int = 0,
        desiredKeys: DesiredKeys? = nil,
        searchableFields: SearchableFields = .all
    ) throws(ServiceError) -> QueryRun {
        if let after, after.values.count != query.sortDescriptors.count {
            throw ServiceError(
                .invalidArguments, "the cursor belongs to another query; start this one without a cursor")
        }
        if let zone { _ = try zoneIndex(of: zone).get() }
        return QueryRun(
            self, query: query, zone: zone, after: after, resultsLimit: resultsLimit, desiredKeys: desiredKeys,
            searchableFields: searchableFields)
    }
}
