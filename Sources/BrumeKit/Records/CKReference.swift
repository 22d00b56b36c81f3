public import Foundation

/// A field's pointer to a record of the same zone, which need not exist. Used as `CKRecord.Reference`.
///
/// Immutable, so it may be passed between threads. Equal when target and action are.
///
/// Differs from CloudKit: the class stands at top level under its Objective-C name, because Foundation on Linux
/// archives top-level classes alone. In the public database each user's records have a limit of their own for
/// `deleteSelf` references to a record, and a deletion takes other users' records with it as far as there is room:
/// those that stay refer to nothing.
public final class CKReference: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The earlier name of ``CKRecord/ReferenceAction``.
    @available(*, deprecated, renamed: "CKRecord.ReferenceAction")
    public typealias Action = CKRecord.ReferenceAction

    /// The record that the reference points to.
    public let recordID: CKRecord.ID

    /// What the deletion of that record does to the one that holds the reference.
    public let action: CKRecord.ReferenceAction

    /// A reference to the record with the given id.
    public init(recordID: CKRecord.ID, action: CKRecord.ReferenceAction) {
        self.recordID = recordID
        self.action = action
    }

    /// A reference to the given record.
    public convenience init(record: CKRecord, action: CKRecord.ReferenceAction) {
        self.init(recordID: record.recordID, action: action)
    }

    /// Whether both point to one record with one action.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKReference else { return false }
        return self === other || action == other.action && recordID.isEqual(other.recordID)
    }

    /// Equal for equal references.
    public override var hash: Int { recordID.hash }

    /// The target and the action.
    public override var description: String { "<CKReference: \(recordID), action=\(action)>" }

    /// The receiver itself, which can't change.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// Archives are read under secure coding.
    public static var supportsSecureCoding: Bool { true }

    /// Writes target and action into a keyed archive.
    public func encode(with coder: NSCoder) {
        coder.requireKeyedCoding(for: CKReference.self)
        coder.encode(recordID, forKey: "RecordID")
        coder.encode(Int64(action.rawValue), forKey: "ReferenceAction")
    }

    /// Reads an archived reference; nil when the archive holds no valid one.
    public init?(coder: NSCoder) {
        coder.requireKeyedCoding(for: CKReference.self)
        guard let recordID = coder.objectIfPresent(of: CKRecordID.self, forKey: "RecordID"),
            coder.containsValue(forKey: "ReferenceAction"),
            let rawAction = UInt(exactly: coder.decodeInt64(forKey: "ReferenceAction")),
            let action = CKRecord.ReferenceAction(rawValue: rawAction)
        else { return nil }
        self.recordID = recordID
        self.action = action
    }
}

extension CKRecord {
    /// A field's pointer to a record of the same zone.
    public typealias Reference = CKReference

    /// What the deletion of a reference's target does to the record that holds the reference. Raw values are
    /// CloudKit's.
    public enum ReferenceAction: UInt, Sendable {
        /// Nothing: the reference then points to no record.
        case none = 0
        /// That record is deleted too.
        case deleteSelf = 1
    }
}
