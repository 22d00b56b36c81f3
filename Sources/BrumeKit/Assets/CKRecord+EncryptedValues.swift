internal import BrumeModel

extension CKRecord {
    /// The record's encrypted fields, which ``allKeys()`` and the record's own subscripts don't show.
    ///
    /// They hold what other fields do but references and assets, which trap.
    ///
    /// Differs from CloudKit: the server has no encrypted values. A record can hold them, on this device and in archives; saving it fails with
    /// `serverRejectedRequest`.
    public var encryptedValues: any CKRecordKeyValueSetting & Sendable { EncryptedValues(record: self) }
}

/// A record's encrypted fields.
private final class EncryptedValues: CKRecordKeyValueSetting, Sendable {
    private let record: CKRecord

    init(record: CKRecord) {
        self.record = record
    }

    subscript(key: CKRecord.FieldKey) -> (any CKRecordValueProtocol)? {
        get { object(forKey: key) }
        set { setObject(newValue, forKey: key) }
    }

    func object(forKey key: CKRecord.FieldKey) -> (any CKRecordValueProtocol)? {
        record.snapshot.local.encrypted[key]?.recordValue(in: record.recordID.zoneID)
    }

    func setObject(_ object: (any CKRecordValueProtocol)?, forKey key: CKRecord.FieldKey) {
        if let problem = Names.problemWithFieldKey(key) {
            preconditionFailure("CKRecord.encryptedValues: \(problem) (\"\(key)\")")
        }
        let value: FieldValue?
        do throws(UnsupportedFieldValue) {
            value = if let object { try FieldValue(object, in: record.recordID.zoneID) } else { nil }
        } catch {
            preconditionFailure("CKRecord.encryptedValues: the value for key \"\(key)\" is refused: \(error.reason)")
        }
        switch value {
        case .reference, .references:
            preconditionFailure(
                "CKRecord.encryptedValues: the value for key \"\(key)\" is a reference, which can't be encrypted; set it in the "
                    + "record itself")
        default: break
        }
        record.updateState { state in
            state.local.encrypted[key] = value
            state.local.encryptedEdits.insert(key)
        }
    }

    func allKeys() -> [CKRecord.FieldKey] { record.snapshot.local.encrypted.keys.sorted() }

    func changedKeys() -> [CKRecord.FieldKey] { record.snapshot.local.encryptedEdits.sorted() }
}
