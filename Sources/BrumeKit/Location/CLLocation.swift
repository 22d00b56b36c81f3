internal import BrumeGeodesy
internal import BrumeModel
public import Foundation

/// A place on Earth with the time and the precision of its measurement, as Core Location has it.
///
/// Immutable, so it may be passed between threads.
///
/// Differs from Core Location: equality compares all values. Accuracies of course and speed, the floor and the source
/// are absent.
public final class CLLocation: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// Latitude and longitude.
    public let coordinate: CLLocationCoordinate2D

    /// Metres above sea level.
    public let altitude: CLLocationDistance

    /// The radius of uncertainty of ``coordinate`` in metres; negative when the coordinate is not valid.
    public let horizontalAccuracy: CLLocationAccuracy

    /// The uncertainty of ``altitude`` in metres; negative when the altitude is not valid.
    public let verticalAccuracy: CLLocationAccuracy

    /// The direction of travel in degrees clockwise from true north; negative when not valid.
    public let course: CLLocationDirection

    /// Metres a second; negative when not valid.
    public let speed: CLLocationSpeed

    /// When the place was measured.
    public let timestamp: Date

    /// A place with all that is known about it.
    public init(
        coordinate: CLLocationCoordinate2D, altitude: CLLocationDistance, horizontalAccuracy: CLLocationAccuracy,
        verticalAccuracy: CLLocationAccuracy, course: CLLocationDirection, speed: CLLocationSpeed, timestamp: Date
    ) {
        self.coordinate = coordinate
        self.altitude = altitude
        self.horizontalAccuracy = horizontalAccuracy
        self.verticalAccuracy = verticalAccuracy
        self.course = course
        self.speed = speed
        self.timestamp = timestamp
    }

    /// A place without course and speed.
    public convenience init(
        coordinate: CLLocationCoordinate2D, altitude: CLLocationDistance, horizontalAccuracy: CLLocationAccuracy,
        verticalAccuracy: CLLocationAccuracy, timestamp: Date
    ) {
        self.init(
            coordinate: coordinate, altitude: altitude, horizontalAccuracy: horizontalAccuracy,
            verticalAccuracy: verticalAccuracy, course: -1, speed: -1, timestamp: timestamp)
    }

    /// A place by its degrees, measured now, without a valid altitude.
    public convenience init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) {
        self.init(
            coordinate: CLLocationCoordinate2D(latitude: latitude, longitude: longitude), altitude: 0,
            horizontalAccuracy: 0, verticalAccuracy: -1, timestamp: Date())
    }

    /// The shortest way to another place over the WGS 84 ellipsoid in metres, altitudes aside, exact to the metre.
    public func distance(from location: CLLocation) -> CLLocationDistance {
        Geodesic.distance(
            from: .init(latitude: coordinate.latitude, longitude: coordinate.longitude),
            to: .init(latitude: location.coordinate.latitude, longitude: location.coordinate.longitude))
    }

    /// Whether all values of both are equal.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CLLocation else { return false }
        return self === other || modelLocation == other.modelLocation
    }

    /// Equal for equal locations.
    public override var hash: Int { modelLocation.hashValue }

    /// Coordinate, accuracy and time.
    public override var description: String {
        "<\(coordinate.latitude),\(coordinate.longitude)> +/- \(horizontalAccuracy)m (speed \(speed) mps / "
            + "course \(course)) @ \(timestamp)"
    }

    /// The receiver itself, which can't change.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// Archives are read under secure coding.
    public static var supportsSecureCoding: Bool { true }

    /// Writes all values into a keyed archive.
    public func encode(with coder: NSCoder) {
        coder.requireKeyedCoding(for: CLLocation.self)
        coder.encode(coordinate.latitude, forKey: "Latitude")
        coder.encode(coordinate.longitude, forKey: "Longitude")
        coder.encode(altitude, forKey: "Altitude")
        coder.encode(horizontalAccuracy, forKey: "HorizontalAccuracy")
        coder.encode(verticalAccuracy, forKey: "VerticalAccuracy")
        coder.encode(course, forKey: "Course")
        coder.encode(speed, forKey: "Speed")
        coder.encode(timestamp.timeIntervalSinceReferenceDate, forKey: "Timestamp")
    }

    /// Reads an archived place; nil when the archive holds none.
    public convenience init?(coder: NSCoder) {
        coder.requireKeyedCoding(for: CLLocation.self)
        let keys = [
            "Latitude", "Longitude", "Altitude", "HorizontalAccuracy", "VerticalAccuracy", "Course", "Speed",
            "Timestamp",
        ]
        guard keys.allSatisfy(coder.containsValue(forKey:)) else { return nil }
        self.init(
            coordinate: CLLocationCoordinate2D(
                latitude: coder.decodeDouble(forKey: "Latitude"), longitude: coder.decodeDouble(forKey: "Longitude")),
            altitude: coder.decodeDouble(forKey: "Altitude"),
            horizontalAccuracy: coder.decodeDouble(forKey: "HorizontalAccuracy"),
            verticalAccuracy: coder.decodeDouble(forKey: "VerticalAccuracy"),
            course: coder.decodeDouble(forKey: "Course"), speed: coder.decodeDouble(forKey: "Speed"),
            timestamp: Date(timeIntervalSinceReferenceDate: coder.decodeDouble(forKey: "Timestamp")))
    }
}

extension CLLocation {
    /// The place as a field's value.
    var modelLocation: Location {
        Location(
            latitude: coordinate.latitude, longitude: coordinate.longitude, altitude: altitude,
            horizontalAccuracy: horizontalAccuracy, verticalAccuracy: verticalAccuracy, course: course, speed: speed,
            timestamp: timestamp.timeIntervalSinceReferenceDate)
    }

    /// The place of a field's value.
    convenience init(_ location: Location) {
        self.init(
            coordinate: CLLocationCoordinate2D(latitude: location.latitude, longitude: location.longitude),
            altitude: location.altitude, horizontalAccuracy: location.horizontalAccuracy,
            verticalAccuracy: location.verticalAccuracy, course: location.course, speed: location.speed,
            timestamp: Date(timeIntervalSinceReferenceDate: location.timestamp))
    }
}
