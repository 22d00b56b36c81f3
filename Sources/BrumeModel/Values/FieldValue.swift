/// A field's value. Dates are seconds since 2001-01-01T00:00:00Z, as Foundation's `Date` holds them, so none loses a
/// bit.
package enum FieldValue: Hashable, Sendable {
    case string(String)
    case int64(Int64)
    case double(Double)
    case bytes([UInt8])
    case date(Double)
    case location(Location)
    case reference(Reference)
    case strings([String])
    case int64s([Int64])
    case doubles([Double])
    case bytesList([[UInt8]])
    case dates([Double])
    case locations([Location])
    case references([Reference])
    /// A list without elements has no element type.
    case emptyList
    case asset(Asset)
    case assets([Asset])
    /// Encrypted by a device; a list is one such value.
    case encrypted(EncryptedValue)
}

/// A place on Earth: `CLLocation` as a value. Degrees and metres; the timestamp counts seconds since 2001.
package struct Location: Hashable, Sendable {
    package var latitude: Double
    package var longitude: Double
    package var altitude: Double
    package var horizontalAccuracy: Double
    package var verticalAccuracy: Double
    package var course: Double
    package var speed: Double
    package var timestamp: Double

    package init(
        latitude: Double, longitude: Double, altitude: Double = 0, horizontalAccuracy: Double = 0,
        verticalAccuracy: Double = -1, course: Double = -1, speed: Double = -1, timestamp: Double = 0
    ) {
        self.latitude = latitude
        self.longitude = longitude
        self.altitude = altitude
        self.horizontalAccuracy = horizontalAccuracy
        self.verticalAccuracy = verticalAccuracy
        self.course = course
        self.speed = speed
        self.timestamp = timestamp
    }
}

/// A pointer to a record of the same zone, which need not exist (Documentation/CloudKit.md, References).
package struct Reference: Hashable, Sendable {
    package var recordName: String
    /// Whether the record that holds the reference is deleted with its target.
    package var deletesSelf: Bool

    package init(recordName: String, deletesSelf: Bool) {
        self.recordName = recordName
        self.deletesSelf = deletesSelf
    }
}
