internal import BrumeModel
internal import BrumeRecord

/// What a server makes of an encrypted field.
enum FieldLie: Sendable {
    case swap(String, String)
    case value(String, FieldValue)
    case plainText(String, String)
    /// The first field is said to be of the files of the second one.
    case files(String, String)
    case plainFiles(String)
    case flip(String, Int)
    case cut(String, Int)
    case lengthen(String)
    /// Fields more, with values of so many trees that there are none of.
    case madeUpTrees(Int)

    /// The fields of a record that are other ones; none where the record does not have what it takes.
    func told(_ fields: [String: FieldValue]) -> [String: FieldValue] {
        func changed(_ key: String, _ change: (inout [UInt8]) -> Void) -> [String: FieldValue] {
            guard case .encrypted(let value)? = fields[key] else { return [:] }
            var bytes = value.bytes
            change(&bytes)
            return bytes == value.bytes
                ? [:] : [key: .encrypted(EncryptedValue(value.kind, bytes, assets: value.assets))]
        }
        switch self {
        case .swap(let first, let second):
            guard let left = fields[first], let right = fields[second] else { return [:] }
            return [first: right, second: left]
        case .value(let key, let value): return fields[key] == nil ? [:] : [key: value]
        case .plainText(let key, let text): return fields[key] == nil ? [:] : [key: .string(text)]
        case .files(let key, let other):
            guard case .encrypted(let value)? = fields[key], case .encrypted(let others)? = fields[other],
                value.assets.count == others.assets.count
            else { return [:] }
            return [key: .encrypted(EncryptedValue(value.kind, value.bytes, assets: others.assets))]
        case .plainFiles(let key):
            guard case .encrypted(let value)? = fields[key], let first = value.assets.first else { return [:] }
            return [key: value.kind == .asset ? .asset(first) : .assets(value.assets)]
        case .flip(let key, let index):
            return changed(key) { bytes in
                if bytes.indices.contains(index) { bytes[index] ^= 1 }
            }
        case .cut(let key, let count): return changed(key) { $0 = Array($0.prefix(count)) }
        case .lengthen(let key): return changed(key) { $0.append(0) }
        case .madeUpTrees(let count):
            let made = (0..<count).map { number in
                // Format, suite, the tree's id, its kind, the key's number (EncryptionFormats.md, section 4); no seal.
                let tree = [UInt8](repeating: UInt8(truncatingIfNeeded: 200 + number), count: 16)
                let bytes = [1, 1] + tree + [0, 1, 0, 0, 0] + [UInt8](repeating: 7, count: 80)
                return ("madeUp\(number)", FieldValue.encrypted(EncryptedValue(.string, bytes)))
            }
            return Dictionary(made) { first, _ in first }
        }
    }
}

/// What a server makes of a record's stamp.
enum StampLie: Sendable {
    case flip(Int)
    case removed
    case other([UInt8])

    /// Nil where the record does not have what the lie takes.
    func told(_ stamp: [UInt8]) -> [UInt8]? {
        switch self {
        case .flip(let index):
            guard stamp.indices.contains(index) else { return nil }
            var stamp = stamp
            stamp[index] ^= 1
            return stamp
        case .removed: return stamp.isEmpty ? nil : []
        case .other(let other): return other
        }
    }
}

/// A record as a lying server answers with it.
enum RecordLie {
    /// Numbers of `brume.v1.Record`.
    private static let (nameNumber, typeNumber, parentNumber): (UInt64, UInt64, UInt64) = (1, 2, 8)
    private static let modifiedNumber: UInt64 = 7
    /// Where a record has the participants of its share, and the numbers of `is_accepted` and `user` in
    /// `brume.v1.ShareParticipant`.
    private static let participantsPath: [UInt64] = [10, 4]
    private static let (acceptedNumber, userNumber): (UInt64, UInt64) = (4, 5)
    private static let stampNumber = UInt64(StoredRecord.stampNumber)
    private static let fieldNumber = UInt64(StoredRecord.fieldsNumber)

    /// The record with other values in some fields: all else is as it was, byte for byte.
    static func replacingFields(_ fields: [String: FieldValue], of record: UnsafeRawBufferPointer) -> [UInt8] {
        var bytes = WireEdit.replacing(record, number: fieldNumber) { field in
            let key = (try? StoredRecord.key(ofField: field)).map { String(decoding: $0, as: UTF8.self) }
            return key.map { fields[$0] != nil } == true ? .left : .kept
        }
        for (key, value) in fields {
            WireEdit.append(StoredRecord.encodeField(key: key, value: value).bytes, number: fieldNumber, to: &bytes)
        }
        return bytes
    }

    /// The record as one of another name.
    static func replacingName(_ name: String, of record: UnsafeRawBufferPointer) -> [UInt8] {
        WireEdit.replacing(record, number: nameNumber) { _ in .replaced(Array(name.utf8)) }
    }

    /// A share that was never changed, and in which a participant has not come yet, nor is known.
    static func showingAsInvited(_ user: String, in share: UnsafeRawBufferPointer) -> [UInt8] {
        WireEdit.removing(modifiedNumber, from: share).withUnsafeBytes { share in
            WireEdit.replacing(share, path: participantsPath) { _, participant in
                guard String(decoding: participant, as: UTF8.self).contains(user) else { return .kept }
                return WireEdit.removing(acceptedNumber, from: participant).withUnsafeBytes { invited in
                    .replaced(WireEdit.removing(userNumber, from: invited))
                }
            }
        }
    }

    /// A share in which another participant's entry names a user, too.
    static func showingOther(_ other: String, as user: String, in share: UnsafeRawBufferPointer) -> [UInt8] {
        WireEdit.replacing(share, path: participantsPath) { places, participant in
            guard places.last != 0, String(decoding: participant, as: UTF8.self).contains(other) else { return .kept }
            return WireEdit.removing(userNumber, from: participant).withUnsafeBytes { rest in
                var told = Array(rest)
                WireEdit.append(Array(user.utf8), number: userNumber, to: &told)
                return .replaced(told)
            }
        }
    }

    /// The record as one of another type.
    static func replacingType(_ type: String, of record: UnsafeRawBufferPointer) -> [UInt8] {
        WireEdit.replacing(record, number: typeNumber) { _ in .replaced(Array(type.utf8)) }
    }

    /// The record with another stamp, or with none.
    static func replacingStamp(_ stamp: [UInt8], of record: UnsafeRawBufferPointer) -> [UInt8] {
        var bytes = WireEdit.replacing(record, number: stampNumber) { _ in .left }
        if !stamp.isEmpty { WireEdit.append(stamp, number: stampNumber, to: &bytes) }
        return bytes
    }

    /// The record below another one.
    static func replacingParent(_ parent: String, of record: UnsafeRawBufferPointer) -> [UInt8] {
        var isBelow = false
        let bytes = WireEdit.replacing(record, number: parentNumber) { _ in
            isBelow = true
            return .replaced(Array(parent.utf8))
        }
        if isBelow { return bytes }
        var first: [UInt8] = []
        WireEdit.append(Array(parent.utf8), number: parentNumber, to: &first)
        return first + bytes
    }
}
