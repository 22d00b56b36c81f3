import BrumeGeodesy

/// The engine's own formula: tests of circles compare with it, and tests of it with published figures.
enum Distance {
    static func metres(_ latitude: Double, _ longitude: Double, _ toLatitude: Double, _ toLongitude: Double) -> Double {
        Geodesic.distance(
            from: .init(latitude: latitude, longitude: longitude),
            to: .init(latitude: toLatitude, longitude: toLongitude))
    }
}
