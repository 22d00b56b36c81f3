internal import BrumeModel

/// The namespace of ``RecordSavePolicy``. Operations are absent.
public enum CKModifyRecordsOperation {
    /// What a save compares and sends. Raw values are CloudKit's.
    public enum RecordSavePolicy: Int, Sendable {
        /// Sends the changed fields, and fails with `serverRecordChanged` when the server has another version than the one that
        /// the record came from.
        case ifServerRecordUnchanged = 0
        /// Sends the changed fields, whatever version the server has.
        case changedKeys = 1
        /// Sends all fields that the record holds, whatever version the server has. Fields that only the server has stay.
        case allKeys = 2

        var modelPolicy: SavePolicy {
            switch self {
            case .ifServerRecordUnchanged: .ifServerRecordUnchanged
            case .changedKeys: .changedKeys
            case .allKeys: .allKeys
            }
        }
    }
}
