internal import BrumeModel
public import Foundation

/// `NSSortDescriptor(key:ascending:)`: a key that a query's records are sorted by. Only `NSSortDescriptor` conforms.
///
/// Descriptors go into keyed archives, with secure coding; read one as `NSSortDescriptor`, or as
/// `CKLocationSortDescriptor`.
///
/// Differs from Foundation: a descriptor with a key sorts no arrays. Descriptors of key paths work in queries too, for
/// the properties that each `CKRecord` has and for types that are ``CKQueryableFields``; comparators are not looked at.
public protocol NSSortDescriptorFactory {}

extension NSSortDescriptor: NSSortDescriptorFactory {}

extension NSSortDescriptorFactory {
    /// Sorts by a field, or by one of ``CKRecord/SystemFieldKey``.
    public init(key: String?, ascending: Bool) {
        guard let descriptor = KeySortDescriptor(named: key, ascending: ascending) as? Self else {
            preconditionFailure("\(Self.self)(key:ascending:) is not there; use NSSortDescriptor(key:ascending:)")
        }
        self = descriptor
    }

    /// Sorts by a property that each record has, as ``CKRecord/SystemFieldKey`` lists them. Other properties trap; name
    /// fields by their keys.
    public init<Value>(keyPath: KeyPath<CKRecord, Value>, ascending: Bool) {
        self.init(property: keyPath, ascending: ascending)
    }

    /// Sorts by the field that a property stands for. A property that stands for none traps.
    public init<Root: CKQueryableFields, Value>(keyPath: KeyPath<Root, Value>, ascending: Bool) {
        self.init(property: keyPath, ascending: ascending)
    }

    private init(property: AnyKeyPath, ascending: Bool) {
        guard let key = NSSortDescriptor.fieldKey(of: property) else {
            preconditionFailure("NSSortDescriptor: \(property) stands for no field; name a field with key:")
        }
        self.init(key: key, ascending: ascending)
    }
}

extension NSSortDescriptorFactory {
    /// The field's key; nil for what a query can't sort by.
    ///
    /// In the protocol, since the class has an unavailable `key` of its own: with two of them in it, the compiler can't
    /// read the subclasses from another module when it optimises.
    public var key: String? {
        switch self {
        case let descriptor as KeySortDescriptor: descriptor.name
        case let descriptor as CKLocationSortDescriptor: descriptor.name
        case let descriptor as NSSortDescriptor: NSSortDescriptor.fieldKey(of: descriptor.keyPath)
        default: nil
        }
    }
}

extension NSSortDescriptor {
    /// The field that a property stands for, or nil.
    fileprivate static func fieldKey(of path: AnyKeyPath) -> String? {
        switch path {
        case \CKRecord.creationDate: CKRecord.SystemFieldKey.creationDate
        case \CKRecord.modificationDate: CKRecord.SystemFieldKey.modificationDate
        case \CKRecord.recordID: CKRecord.SystemFieldKey.recordID
        case \CKRecord.creatorUserRecordID: CKRecord.SystemFieldKey.creatorUserRecordID
        case \CKRecord.lastModifiedUserRecordID: CKRecord.SystemFieldKey.lastModifiedUserRecordID
        case \CKRecord.parent: CKRecord.SystemFieldKey.parent
        default: (type(of: path).rootType as? any CKQueryableFields.Type).flatMap { fieldKey($0, path) }
        }
    }

    private static func fieldKey<Root: CKQueryableFields>(_ root: Root.Type, _ path: AnyKeyPath) -> String? {
        (path as? PartialKeyPath<Root>).flatMap(Root.fieldKey)
    }

    /// What a request carries. Throws `invalidArguments` for what a server can't sort by.
    func querySort() throws(ServiceError) -> QuerySort {
        guard let key else {
            throw ServiceError(
                .invalidArguments,
                "a sort descriptor has no key, or a property that stands for no field; name the field to sort by")
        }
        var sort = QuerySort(key: try QueryKey(checking: key, "a sort descriptor"), isAscending: ascending)
        guard let descriptor = self as? CKLocationSortDescriptor else { return sort }
        guard case .field = sort.key else {
            throw ServiceError(
                .invalidArguments, "\"\(sort.key.name)\" holds no place; sort by the distance of a field of locations")
        }
        let coordinate = descriptor.relativeLocation.coordinate
        if let problem = coordinate.problem { throw ServiceError(.invalidArguments, "a sort descriptor \(problem)") }
        sort.relativeTo = QuerySort.Place(latitude: coordinate.latitude, longitude: coordinate.longitude)
        return sort
    }
}

/// A descriptor with a key, which Foundation on Linux has none of. Its key path and comparator are never used.
final class KeySortDescriptor: NSSortDescriptor {
    let name: String?

    init(named name: String?, ascending: Bool) {
        self.name = name
        super.init(keyPath: \NSObject.hash, ascending: ascending, comparator: { _, _ in .orderedSame })
    }

    override var reversedSortDescriptor: Any { KeySortDescriptor(named: name, ascending: !ascending) }

    override var description: String { "(\(name ?? "self"), \(ascending ? "ascending" : "descending"))" }

    override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? KeySortDescriptor else { return false }
        return name == other.name && ascending == other.ascending
    }

    override var hash: Int { name.hashValue }

    /// An archive on Linux is read by the exact name of a class, and this one's is nobody's business.
    override var classForCoder: AnyClass { NSSortDescriptor.self }

    override func copy(with zone: NSZone? = nil) -> Any { self }
}
