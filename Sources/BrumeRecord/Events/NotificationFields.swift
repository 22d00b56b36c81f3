package import BrumeModel
internal import CBrumeProto

/// The fields of a record that a notification carries: the values of a few keys, each of a bounded size
/// (Documentation/CloudKit.md, Subscriptions).
///
/// The record is read in place, and only what is carried is decoded, so a stored value costs no more time and memory
/// than what a notification shows of it: lists, bytes, assets and encrypted values are left out without reading what is
/// in them, and texts are cut before they become strings.
package struct NotificationFields: Equatable, Sendable {
    package private(set) var values: [String: FieldValue] = [:]
    /// Whether a value was left out or cut.
    package private(set) var isPruned = false
    /// The number of the record's fields that were read: the cost of reading.
    package private(set) var fieldsRead = 0

    /// - Parameter keys: At most ``Limits/notificationDesiredKeys`` of them.
    package init(of record: UnsafeRawBufferPointer, keys: [String]) {
        if keys.isEmpty { return }
        var missing = keys
        var reader = StoredRecordReader(record)
        while !missing.isEmpty, let element = reader.next() {
            guard case .field(let keyBytes, let field) = element else { continue }
            fieldsRead += 1
            guard let index = missing.firstIndex(where: { ByteOrder.compare($0, keyBytes) == 0 }) else { continue }
            keep(StoredRecordReader.value(ofField: field), of: missing.remove(at: index), field)
        }
    }

    private mutating func keep(_ value: StoredValue, of key: String, _ field: UnsafeRawBufferPointer) {
        switch value {
        case .scalar(.string(let text)):
            let bounded = Self.bounded(text)
            values[key] = .string(bounded)
            if bounded.utf8.count != text.count { isPruned = true }
        case .scalar(.int64(let number)): values[key] = .int64(number)
        case .scalar(.double(let number)): values[key] = .double(number)
        case .scalar(.date(let date)): values[key] = .date(date)
        case .scalar(.location), .scalar(.reference): values[key] = Self.decoded(field)
        case .scalar(.bytes), .list, .opaque: isPruned = true
        case .missing: break
        }
    }

    /// Decodes a small value with all its parts: a location has more than ``StoredScalar`` holds.
    private static func decoded(_ field: UnsafeRawBufferPointer) -> FieldValue? {
        let arena = MessageArena(bytesLimit: 16 * 1024)
        return withExtendedLifetime(arena) {
            arena.unpack(brume__v1__field__unpack, field).flatMap { $0.pointee.value }.flatMap { FieldValue($0) }
        }
    }

    /// The first ``Limits/notificationTextCharacters`` characters in at most ``Limits/notificationTextBytes`` bytes:
    /// cut by bytes first, since a character may have any number of them and finding its end reads all.
    private static func bounded(_ text: UnsafeRawBufferPointer) -> String {
        var count = min(text.count, Limits.notificationTextBytes)
        // A byte that continues a code point is no place to cut.
        while count < text.count, count > 0, text[count] & 0xC0 == 0x80 { count -= 1 }
        let start = String(decoding: UnsafeRawBufferPointer(rebasing: text[..<count]), as: UTF8.self)
        if count <= Limits.notificationTextCharacters { return start }
        return String(start.prefix(Limits.notificationTextCharacters))
    }
}
