/// Access to a record's fields by key.
public protocol CKRecordKeyValueSetting: AnyObject {
    /// The value of a field, or nil. Setting nil removes the field, here and with the next save on the server.
    subscript(key: CKRecord.FieldKey) -> (any CKRecordValueProtocol)? { get set }

    /// The value of a field, or nil.
    func object(forKey key: CKRecord.FieldKey) -> (any __CKRecordObjCValue)?

    /// Sets a field, or removes it with nil.
    func setObject(_ object: (any CKRecordValueProtocol)?, forKey key: CKRecord.FieldKey)

    /// The keys that have a value.
    func allKeys() -> [CKRecord.FieldKey]

    /// The keys that were set or removed since the last fetch or save.
    func changedKeys() -> [CKRecord.FieldKey]
}

extension CKRecordKeyValueSetting {
    /// The value of a field as the type that the context wants, or nil when the field is absent or of another kind.
    ///
    /// Setting nil removes the field, here and with the next save on the server.
    public subscript<T: CKRecordValueProtocol>(key: CKRecord.FieldKey) -> T? {
        get { object(forKey: key) as? T }
        set { setObject(newValue, forKey: key) }
    }

    /// The fields, in the order of their keys.
    public func makeIterator() -> CKRecordKeyValueIterator {
        var fields: [(CKRecord.FieldKey, any CKRecordValueProtocol)] = []
        for key in allKeys() {
            if let value = object(forKey: key) { fields.append((key, value)) }
        }
        return CKRecordKeyValueIterator(fields: fields)
    }
}

/// Goes through a record's fields as they were when it was made.
public struct CKRecordKeyValueIterator: IteratorProtocol {
    private var remaining: IndexingIterator<[(CKRecord.FieldKey, any CKRecordValueProtocol)]>

    init(fields: [(CKRecord.FieldKey, any CKRecordValueProtocol)]) {
        remaining = fields.makeIterator()
    }

    /// The next field's key and value.
    public mutating func next() -> (CKRecord.FieldKey, any CKRecordValueProtocol)? {
        remaining.next()
    }
}
