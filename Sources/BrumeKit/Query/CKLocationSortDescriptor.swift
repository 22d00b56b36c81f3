public import Foundation

/// Sorts a query's records by how far a field's place is from another: the nearest first.
public final class CKLocationSortDescriptor: NSSortDescriptor {
    let name: String

    /// The place that distances are measured from.
    public let relativeLocation: CLLocation

    /// Sorts by the distance between the place in the field `key` and `relativeLocation`.
    public convenience init(key: String, relativeLocation: CLLocation) {
        self.init(name: key, relativeLocation: relativeLocation, ascending: true)
    }

    init(name: String, relativeLocation: CLLocation, ascending: Bool) {
        self.name = name
        self.relativeLocation = relativeLocation
        super.init(keyPath: \NSObject.hash, ascending: ascending, comparator: { _, _ in .orderedSame })
    }

    /// The farthest first.
    public override var reversedSortDescriptor: Any {
        CKLocationSortDescriptor(name: name, relativeLocation: relativeLocation, ascending: !ascending)
    }

    /// Key, place and direction.
    public override var description: String {
        "(\(name) from \(relativeLocation), \(ascending ? "ascending" : "descending"))"
    }

    /// Whether both sort alike.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKLocationSortDescriptor else { return false }
        return name == other.name && ascending == other.ascending && relativeLocation.isEqual(other.relativeLocation)
    }

    /// Equal for equal descriptors.
    public override var hash: Int { name.hashValue }

    /// The receiver itself, which can't change.
    public override func copy(with zone: NSZone? = nil) -> Any { self }
}

extension CLLocationCoordinate2D {
    /// Why no distance can be measured from here, or nil. NaN is in no range.
    var problem: String? {
        (-90...90).contains(latitude) && (-180...180).contains(longitude)
            ? nil : "has a place outside of -90 to 90 degrees of latitude and -180 to 180 of longitude; give it degrees"
    }
}
