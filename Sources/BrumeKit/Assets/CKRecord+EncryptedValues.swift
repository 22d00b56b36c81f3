internal import BrumeModel

extension CKRecord {
    /// The record's encrypted fields, which ``allKeys()`` and the record's own subscripts don't show.
    ///
    /// They hold what other fields do but references and assets, with which the record can't be saved.
    ///
    /// Differs from CloudKit: the server has no encrypted values. A record can hold them, on this device and in
    /// archives; saving it fails with `serverRejectedRequest`.
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

    func object(forKey key: CKRecord.FieldKey) -> (any __CKRecordObjCValue)? {
        record.snapshot.local.encrypted[key]?.recordValue(in: record.recordID.zoneID)
    }

    func setObject(_ object: (any CKRecordValueProtocol)?, forKey key: CKRecord.FieldKey) {
        if let problem = Names.problemWithFieldKey(key) {
            if object == nil { return record.updateState { $0.local.refused[.encryptedField(key)] = nil } }
            return refuse(problem, key)
        }
        let value: FieldValue?
        do throws(UnsupportedFieldValue) {
            value = if let object { try FieldValue(object, in: record.recordID.zoneID) } else { nil }
        } catch {
            return refuse(error.reason, key)
        }
        switch value {
        case .reference, .references:
            return refuse("a reference can't be encrypted; set it in the record itself", key)
        default: break
        }
        record.updateState { state in
            state.local.encrypted[key] = value
            state.local.refused[.encryptedField(key)] = nil
            state.local.encryptedEdits.insert(key)
        }
    }

    private func refuse(_ reason: String, _ key: CKRecord.FieldKey) {
        record.updateState { state in
            state.local.encrypted[key] = nil
            state.local.refused[.encryptedField(key)] =
                "CKRecord.encryptedValues: the value for key \(key.quotedName) is refused: \(reason)"
        }
    }

    func allKeys() -> [CKRecord.FieldKey] { record.snapshot.local.encrypted.keys.sorted() }

    func changedKeys() -> [CKRecord.FieldKey] { record.snapshot.local.encryptedEdits.sorted() }
}
