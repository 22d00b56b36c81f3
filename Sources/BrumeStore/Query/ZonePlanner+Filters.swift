/// The filters that a plan may use for the entries of the sort key's index.
extension ZonePlanner {
    /// The filters that may be gathered for the sort key's index, each with the entries that it costs: the path with
    /// the fewest records, and all that can be intersected.
    func filters(
        _ known: [(AccessPath, Double)], besides sortID: IndexID
    ) -> [(paths: [(AccessPath, Double)], entries: Double)] {
        let usable = known.filter { path, _ in
            path.access.isOfEntries && !path.access.ids.isEmpty && !path.access.ids.contains(sortID)
        }.sorted { $0.1 < $1.1 }
        guard let fewest = usable.first else { return [] }
        var filters = [([fewest], fewest.1)]
        let streams = usable.filter { if case .stream = $0.0.access { true } else { false } }.prefix(8)
        // The smallest leads; the others are asked for each of its records.
        if streams.count > 1 { filters.append((Array(streams), 5 * Double(streams.count) * streams[0].1)) }
        return filters
    }

    func filterSources(_ paths: [AccessPath], _ indexes: ZoneIndexes) -> [ZoneScan.Source] {
        if paths.count == 1 { return sources(paths[0].access, indexes, from: 0) }
        return [.streams(paths.compactMap { stream($0.access, indexes) }, next: 0)]
    }
}
