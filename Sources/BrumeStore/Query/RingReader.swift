internal import BrumeGeodesy

/// Reads the records around a place in circles, each of which is larger than the one before and contains it.
///
/// The area of a circle is four times that of the one before, so reading it anew costs a third more in all.
struct RingReader {
    /// The index of places.
    let index: FieldIndex
    /// The index of all records, for when no circle is large enough.
    let all: FieldIndex
    let centre: Geodesic.Coordinate
    /// All places up to this distance are read when the reader is at its end.
    private(set) var metres: Double
    var reader: RangeReader

    /// Returns nil when the centre is not a place, and when the circle is so large that all records are as good.
    init?(_ index: FieldIndex, all: FieldIndex, centre: Geodesic.Coordinate, metres: Double) {
        guard let ranges = RingReader.ranges(centre, metres) else { return nil }
        self.index = index
        self.all = all
        self.centre = centre
        self.metres = metres
        reader = RangeReader(index, ranges, isFalling: false)
    }

    /// Begins the next circle. Returns false when there is none.
    mutating func widen() -> Bool {
        guard let ranges = RingReader.ranges(centre, 2 * metres) else { return false }
        metres *= 2
        reader = RangeReader(index, ranges, isFalling: false)
        return true
    }

    static func ranges(_ centre: Geodesic.Coordinate, _ metres: Double) -> [ClosedRange<PostingTree.Key>]? {
        IndexKeys.ranges(covering: GeoCircle(centre: centre, metres: metres, isInclusive: true))
    }
}
