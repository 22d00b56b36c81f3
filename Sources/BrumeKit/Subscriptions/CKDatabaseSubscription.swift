public import Foundation

/// Tells of every change in the custom zones of a database.
public final class CKDatabaseSubscription: CKSubscription, @unchecked Sendable {
    // Sendable: adds nothing.

    /// Changes to records of other types are not told; nil: any type.
    public var recordType: CKRecord.RecordType? {
        get { sharedRecordType }
        set { sharedRecordType = newValue }
    }

    /// A subscription to a database, under a random name.
    ///
    /// A name of the app's own is better: saving it again replaces the subscription instead of adding one.
    public convenience init() {
        self.init(subscriptionID: GeneratedName.next)
    }

    /// A subscription to a database, under a name that is the app's to choose: 1 to 255 bytes, others trap.
    public convenience init(subscriptionID: CKSubscription.ID) {
        self.init(subscriptionID: subscriptionID, settings: Settings())
    }

    init(subscriptionID: CKSubscription.ID, settings: Settings) {
        super.init(subscriptionID: subscriptionID, subscriptionType: .database, settings: settings)
    }

    /// A subscription of its own with the same values.
    public override func copy(with zone: NSZone? = nil) -> Any {
        CKDatabaseSubscription(subscriptionID: subscriptionID, settings: copiedSettings)
    }

    /// Reads an archived subscription; nil when the archive holds no valid one of this class.
    public required init?(coder: NSCoder) {
        super.init(coder: coder)
        guard subscriptionType == .database else { return nil }
    }
}
