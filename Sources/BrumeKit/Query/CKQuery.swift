internal import BrumeLock
public import Foundation

/// Which records of a type are wanted, and in which order.
///
/// May be used from several threads.
public final class CKQuery: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: predicates and sort descriptors are immutable once they are made, and the list is behind the mutex.

    private struct Order: @unchecked Sendable {
        var descriptors: [NSSortDescriptor]?
    }

    /// The type of the records.
    public let recordType: CKRecord.RecordType

    /// Which of them.
    public let predicate: NSPredicate

    private let order = Lock(Order())

    /// In the order of their weight. Without any, the records come in the order of their creation.
    public var sortDescriptors: [NSSortDescriptor]? {
        get { order.withLock { $0 }.descriptors }
        set {
            let new = Order(descriptors: newValue)
            order.withLock { $0 = new }
        }
    }

    /// A query for the records of a type that match. An empty type traps.
    ///
    /// What the server can't do is told when the query is used: with `invalidArguments` and a sentence.
    public init(recordType: CKRecord.RecordType, predicate: NSPredicate) {
        precondition(!recordType.isEmpty, "CKQuery: the record type is empty; name the type of the records")
        self.recordType = recordType
        self.predicate = predicate
    }

    /// Type, predicate and order.
    public override var description: String {
        "<CKQuery: recordType=\(recordType), predicate=\(predicate), sortDescriptors=\(sortDescriptors ?? [])>"
    }

    /// A query of its own with the same values.
    public func copy(with zone: NSZone? = nil) -> Any {
        let copy = CKQuery(recordType: recordType, predicate: predicate)
        copy.sortDescriptors = sortDescriptors
        return copy
    }

    // MARK: Archiving

    /// Archives are read under secure coding.
    public static var supportsSecureCoding: Bool { true }

    /// Writes the query into a keyed archive. A predicate that is code, and sort descriptors without a key, trap.
    public func encode(with coder: NSCoder) {
        coder.requireKeyedCoding(for: CKQuery.self)
        coder.encode(recordType as NSString, forKey: "RecordType")
        coder.encode(formatOf: predicate, forKey: "PredicateFormat")
        guard let sortDescriptors else { return }
        coder.encode(Int64(sortDescriptors.count), forKey: "SortCount")
        for (index, descriptor) in sortDescriptors.enumerated() {
            guard let key = descriptor.key else {
                preconditionFailure(
                    "CKQuery: a sort descriptor without a key can't be archived; name the field to sort by")
            }
            coder.encode(key, descriptor, forKey: "Sort", suffix: "\(index)")
        }
    }

    /// Reads an archived query; nil when the archive holds no valid one.
    public convenience init?(coder: NSCoder) {
        coder.requireKeyedCoding(for: CKQuery.self)
        guard let recordType = coder.stringIfPresent(forKey: "RecordType"), !recordType.isEmpty,
            let predicate = coder.predicateIfPresent(forKey: "PredicateFormat")
        else { return nil }
        self.init(recordType: recordType, predicate: predicate)
        guard coder.containsValue(forKey: "SortCount") else { return }
        let count = coder.decodeInt64(forKey: "SortCount")
        var descriptors: [NSSortDescriptor] = []
        // An archive ends the loop where its keys do, whatever its count says.
        while Int64(descriptors.count) < count {
            guard let descriptor = coder.sortDescriptorIfPresent(forKey: "Sort", suffix: "\(descriptors.count)") else {
                return nil
            }
            descriptors.append(descriptor)
        }
        sortDescriptors = descriptors
    }
}
