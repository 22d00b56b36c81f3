public import Foundation

/// Tells of records of a type that match a predicate: when they are made, changed or deleted.
///
/// The only kind of subscription that the public database has; there it tells of other users' records as well. A new
/// record fires it when it matches; a changed one when its new version matches, whether or not the one before did; a
/// deleted one when its last version matched. Changes of the device that makes them are left out.
///
/// `now()` in the predicate is the moment when the subscription is saved.
public final class CKQuerySubscription: CKSubscription, @unchecked Sendable {
    // Sendable: adds constants.

    /// What a query subscription fires on. Raw values are CloudKit's.
    public struct Options: OptionSet, Hashable, Sendable {
        /// The bits.
        public let rawValue: UInt

        /// Options of the given bits.
        public init(rawValue: UInt) {
            self.rawValue = rawValue
        }

        /// A new record matches.
        public static let firesOnRecordCreation = Options(rawValue: 1 << 0)
        /// The new version of a record matches.
        public static let firesOnRecordUpdate = Options(rawValue: 1 << 1)
        /// The last version of a deleted record matched.
        public static let firesOnRecordDeletion = Options(rawValue: 1 << 2)
        /// The first notification ends the subscription.
        public static let firesOnce = Options(rawValue: 1 << 3)

        static let reasons: Options = [.firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion]
        static let all: Options = [reasons, .firesOnce]
    }

    /// The type of the records; never nil, optional as CloudKit declares it.
    public let recordType: CKRecord.RecordType?

    /// The same as ``recordType``.
    let queryRecordType: CKRecord.RecordType

    /// Which of them.
    public let predicate: NSPredicate

    /// What it fires on.
    public let querySubscriptionOptions: Options

    /// The zone of the records; nil: all zones of the database. The subscription goes with its zone. If it fires on
    /// deletion it tells of the zone's records first; where they are more than some thousand, devices are told to fetch
    /// instead.
    public var zoneID: CKRecordZone.ID? {
        get { sharedZoneID }
        set { sharedZoneID = newValue }
    }

    /// A subscription under a name that is the app's to choose: 1 to 255 bytes, others trap.
    ///
    /// An empty record type traps, and so do options without creation, update or deletion. What the server can't do is
    /// told when the subscription is saved: with `invalidArguments` and a sentence.
    public convenience init(
        recordType: CKRecord.RecordType, predicate: NSPredicate, subscriptionID: CKSubscription.ID,
        options querySubscriptionOptions: Options = [
            .firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion,
        ]
    ) {
        self.init(
            recordType: recordType, predicate: predicate, subscriptionID: subscriptionID,
            options: querySubscriptionOptions, settings: Settings())
    }

    /// A subscription under a random name.
    @available(*, deprecated, message: "name the subscription, so that saving it again replaces it")
    public convenience init(
        recordType: CKRecord.RecordType, predicate: NSPredicate,
        options querySubscriptionOptions: Options = [
            .firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion,
        ]
    ) {
        self.init(
            recordType: recordType, predicate: predicate, subscriptionID: GeneratedName.next,
            options: querySubscriptionOptions)
    }

    init(
        recordType: CKRecord.RecordType, predicate: NSPredicate, subscriptionID: CKSubscription.ID, options: Options,
        settings: Settings
    ) {
        precondition(!recordType.isEmpty, "CKQuerySubscription: the record type is empty; name the type of the records")
        precondition(
            !options.isDisjoint(with: .reasons) && options.isSubset(of: .all),
            "CKQuerySubscription: the options fire on nothing; add firesOnRecordCreation, firesOnRecordUpdate or firesOnRecordDeletion"
        )
        self.recordType = recordType
        queryRecordType = recordType
        self.predicate = predicate
        querySubscriptionOptions = options
        super.init(subscriptionID: subscriptionID, subscriptionType: .query, settings: settings)
    }

    override var details: [String] {
        [queryRecordType, predicate.canonicalFormat, "\(querySubscriptionOptions.rawValue)"]
    }

    /// A subscription of its own with the same values.
    public override func copy(with zone: NSZone? = nil) -> Any {
        CKQuerySubscription(
            recordType: queryRecordType, predicate: predicate, subscriptionID: subscriptionID,
            options: querySubscriptionOptions, settings: copiedSettings)
    }

    // MARK: Archiving

    /// Writes the subscription into a keyed archive. Code in its predicate traps.
    public override func encode(with coder: NSCoder) {
        super.encode(with: coder)
        coder.encode(queryRecordType as NSString, forKey: "QueryRecordType")
        coder.encode(formatOf: predicate, forKey: "Predicate")
        coder.encode(Int64(querySubscriptionOptions.rawValue), forKey: "Options")
        if let zoneID { coder.encode(zoneID, forKey: "ZoneID") }
    }

    /// Reads an archived subscription; nil when the archive holds no valid one of this class.
    public required init?(coder: NSCoder) {
        guard let recordType = coder.stringIfPresent(forKey: "QueryRecordType"), !recordType.isEmpty,
            let predicate = coder.predicateIfPresent(forKey: "Predicate"),
            coder.containsValue(forKey: "Options"),
            let options = UInt(exactly: coder.decodeInt64(forKey: "Options")).map(Options.init(rawValue:)),
            !options.isDisjoint(with: .reasons), options.isSubset(of: .all)
        else { return nil }
        self.recordType = recordType
        queryRecordType = recordType
        self.predicate = predicate
        querySubscriptionOptions = options
        let zoneID = coder.objectIfPresent(of: CKRecordZoneID.self, forKey: "ZoneID")
        super.init(coder: coder)
        guard subscriptionType == .query else { return nil }
        sharedZoneID = zoneID
    }
}
