/// Degrees: of latitude from -90 to 90, of longitude from -180 to 180.
public typealias CLLocationDegrees = Double
/// Metres.
public typealias CLLocationDistance = Double
/// Metres of uncertainty; negative when the value is not valid.
public typealias CLLocationAccuracy = Double
/// Degrees clockwise from true north; negative when not valid.
public typealias CLLocationDirection = Double
/// Degrees of uncertainty of a direction; negative when not valid.
public typealias CLLocationDirectionAccuracy = Double
/// Metres a second; negative when not valid.
public typealias CLLocationSpeed = Double
/// Metres a second of uncertainty of a speed; negative when not valid.
public typealias CLLocationSpeedAccuracy = Double

/// A place on the Earth's surface, in the WGS 84 datum.
public struct CLLocationCoordinate2D: Sendable {
    /// Degrees north of the equator; negative in the south.
    public var latitude: CLLocationDegrees

    /// Degrees east of the prime meridian; negative in the west.
    public var longitude: CLLocationDegrees

    /// Latitude and longitude 0.
    public init() {
        self.init(latitude: 0, longitude: 0)
    }

    /// A place by its degrees, which are not checked; see ``CLLocationCoordinate2DIsValid(_:)``.
    public init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) {
        self.latitude = latitude
        self.longitude = longitude
    }
}

/// A coordinate that is none.
public let kCLLocationCoordinate2DInvalid = CLLocationCoordinate2D(latitude: -180, longitude: -180)

/// Whether both degrees are in their ranges.
public func CLLocationCoordinate2DIsValid(_ coordinate: CLLocationCoordinate2D) -> Bool {
    (-90...90).contains(coordinate.latitude) && (-180...180).contains(coordinate.longitude)
}

/// A place by its degrees.
public func CLLocationCoordinate2DMake(
    _ latitude: CLLocationDegrees, _ longitude: CLLocationDegrees
) -> CLLocationCoordinate2D {
    CLLocationCoordinate2D(latitude: latitude, longitude: longitude)
}
