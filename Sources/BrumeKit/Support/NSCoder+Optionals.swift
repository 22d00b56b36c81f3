internal import Foundation

/// Reading of keys that may be absent. Foundation on Linux ends the process when a missing key is decoded under the
/// default failure policy, so each read asks first.
extension NSCoder {
    func stringIfPresent(forKey key: String) -> String? {
        guard containsValue(forKey: key) else { return nil }
        return decodeObject(of: NSString.self, forKey: key) as String?
    }

    func dateIfPresent(forKey key: String) -> Date? {
        guard containsValue(forKey: key) else { return nil }
        return decodeObject(of: NSDate.self, forKey: key) as Date?
    }

    func dataIfPresent(forKey key: String) -> Data? {
        guard containsValue(forKey: key) else { return nil }
        return decodeObject(of: NSData.self, forKey: key) as Data?
    }

    func boolIfPresent(forKey key: String) -> Bool? {
        containsValue(forKey: key) ? decodeBool(forKey: key) : nil
    }

    /// A value that is archived as its number; nil for a number that is none of the type's.
    func valueIfPresent<Value: RawRepresentable<Int>>(of type: Value.Type, forKey key: String) -> Value? {
        guard containsValue(forKey: key) else { return nil }
        return Value(rawValue: Int(truncatingIfNeeded: decodeInt64(forKey: key)))
    }

    func objectIfPresent<Object: NSObject & NSCoding>(of type: Object.Type, forKey key: String) -> Object? {
        guard containsValue(forKey: key) else { return nil }
        return decodeObject(of: type, forKey: key)
    }

    func listIfPresent<Object: NSObject & NSCoding>(of type: Object.Type, forKey key: String) -> [Object]? {
        guard containsValue(forKey: key) else { return nil }
        return decodeObject(of: [NSArray.self, type], forKey: key) as? [Object]
    }

    func stringsIfPresent(forKey key: String) -> [String]? {
        guard containsValue(forKey: key) else { return nil }
        return decodeObject(of: [NSArray.self, NSString.self], forKey: key) as? [String]
    }

    /// Writes nothing for nil.
    func encodeIfPresent(_ string: String?, forKey key: String) {
        if let string { encode(string as NSString, forKey: key) }
    }

    /// Writes nothing for nil.
    func encodeIfPresent(_ date: Date?, forKey key: String) {
        if let date { encode(date as NSDate, forKey: key) }
    }

    /// Writes nothing for nil.
    func encodeIfPresent(_ strings: [String]?, forKey key: String) {
        if let strings { encode(strings as NSArray, forKey: key) }
    }

    /// Archives of other kinds have no keys to find a value by.
    func requireKeyedCoding(for type: NSObject.Type) {
        precondition(allowsKeyedCoding, "\(type) needs a keyed archive: use NSKeyedArchiver and NSKeyedUnarchiver")
    }
}
