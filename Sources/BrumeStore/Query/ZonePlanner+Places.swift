internal import BrumeGeodesy
internal import BrumeModel

/// Plans of queries that sort by a distance.
extension ZonePlanner {
    /// The index of the places by whose distance a query sorts.
    var distanceID: IndexID? {
        guard let sort = query.sortDescriptors.first, sort.relativeTo != nil else { return nil }
        return IndexID(recordType: query.recordType, kind: .places(sort.key))
    }

    /// Circles around the place that the query sorts by the distance from. The first reaches at least to the cursor,
    /// and has about as many records as are wanted.
    func rings(_ indexes: ZoneIndexes, _ all: FieldIndex, _ wanted: Double) -> RingReader? {
        guard let distanceID, let index = indexes.index(distanceID), let sort = query.sortDescriptors.first,
            sort.isAscending, let place = sort.relativeTo
        else { return nil }
        let centre = Geodesic.Coordinate(latitude: place.latitude, longitude: place.longitude)
        var metres = 500.0
        if case .double(let last) = after?.values.first { metres = max(metres, last) }
        while true {
            guard let ranges = RingReader.ranges(centre, metres) else { return nil }
            if Double(ranges.reduce(0) { $0 + index.tree.estimate($1) }) >= 2 * wanted {
                return RingReader(index, all: all, centre: centre, metres: metres)
            }
            metres *= 2
        }
    }

    func far(_ indexes: ZoneIndexes, _ all: FieldIndex) -> FarReader? {
        guard let distanceID, let index = indexes.index(distanceID), let sort = query.sortDescriptors.first,
            !sort.isAscending, let place = sort.relativeTo
        else { return nil }
        var last: Double?
        switch after?.values.first {
        case .double(let metres): last = metres
        // All records with a place were given before.
        case .missing: last = 0
        default: break
        }
        return FarReader(
            index, all: all, centre: Geodesic.Coordinate(latitude: place.latitude, longitude: place.longitude),
            behind: last)
    }
}
