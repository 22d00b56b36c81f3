package import BrumeModel
public import Foundation

/// A place for records in a database. In a custom zone, records have a history that can be fetched and are saved
/// atomically.
///
/// May be passed between threads.
///
/// Differs from CloudKit: a zone of an answer shows the encryption scope `perZone` on devices that have used its keys
/// since the app was started, and `perRecord` on all others. The zone is encrypted as it was made all the same.
public final class CKRecordZone: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// What has an encryption key of its own. Raw values are CloudKit's.
    public enum EncryptionScope: Int, Sendable {
        /// Each record.
        case perRecord = 0
        /// The zone.
        case perZone = 1
    }

    /// What a zone can do. Raw values are CloudKit's.
    public struct Capabilities: OptionSet, Sendable {
        /// The bits of the set.
        public let rawValue: UInt

        /// A set of the given bits.
        public init(rawValue: UInt) {
            self.rawValue = rawValue
        }

        /// The zone's changes since a token can be fetched.
        public static let fetchChanges = Capabilities(rawValue: 1 << 0)
        /// A request's changes to the zone happen all or not at all.
        public static let atomic = Capabilities(rawValue: 1 << 1)
        /// A hierarchy of the zone's records can be shared.
        public static let sharing = Capabilities(rawValue: 1 << 2)
        /// The zone can be shared as a whole.
        public static let zoneWideSharing = Capabilities(rawValue: 1 << 3)
    }

    /// The zone's name and owner.
    public let zoneID: CKRecordZone.ID

    /// What the zone can do, as the server says: empty until the zone has been saved or fetched, and for a default
    /// zone.
    public let capabilities: Capabilities

    /// As the server saved or fetched the zone: a token from which a first fetch goes on that misses no deletion from
    /// then on. Nil for a default zone, and for one that no server gave. Archives and copies do without it.
    package let firstFetchToken: CKServerChangeToken?

    private let scope = Guarded(EncryptionScope.perRecord)
    /// Whether files are encrypted: what an app has set, and what the zone's keys say.
    private struct AssetPolicy {
        var wanted: Bool?
        var shown: Bool?
    }

    private let assetPolicy = Guarded(AssetPolicy())

    /// What has an encryption key of its own; `perRecord` unless set. Set it before the zone is saved for the first
    /// time: saving a zone that has keys for records with `perZone` fails with `invalidArguments`, and `perRecord`
    /// changes nothing.
    ///
    /// With `perRecord` a record and all below it take one key, so that it can be shared by itself; with `perZone` the
    /// whole zone takes one, and its records can't be shared one by one. Saving such a zone makes its keys, for which
    /// the device has to have the account's: else it fails with `accountTemporarilyUnavailable`.
    public var encryptionScope: EncryptionScope {
        get { scope.current }
        set { scope.withLock { $0 = newValue } }
    }

    /// Brume's addition: whether the files of the zone's records are encrypted on the device, as `encryptedValues`
    /// are; nil unless set, and then ``BrumeConfiguration/encryptsAssets`` says it when the zone's keys are made. In a
    /// zone of an answer what its keys say, on devices that have used them since the app was started, else nil.
    ///
    /// Set it each time that the zone is saved, in all apps that save it, also after `zoneNotFound`: to false in one
    /// whose files web clients show, to true where those of other zones stay plain. Leave it nil where the
    /// configuration says the same: any other value makes the zone's keys with the save, and the account's if it has
    /// none, and a device without them can't save the zone (`accountTemporarilyUnavailable`). Where the zone has keys
    /// that say otherwise the save fails with `invalidArguments`: that is never changed. A default zone, and one of
    /// another database, can't say it (`invalidArguments`).
    ///
    /// Where ``BrumeConfiguration/encryptsAssets`` is on, new files of a zone whose keys say false are encrypted all
    /// the same once a device was removed from the account: that device may have said so.
    public var encryptsAssets: Bool? {
        get { assetPolicy.current.wanted ?? assetPolicy.current.shown }
        set { assetPolicy.withLock { $0 = AssetPolicy(wanted: newValue) } }
    }

    /// What the app has set: what an answer shows is nobody's wish.
    var wantedEncryptsAssets: Bool? { assetPolicy.current.wanted }

    /// Shows what the zone's keys say of files.
    func showEncryptsAssets(_ encryptsAssets: Bool?) { assetPolicy.withLock { $0.shown = encryptsAssets } }

    private let isShared: Bool

    /// The share of the whole zone, of ``CKShare/init(recordZoneID:)``, as the server said when the zone was saved or
    /// fetched; nil without one, and when only hierarchies of the zone's records are shared.
    public var share: CKRecord.Reference? {
        guard isShared else { return nil }
        return CKRecord.Reference(
            recordID: CKRecord.ID(recordName: CKRecordNameZoneWideShare, zoneID: zoneID), action: .none)
    }

    /// A zone of the current user, to be saved.
    ///
    /// - Parameter zoneName: 1 to 255 ASCII characters that do not start with an underscore. What is asked of a zone
    ///   of another name fails with `invalidArguments`.
    public convenience init(zoneName: String) {
        self.init(zoneID: CKRecordZone.ID(zoneName: zoneName))
    }

    /// A zone with the given id, to be saved.
    public convenience init(zoneID: CKRecordZone.ID) {
        self.init(zoneID: zoneID, capabilities: [])
    }

    /// A zone as the server describes it.
    package init(
        zoneID: CKRecordZone.ID, capabilities: Capabilities, isShared: Bool = false,
        firstFetchToken: CKServerChangeToken? = nil
    ) {
        self.zoneID = zoneID
        self.capabilities = capabilities
        self.isShared = isShared
        self.firstFetchToken = firstFetchToken
    }

    /// The zone that each database has from the start. It has no capabilities and can't be deleted.
    public class func `default`() -> CKRecordZone {
        CKRecordZone(zoneID: .default)
    }

    /// The zone's name and owner.
    public override var description: String { "<CKRecordZone \(zoneID)>" }

    /// A zone of its own with the same values.
    public func copy(with zone: NSZone? = nil) -> Any {
        let copy = CKRecordZone(zoneID: zoneID, capabilities: capabilities, isShared: isShared)
        copy.encryptionScope = encryptionScope
        let policy = assetPolicy.current
        copy.assetPolicy.withLock { $0 = policy }
        return copy
    }

    /// Archives are read under secure coding.
    public static var supportsSecureCoding: Bool { true }

    /// Writes id, capabilities, the share and how the zone is to be encrypted into a keyed archive.
    public func encode(with coder: NSCoder) {
        coder.requireKeyedCoding(for: CKRecordZone.self)
        coder.encode(zoneID, forKey: "ZoneID")
        coder.encode(Int64(bitPattern: UInt64(capabilities.rawValue)), forKey: "Capabilities")
        coder.encode(Int64(encryptionScope.rawValue), forKey: "EncryptionScope")
        coder.encode(isShared, forKey: "IsShared")
        if let wantedEncryptsAssets { coder.encode(wantedEncryptsAssets, forKey: "EncryptsAssets") }
    }

    /// Reads an archived zone; nil when the archive holds no valid one.
    public init?(coder: NSCoder) {
        coder.requireKeyedCoding(for: CKRecordZone.self)
        guard let zoneID = coder.objectIfPresent(of: CKRecordZoneID.self, forKey: "ZoneID") else { return nil }
        self.zoneID = zoneID
        let bits = coder.containsValue(forKey: "Capabilities") ? coder.decodeInt64(forKey: "Capabilities") : 0
        capabilities = Capabilities(rawValue: UInt(UInt64(bitPattern: bits)))
        isShared = coder.boolIfPresent(forKey: "IsShared") ?? false
        firstFetchToken = nil
        super.init()
        if coder.containsValue(forKey: "EncryptionScope"), coder.decodeInt64(forKey: "EncryptionScope") == 1 {
            encryptionScope = .perZone
        }
        encryptsAssets = coder.boolIfPresent(forKey: "EncryptsAssets")
    }
}

extension CKRecordZone {
    /// The zone of an answer; nil for a name that no zone can have.
    package convenience init?(_ zone: Zone, currentUser: String?) {
        guard let zoneID = CKRecordZone.ID(zone.id, currentUser: currentUser) else { return nil }
        self.init(
            zoneID: zoneID, capabilities: Capabilities(rawValue: UInt(zone.capabilities.rawValue)),
            isShared: zone.isShared,
            firstFetchToken: zone.changeToken.isEmpty ? nil : CKServerChangeToken(bytes: zone.changeToken))
    }
}
