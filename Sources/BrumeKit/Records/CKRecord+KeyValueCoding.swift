internal import Foundation

/// Key-value coding of a record's fields, by the names that it has in Objective-C.
///
/// Differs from CloudKit: the record's own properties can't be reached by key, and there are no key paths.
extension CKRecord {
    /// The value of a field, or nil.
    public func value(forKey key: FieldKey) -> Any? {
        object(forKey: key)
    }

    /// Sets a field; nil and `NSNull` remove it. With a value that a field can't hold, the record can't be saved.
    public func setValue(_ value: Any?, forKey key: FieldKey) {
        guard let value, !(value is NSNull) else { return setObject(nil, forKey: key) }
        guard let object = value as? any CKRecordValueProtocol else {
            return refuse(
                "\(type(of: value)) can't be stored in a record; see CKRecordValueProtocol for the types that can",
                forKey: key)
        }
        setObject(object, forKey: key)
    }

    /// Sets each of the given fields; `NSNull` removes one. With a value that a field can't hold, the record can't be
    /// saved.
    public func setValuesForKeys(_ keyedValues: [FieldKey: Any]) {
        for (key, value) in keyedValues {
            setValue(value, forKey: key)
        }
    }
}
