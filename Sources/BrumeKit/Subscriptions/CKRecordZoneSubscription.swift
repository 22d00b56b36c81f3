public import Foundation

/// Tells of every change in one custom zone of a private database.
public final class CKRecordZoneSubscription: CKSubscription, @unchecked Sendable {
    // Sendable: adds a constant.

    /// The zone.
    public let zoneID: CKRecordZone.ID

    /// Changes to records of other types are not told; nil: any type.
    public var recordType: CKRecord.RecordType? {
        get { sharedRecordType }
        set { sharedRecordType = newValue }
    }

    /// A subscription to a zone, under a random name.
    ///
    /// A name of the app's own is better: saving it again replaces the subscription instead of adding one.
    public convenience init(zoneID: CKRecordZone.ID) {
        self.init(zoneID: zoneID, subscriptionID: GeneratedName.next)
    }

    /// A subscription to a zone, under a name that is the app's to choose: 1 to 255 bytes, others trap.
    public convenience init(zoneID: CKRecordZone.ID, subscriptionID: CKSubscription.ID) {
        self.init(zoneID: zoneID, subscriptionID: subscriptionID, settings: Settings())
    }

    init(zoneID: CKRecordZone.ID, subscriptionID: CKSubscription.ID, settings: Settings) {
        self.zoneID = zoneID
        super.init(subscriptionID: subscriptionID, subscriptionType: .recordZone, settings: settings)
    }

    /// A subscription of its own with the same values.
    public override func copy(with zone: NSZone? = nil) -> Any {
        CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: subscriptionID, settings: copiedSettings)
    }

    /// Writes the subscription into a keyed archive.
    public override func encode(with coder: NSCoder) {
        super.encode(with: coder)
        coder.encode(zoneID, forKey: "ZoneID")
    }

    /// Reads an archived subscription; nil when the archive holds no valid one of this class.
    public required init?(coder: NSCoder) {
        guard let zoneID = coder.objectIfPresent(of: CKRecordZoneID.self, forKey: "ZoneID") else { return nil }
        self.zoneID = zoneID
        super.init(coder: coder)
        guard subscriptionType == .recordZone else { return nil }
    }
}
