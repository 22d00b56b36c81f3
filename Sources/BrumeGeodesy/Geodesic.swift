internal import CLibm

/// The shortest way between two places over the WGS 84 ellipsoid.
///
/// Vincenty's inverse formula (T. Vincenty, "Direct and inverse solutions of geodesics on the ellipsoid", Survey Review
/// XXIII, 1975), good to a millimetre, for all pairs but those that are nearly antipodal, where it does not converge.
///
/// One formula for the server's queries and the SDK's `CLLocation.distance(from:)`, so that both agree.
package enum Geodesic {
    /// A place by its degrees.
    package struct Coordinate: Sendable {
        package var latitude: Double
        package var longitude: Double

        package init(latitude: Double, longitude: Double) {
            self.latitude = latitude
            self.longitude = longitude
        }
    }

    package static func isValid(_ coordinate: Coordinate) -> Bool {
        (-90...90).contains(coordinate.latitude) && (-180...180).contains(coordinate.longitude)
    }

    /// The point of the unit sphere at these degrees.
    package static func unitVector(_ coordinate: Coordinate) -> SIMD3<Double> {
        let latitude = coordinate.latitude * .pi / 180
        let longitude = coordinate.longitude * .pi / 180
        return [
            brume_cos(latitude) * brume_cos(longitude), brume_cos(latitude) * brume_sin(longitude), brume_sin(latitude),
        ]
    }

    /// The square of the chord of the unit sphere over which an arc has so many metres on a sphere of the Earth's mean
    /// radius.
    package static func squaredChord(metres: Double) -> Double {
        let half = min(max(metres, 0) / meanRadius / 2, .pi / 2)
        let chord = 2 * brume_sin(half)
        return chord * chord
    }

    static let meanRadius = 6_371_008.8

    /// Degrees of longitude that places within so many metres may be apart in it, or 180 near a pole.
    package static func longitudeSpan(latitude: Double, metres: Double) -> Double {
        let arc = metres / meanRadius
        let cosLatitude = brume_cos(latitude * .pi / 180)
        guard arc < .pi / 2, brume_sin(arc) < cosLatitude else { return 180 }
        return brume_asin(brume_sin(arc) / cosLatitude) * 180 / .pi
    }

    /// Metres that a degree along a meridian has at most: at the poles.
    package static let longestDegreeOfLatitude = 111_695.0

    /// Metres that a degree along a circle of latitude, or one farther from the equator, has at most.
    package static func longestDegreeOfLongitude(latitude: Double) -> Double {
        // The ellipsoid's circles are up to a third of a percent larger than the sphere's.
        111_320 * 1.0034 * max(0, brume_cos(latitude * .pi / 180))
    }

    private static let equatorialRadius = 6_378_137.0
    private static let flattening = 1 / 298.257223563
    private static let polarRadius = equatorialRadius * (1 - flattening)

    /// A point by its reduced latitude and its longitude, both in radians.
    private struct Point {
        var reducedLatitude: Double
        var longitude: Double
    }

    /// Metres; not a number when a coordinate is not valid.
    package static func distance(from start: Coordinate, to end: Coordinate) -> Double {
        guard isValid(start), isValid(end) else { return .nan }
        let first = point(start)
        let second = point(end)
        return vincenty(first, second) ?? nearlyAntipodal(first, second)
    }

    private static func point(_ coordinate: Coordinate) -> Point {
        let latitude = coordinate.latitude * .pi / 180
        let reduced = brume_atan2((1 - flattening) * brume_sin(latitude), brume_cos(latitude))
        return Point(reducedLatitude: reduced, longitude: coordinate.longitude * .pi / 180)
    }

    /// Nil where the iteration does not converge: near the antipode.
    private static func vincenty(_ first: Point, _ second: Point) -> Double? {
        let longitudeDifference = (second.longitude - first.longitude).remainder(dividingBy: 2 * .pi)
        let (sinU1, cosU1) = (brume_sin(first.reducedLatitude), brume_cos(first.reducedLatitude))
        let (sinU2, cosU2) = (brume_sin(second.reducedLatitude), brume_cos(second.reducedLatitude))
        var lambda = longitudeDifference
        // Converging pairs take a handful of rounds; those at the edge of the antipodal region some dozens.
        for _ in 0..<100 {
            let (sinLambda, cosLambda) = (brume_sin(lambda), brume_cos(lambda))
            let across = cosU2 * sinLambda
            let along = cosU1 * sinU2 - sinU1 * cosU2 * cosLambda
            let sinSigma = (across * across + along * along).squareRoot()
            let cosSigma = sinU1 * sinU2 + cosU1 * cosU2 * cosLambda
            if sinSigma == 0 {
                return cosSigma > 0 ? 0 : nil
            }
            let sigma = brume_atan2(sinSigma, cosSigma)
            let sinAlpha = cosU1 * cosU2 * sinLambda / sinSigma
            let cosSquaredAlpha = 1 - sinAlpha * sinAlpha
            // On the equator there is no midpoint to speak of, and the term has no weight.
            let cosTwiceMidpoint = cosSquaredAlpha > 1e-15 ? cosSigma - 2 * sinU1 * sinU2 / cosSquaredAlpha : 0
            let c = flattening / 16 * cosSquaredAlpha * (4 + flattening * (4 - 3 * cosSquaredAlpha))
            let previous = lambda
            let midpointTerm = cosTwiceMidpoint + c * cosSigma * (2 * cosTwiceMidpoint * cosTwiceMidpoint - 1)
            lambda = longitudeDifference + (1 - c) * flattening * sinAlpha * (sigma + c * sinSigma * midpointTerm)
            if abs(lambda) > .pi { return nil }
            guard abs(lambda - previous) < 1e-12 else { continue }
            return length(
                sigma: sigma, sinSigma: sinSigma, cosSigma: cosSigma, cosTwiceMidpoint: cosTwiceMidpoint,
                cosSquaredAlpha: cosSquaredAlpha)
        }
        return nil
    }

    private static func length(
        sigma: Double, sinSigma: Double, cosSigma: Double, cosTwiceMidpoint: Double, cosSquaredAlpha: Double
    ) -> Double {
        let ratio = equatorialRadius / polarRadius
        let uSquared = cosSquaredAlpha * (ratio * ratio - 1)
        let a = 1 + uSquared / 16384 * (4096 + uSquared * (-768 + uSquared * (320 - 175 * uSquared)))
        let b = uSquared / 1024 * (256 + uSquared * (-128 + uSquared * (74 - 47 * uSquared)))
        let squared = cosTwiceMidpoint * cosTwiceMidpoint
        let inner = cosSigma * (2 * squared - 1)
        let outer = b / 6 * cosTwiceMidpoint * (4 * sinSigma * sinSigma - 3) * (4 * squared - 3)
        let correction = b * sinSigma * (cosTwiceMidpoint + b / 4 * (inner - outer))
        return polarRadius * a * (sigma - correction)
    }

    /// The distance of nearly antipodal points, in two legs.
    ///
    /// The shortest way starts and ends more than a quarter turn apart, so it crosses the circle of points a quarter
    /// turn from its start. The sum of the two legs over a point of that circle is therefore smallest, and equal to the
    /// distance, where the way crosses it; and legs of a quarter turn are where Vincenty's formula is at ease. The sum
    /// has few minima over the circle, so a coarse scan finds the right one, and a golden-section search its bottom.
    private static func nearlyAntipodal(_ first: Point, _ second: Point) -> Double {
        func sumOfLegs(_ azimuth: Double) -> Double {
            let waypoint = quarterTurn(from: first, azimuth: azimuth)
            guard let leg = vincenty(first, waypoint), let rest = vincenty(waypoint, second) else { return .infinity }
            return leg + rest
        }
        let steps = 72
        let step = 2 * Double.pi / Double(steps)
        var best = 0.0
        var shortest = Double.infinity
        for index in 0..<steps {
            let azimuth = Double(index) * step
            let sum = sumOfLegs(azimuth)
            if sum < shortest { (best, shortest) = (azimuth, sum) }
        }
        let golden = (5.0.squareRoot() - 1) / 2
        var (low, high) = (best - step, best + step)
        // The sum is flat at its bottom: 40 rounds bring the azimuth within 1e-9 and the sum far below a millimetre.
        for _ in 0..<40 {
            let (left, right) = (high - golden * (high - low), low + golden * (high - low))
            if sumOfLegs(left) < sumOfLegs(right) { high = right } else { low = left }
        }
        return min(shortest, sumOfLegs((low + high) / 2))
    }

    /// The point a quarter turn from the start on the sphere of reduced latitudes.
    private static func quarterTurn(from start: Point, azimuth: Double) -> Point {
        let sinLatitude = brume_cos(start.reducedLatitude) * brume_cos(azimuth)
        let longitude = brume_atan2(brume_sin(azimuth), -brume_sin(start.reducedLatitude) * brume_cos(azimuth))
        return Point(
            reducedLatitude: brume_asin(max(-1, min(1, sinLatitude))), longitude: start.longitude + longitude)
    }
}
