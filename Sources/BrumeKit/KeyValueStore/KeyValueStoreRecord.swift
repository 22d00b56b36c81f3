internal import Foundation

/// How a key-value store lies on the server: a zone of the private database with one record for each key.
///
/// Names may not begin with the system's underscore, so that the zone shows among the account's. The record's name is
/// `k-` and the key's UTF-8, in which bytes other than ASCII letters, digits, `-` and `.` stand as `%` and two
/// hexadecimal digits.
enum KeyValueStoreRecord {
    static let zoneID = CKRecordZone.ID(zoneName: "brume.key-value-store")
    static let recordType = "BrumeKeyValue"
    static let valueKey = "value"
    static let subscriptionID = "brume.key-value-store"

    private static let prefix = "k-"

    static func recordID(forKey key: String) -> CKRecord.ID {
        CKRecord.ID(recordName: recordName(forKey: key), zoneID: zoneID)
    }

    static func recordName(forKey key: String) -> String {
        var name = Array(prefix.utf8)
        // Strings that are equal in Swift are one key, however they are composed.
        for byte in key.precomposedStringWithCanonicalMapping.utf8 {
            if isPlain(byte) {
                name.append(byte)
            } else {
                name.append(UInt8(ascii: "%"))
                name.append(digits[Int(byte >> 4)])
                name.append(digits[Int(byte & 15)])
            }
        }
        return String(decoding: name, as: UTF8.self)
    }

    /// Nil: no key's record has that name.
    static func key(ofRecordName name: String) -> String? {
        guard name.hasPrefix(prefix) else { return nil }
        var bytes: [UInt8] = []
        var rest = name.utf8.dropFirst(prefix.utf8.count)
        while let byte = rest.popFirst() {
            if byte != UInt8(ascii: "%") {
                bytes.append(byte)
            } else {
                guard let high = rest.popFirst().flatMap(digits.firstIndex(of:)),
                    let low = rest.popFirst().flatMap(digits.firstIndex(of:))
                else { return nil }
                bytes.append(UInt8(high << 4 | low))
            }
        }
        // A key has one name, so that no two records are one key.
        guard let key = String(validating: bytes, as: UTF8.self),
            recordName(forKey: key) == name
        else { return nil }
        return key
    }

    private static let digits = Array("0123456789ABCDEF".utf8)

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."): true
        default: false
        }
    }
}
