internal import BrumeModel

extension CKRecord {
    /// The record's encrypted fields, which ``allKeys()`` and the record's own subscripts don't show.
    ///
    /// They hold what other fields do but references and assets, with which the record can't be saved. A field is
    /// encrypted or not: setting one here takes the place of a plain one with its key, and the other way round.
    ///
    /// Files have their place in the record itself, and are encrypted with ``BrumeConfiguration/encryptsAssets``.
    ///
    /// This device encrypts them when the record is saved, with keys that the server never has, and decrypts them when
    /// it is fetched; see <doc:EncryptionKeys>. The first save makes the account's keys where there are none. On a
    /// device that does not have them such a save fails with `accountTemporarilyUnavailable`, and what is fetched is in
    /// ``unreadableFields``. No query finds a record by them, and no push carries them.
    ///
    /// Differs from CloudKit: participants of a share get its keys from a device of the owner's, by its whole URL or
    /// where the owner decides so; until then a save of one fails with `accountTemporarilyUnavailable`. In the public
    /// database they are refused (`invalidArguments`), as CloudKit has it.
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
        record.snapshot.encrypted.values[key]?.recordValue(in: record.recordID.zoneID)
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
        if let value, !FieldKind(value).fitsEncryptedField {
            return refuse("references and assets can't be encrypted values; set them in the record itself", key)
        }
        record.updateState { $0.setEncrypted(value, forKey: key) }
    }

    private func refuse(_ reason: String, _ key: CKRecord.FieldKey) {
        record.updateState {
            $0.refuseEncrypted(
                "CKRecord.encryptedValues: the value for key \(key.quotedName) is refused: \(reason)", forKey: key)
        }
    }

    func allKeys() -> [CKRecord.FieldKey] { record.snapshot.encrypted.values.keys.sorted() }

    func changedKeys() -> [CKRecord.FieldKey] { record.snapshot.encrypted.edits.keys.sorted() }
}
