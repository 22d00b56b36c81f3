/// The record type of user records, which the server makes.
@available(*, deprecated, renamed: "CKRecord.SystemType.userRecord")
public let CKRecordTypeUserRecord = CKRecord.SystemType.userRecord

extension CKRecord {
    /// Record types that the system makes.
    public enum SystemType {
        /// A user's record, which the server makes when the user first reaches the container.
        public static let userRecord: CKRecord.RecordType = "Users"
        /// A share.
        public static let share: CKRecord.RecordType = "cloudkit.share"
    }

    /// Names of the fields that every record has.
    public enum SystemFieldKey {
        /// The record's id.
        public static let recordID: CKRecord.FieldKey = "recordID"
        /// Who made the record.
        public static let creatorUserRecordID: CKRecord.FieldKey = "creatorUserRecordID"
        /// When it was first saved.
        public static let creationDate: CKRecord.FieldKey = "creationDate"
        /// Who saved it last.
        public static let lastModifiedUserRecordID: CKRecord.FieldKey = "lastModifiedUserRecordID"
        /// When it was last saved.
        public static let modificationDate: CKRecord.FieldKey = "modificationDate"
        /// The record's parent in a hierarchy.
        public static let parent: CKRecord.FieldKey = "parent"
        /// The share that the record is the root of. No query knows it.
        public static let share: CKRecord.FieldKey = "share"
    }
}
