public import BrumeKit

// What only a server's answer makes, for unit tests of code that gets it.

extension CKDatabase.DatabaseChange.Modification {
    /// A zone that is new or changed.
    public init(zoneID: CKRecordZone.ID) { self = Making.modification(ofZone: zoneID) }
}

extension CKDatabase.DatabaseChange.Deletion {
    /// A zone that is gone.
    public init(zoneID: CKRecordZone.ID, reason: Reason = .deleted) {
        self = Making.deletion(ofZone: zoneID, reason: reason)
    }
}

extension CKDatabase.RecordZoneChange.Modification {
    /// A record that is new or changed.
    public init(record: CKRecord) { self = Making.modification(of: record) }
}

extension CKDatabase.RecordZoneChange.Deletion {
    /// A record that is gone.
    public init(recordID: CKRecord.ID, recordType: CKRecord.RecordType) {
        self = Making.deletion(of: recordID, type: recordType)
    }
}

extension CKServerChangeToken {
    /// A token that equals those of the same text and no others. A server takes it for one that it did not make.
    public static func made(_ text: String) -> CKServerChangeToken { CKServerChangeToken(bytes: Array(text.utf8)) }
}

extension CKError {
    /// The error of a save whose record changed on the server in between: `serverRecordChanged`.
    ///
    /// - Parameters:
    ///   - client: The record as the app saved it.
    ///   - server: The record as the server has it; nil: the server has none.
    ///   - ancestor: The version that the app's changes began from; nil: not known.
    public static func conflict(client: CKRecord, server: CKRecord?, ancestor: CKRecord? = nil) -> CKError {
        var userInfo: [String: Any] = [CKRecordChangedErrorClientRecordKey: client]
        userInfo[CKRecordChangedErrorServerRecordKey] = server
        userInfo[CKRecordChangedErrorAncestorRecordKey] = ancestor
        return CKError(.serverRecordChanged, userInfo: userInfo)
    }
}
