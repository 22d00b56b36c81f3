package import BrumeModel
public import Foundation

/// The name that stands for the current user: as a zone's owner, and as the record name of the user's own record.
public let CKCurrentUserDefaultName = "__defaultOwner__"

/// The earlier name of ``CKCurrentUserDefaultName``.
@available(*, deprecated, renamed: "CKCurrentUserDefaultName")
public let CKOwnerDefaultName = "__defaultOwner__"

/// The name of the zone that each database has from the start.
public let CKRecordZoneDefaultName = "_defaultZone"

/// Names a record zone: its own name and its owner's. Used as `CKRecordZone.ID`.
///
/// Immutable, so it may be passed between threads. Equal when both names are.
///
/// Differs from CloudKit: the class stands at top level under its Objective-C name, because Foundation on Linux
/// archives top-level classes alone.
public final class CKRecordZoneID: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The name of the zone that each database has from the start.
    public static let defaultZoneName = CKRecordZoneDefaultName

    /// The default zone of the current user.
    public static let `default` = CKRecordZoneID()

    /// The zone's name.
    public let zoneName: String

    /// The record name of the user whose zone it is; ``CKCurrentUserDefaultName`` for the current user.
    public let ownerName: String

    /// Names a zone.
    ///
    /// - Parameters:
    ///   - zoneName: 1 to 255 ASCII characters that do not start with an underscore, or the default zone's name. What
    ///     is asked of a zone of another name fails with `invalidArguments`.
    ///   - ownerName: The owner's user record name; empty, it is the current user's. What is asked of a zone whose
    ///     owner no user can be fails with `invalidArguments`.
    public init(
        zoneName: String = CKRecordZoneID.defaultZoneName, ownerName: String = CKCurrentUserDefaultName
    ) {
        self.zoneName = zoneName
        self.ownerName = ownerName.isEmpty ? CKCurrentUserDefaultName : ownerName
    }

    /// Names a zone of an owner who may be nil, as code from before ``CKCurrentUserDefaultName`` does.
    ///
    /// - Parameters:
    ///   - zoneName: See `init(zoneName:ownerName:)` with an owner.
    ///   - ownerName: The owner's user record name; nil, it is the current user's.
    @_disfavoredOverload
    @available(*, deprecated, message: "Use an ownerName that is not optional, or leave it out")
    public convenience init(zoneName: String = CKRecordZoneID.defaultZoneName, ownerName: String?) {
        self.init(zoneName: zoneName, ownerName: ownerName ?? CKCurrentUserDefaultName)
    }

    /// Whether the zone is the one that each database has from the start.
    package var isDefault: Bool { zoneName == Names.defaultZone }

    /// Whether both name one zone of one owner.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKRecordZoneID else { return false }
        return self === other || zoneName == other.zoneName && ownerName == other.ownerName
    }

    /// Equal for equal ids.
    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(zoneName)
        hasher.combine(ownerName)
        return hasher.finalize()
    }

    /// Both names.
    public override var description: String { "\(zoneName):\(ownerName)" }

    /// The receiver itself, which can't change.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// Archives are read under secure coding.
    public static var supportsSecureCoding: Bool { true }

    /// Writes both names into a keyed archive.
    public func encode(with coder: NSCoder) {
        coder.requireKeyedCoding(for: CKRecordZoneID.self)
        coder.encode(zoneName as NSString, forKey: "ZoneName")
        coder.encode(ownerName as NSString, forKey: "OwnerName")
    }

    /// Reads an archived id; nil when the archive holds no valid one.
    public init?(coder: NSCoder) {
        coder.requireKeyedCoding(for: CKRecordZoneID.self)
        guard let zoneName = coder.stringIfPresent(forKey: "ZoneName"),
            let ownerName = coder.stringIfPresent(forKey: "OwnerName"), !ownerName.isEmpty,
            zoneName == Names.defaultZone || Names.problemWithZoneName(zoneName) == nil
        else { return nil }
        self.zoneName = zoneName
        self.ownerName = ownerName
    }
}

extension CKRecordZone {
    /// Names a record zone.
    public typealias ID = CKRecordZoneID
}

extension CKRecordZoneID {
    /// The zone as a request names it.
    package var modelID: ZoneID { ZoneID(name: zoneName, owner: ownerName) }

    /// Why there can be no such zone in any database; nil for one that there may be.
    var problem: String? { nameProblem ?? ownerProblem }

    /// Why no zone can have such a name, or nil.
    var nameProblem: String? { isDefault ? nil : Names.problemWithZoneName(zoneName) }

    /// Why nobody can own such a zone, or nil.
    var ownerProblem: String? {
        if ownerName == CKCurrentUserDefaultName || Names.isUserRecordName(ownerName) { return nil }
        return "the owner of a zone is no user's record name; use CKCurrentUserDefaultName for the user's own zones"
    }

    /// The zone that an answer names, where the current user's own zones have ``CKCurrentUserDefaultName`` as owner.
    ///
    /// Nil for a name that no zone can have.
    package convenience init?(_ id: ZoneID, currentUser: String?) {
        guard id.isDefault || Names.problemWithZoneName(id.name) == nil else { return nil }
        let isOwn = id.owner.isEmpty || id.owner == currentUser
        self.init(zoneName: id.name, ownerName: isOwn ? CKCurrentUserDefaultName : id.owner)
    }
}
