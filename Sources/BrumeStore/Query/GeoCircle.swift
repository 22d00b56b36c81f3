internal import BrumeGeodesy

/// All places nearer to a centre than so many metres.
///
/// Distances are geodesics of WGS 84 (``Geodesic``), exact to the millimetre. Because the shortest ways on the
/// ellipsoid and on a sphere differ by less than 0.6 per cent, most places are told apart by the chord of the sphere,
/// and only those within one per cent of the edge need the whole formula.
struct GeoCircle {
    let centre: Geodesic.Coordinate
    let metres: Double
    let isInclusive: Bool
    private let vector: SIMD3<Double>
    private let surelyInside: Double
    private let surelyOutside: Double

    init(centre: Geodesic.Coordinate, metres: Double, isInclusive: Bool) {
        self.centre = centre
        self.metres = metres
        self.isInclusive = isInclusive
        vector = Geodesic.unitVector(centre)
        surelyInside = Geodesic.squaredChord(metres: metres * 0.99)
        // Beyond half the Earth's girth the chord tells nothing.
        surelyOutside = metres * 1.01 < 20_000_000 ? Geodesic.squaredChord(metres: metres * 1.01) : .infinity
    }

    func contains(_ place: Geodesic.Coordinate) -> Bool {
        guard Geodesic.isValid(place), Geodesic.isValid(centre), metres >= 0 else { return false }
        let difference = Geodesic.unitVector(place) - vector
        let chord = (difference * difference).sum()
        // Below a squared chord of 1e-14, some 0.6 m on Earth, rounding takes too many of its digits.
        if chord > 1e-14 {
            if chord < surelyInside, metres < 20_000_000 { return true }
            if chord > surelyOutside { return false }
        }
        let distance = Geodesic.distance(from: place, to: centre)
        return isInclusive ? distance <= metres : distance < metres
    }
}
