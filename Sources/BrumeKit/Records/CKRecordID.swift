internal import BrumeModel
public import Foundation

/// Names a record: its own name and its zone. Used as `CKRecord.ID`.
///
/// A name is unique in its zone, whatever the record's type. Immutable, so it may be passed between threads. Equal when
/// the record's name and the zone's names are.
///
/// Differs from CloudKit: the class stands at top level under its Objective-C name, because Foundation on Linux
/// archives top-level classes alone.
public final class CKRecordID: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The record's name.
    public let recordName: String

    /// The zone that holds the record.
    public let zoneID: CKRecordZone.ID

    /// Names a record.
    ///
    /// - Parameters:
    ///   - recordName: 1 to 255 ASCII characters; there is no record of another name, and saving one fails with
    ///     `invalidArguments`. Names that start with an underscore are the server's (user records have them): such a
    ///     record can be fetched, but not made. Without a name, a new UUID is the name.
    ///   - zoneID: The zone that holds the record.
    public init(recordName: String = CKRecordID.newRecordName, zoneID: CKRecordZone.ID = .default) {
        self.recordName = recordName
        self.zoneID = zoneID
    }

    /// A name that only the server makes is fine here: the rule about the first character is for new records.
    package static func problem(withName name: String) -> String? {
        Names.problemWithRecordName(name.hasPrefix("_") ? "x" + name.dropFirst() : name)
    }

    /// Whether both name one record.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKRecordID else { return false }
        return self === other || recordName == other.recordName && zoneID.isEqual(other.zoneID)
    }

    /// Equal for equal ids.
    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(recordName)
        hasher.combine(zoneID.zoneName)
        hasher.combine(zoneID.ownerName)
        return hasher.finalize()
    }

    /// The record's name and its zone.
    public override var description: String { "<CKRecordID: recordName=\(recordName), zoneID=\(zoneID)>" }

    /// The receiver itself, which can't change.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// Archives are read under secure coding.
    public static var supportsSecureCoding: Bool { true }

    /// Writes the name and the zone's id into a keyed archive.
    public func encode(with coder: NSCoder) {
        coder.requireKeyedCoding(for: CKRecordID.self)
        coder.encode(recordName as NSString, forKey: "RecordName")
        coder.encode(zoneID, forKey: "ZoneID")
    }

    /// Reads an archived id; nil when the archive holds no valid one.
    public init?(coder: NSCoder) {
        coder.requireKeyedCoding(for: CKRecordID.self)
        guard let recordName = coder.stringIfPresent(forKey: "RecordName"), Self.problem(withName: recordName) == nil,
            let zoneID = coder.objectIfPresent(of: CKRecordZoneID.self, forKey: "ZoneID")
        else { return nil }
        self.recordName = recordName
        self.zoneID = zoneID
    }
}

extension CKRecord {
    /// Names a record.
    public typealias ID = CKRecordID
}
