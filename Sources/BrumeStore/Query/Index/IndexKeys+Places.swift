internal import BrumeGeodesy

/// Keys of places: cells of a grid.
extension IndexKeys {
    static let cellBits = 26

    /// The cell of a grid over latitude and longitude, numbered so that the cells of a larger one follow each other
    /// (Morton's order); nil for what is no place.
    static func place(_ coordinate: Geodesic.Coordinate) -> Key? {
        guard Geodesic.isValid(coordinate) else { return nil }
        return interleave(column(coordinate.longitude), row(coordinate.latitude))
    }

    private static func column(_ longitude: Double) -> Int { cell((longitude + 180) / 360) }
    private static func row(_ latitude: Double) -> Int { cell((latitude + 90) / 180) }

    private static func cell(_ fraction: Double) -> Int {
        let cells = 1 << cellBits
        return max(0, min(cells - 1, Int(fraction * Double(cells))))
    }

    private static func interleave(_ column: Int, _ row: Int) -> Key {
        var key: Key = 0
        for bit in (0..<cellBits).reversed() {
            key = key << 2 | Key(row >> bit & 1) << 1 | Key(column >> bit & 1)
        }
        return key
    }

    /// Ranges of cells that together cover a circle, or nil for one so large that all records are as good.
    static func ranges(covering circle: GeoCircle) -> [ClosedRange<Key>]? {
        guard Geodesic.isValid(circle.centre), circle.metres >= 0, circle.metres < 5_000_000 else { return nil }
        // The sphere's degrees are within one per cent of the ellipsoid's.
        let metres = circle.metres * 1.01 + 1
        let height = metres / 110_574
        let (south, north) = (circle.centre.latitude - height, circle.centre.latitude + height)
        var width = Geodesic.longitudeSpan(latitude: circle.centre.latitude, metres: metres)
        if south <= -90 || north >= 90 { width = 180 }
        var spans: [ClosedRange<Double>] = []
        let (west, east) = (circle.centre.longitude - width, circle.centre.longitude + width)
        if width >= 180 {
            spans = [-180...180]
        } else {
            spans.append(max(west, -180)...min(east, 180))
            if west < -180 { spans.append(west + 360...180) }
            if east > 180 { spans.append(-180...east - 360) }
        }
        let rows = row(south)...row(north)
        let columns = spans.map { column($0.lowerBound)...column($0.upperBound) }
        for shift in 0...cellBits {
            let height = (rows.upperBound >> shift) - (rows.lowerBound >> shift) + 1
            let width = columns.reduce(0) { $0 + ($1.upperBound >> shift) - ($1.lowerBound >> shift) + 1 }
            if height * width > 32 { continue }
            var keys = Set<Key>()
            for row in rows.lowerBound >> shift...rows.upperBound >> shift {
                for span in columns {
                    for column in span.lowerBound >> shift...span.upperBound >> shift {
                        keys.insert(interleave(column, row))
                    }
                }
            }
            return merged(keys.sorted().map { $0 << (2 * shift)...$0 << (2 * shift) | (1 << (2 * shift) - 1) })
        }
        return nil
    }

    private static func merged(_ ranges: [ClosedRange<Key>]) -> [ClosedRange<Key>] {
        var merged: [ClosedRange<Key>] = []
        for range in ranges {
            if let last = merged.last, last.upperBound + 1 == range.lowerBound {
                merged[merged.count - 1] = last.lowerBound...range.upperBound
            } else {
                merged.append(range)
            }
        }
        return merged
    }

    // MARK: Squares

    /// The keys of the cells in a square whose sides are halved so often from the whole Earth.
    static func square(_ number: Key, halvings: Int) -> ClosedRange<Key> {
        let shift = 2 * Key(cellBits - halvings)
        return number << shift...number << shift | (1 << shift - 1)
    }

    /// A circle that covers a square: its middle, and a radius in metres that reaches all of it.
    static func circle(around number: Key, halvings: Int) -> (middle: Geodesic.Coordinate, metres: Double) {
        var (column, row) = (0, 0)
        for bit in 0..<halvings {
            column |= Int(truncatingIfNeeded: number >> Key(2 * bit) & 1) << bit
            row |= Int(truncatingIfNeeded: number >> Key(2 * bit + 1) & 1) << bit
        }
        let squares = Double(1 << halvings)
        let (width, height) = (360 / squares, 180 / squares)
        let middle = Geodesic.Coordinate(
            latitude: (Double(row) + 0.5) * height - 90, longitude: (Double(column) + 0.5) * width - 180)
        // Along a meridian, then along the circle of latitude, which is longest where it is nearest to the equator.
        let nearest = max(0, abs(middle.latitude) - height / 2)
        let degree = Geodesic.longestDegreeOfLongitude(latitude: nearest)
        return (middle, height / 2 * Geodesic.longestDegreeOfLatitude + width / 2 * degree + 1)
    }
}
