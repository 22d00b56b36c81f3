/// The rules for names (Documentation/CloudKit.md, Names): ASCII, 1 to 255 characters, and no leading underscore except
/// in the system's own names.
package enum Names {
    /// The zone that every database has. It has no history and no atomic commits.
    package static let defaultZone = "_defaultZone"

    /// Stands for the caller as a zone's owner and in user record ids.
    package static let currentUser = "__defaultOwner__"

    /// The record type of user records, which only the server makes.
    package static let userRecordType = "Users"

    /// The record type of shares.
    package static let shareType = "cloudkit.share"

    /// The name of the share of a whole zone.
    package static let zoneShare = "cloudkit.zoneshare"

    /// The field of a share that holds its picture.
    package static let shareThumbnail = "cloudkit.thumbnailImageData"

    /// The fields that shares alone have: a title, a picture, and the kind of what is shared.
    package static let shareFields = [shareThumbnail, "cloudkit.title", "cloudkit.type"]

    /// With what the names of Brume's own zones begin, in which nothing is shared.
    package static let ownZonePrefix = "brume."

    /// What is wrong with a record name, or nil.
    package static func problemWithRecordName(_ name: String) -> String? {
        problem(name, kind: "record name")
    }

    /// What is wrong with the name of a custom zone, or nil. The default zone's name is not one.
    package static func problemWithZoneName(_ name: String) -> String? {
        problem(name, kind: "zone name")
    }

    /// What is wrong with a record type, or nil.
    package static func problemWithRecordType(_ name: String) -> String? {
        name == shareType ? nil : identifierProblem(name, kind: "record type")
    }

    /// What is wrong with a field's key, or nil.
    package static func problemWithFieldKey(_ name: String) -> String? {
        identifierProblem(name, kind: "field key")
    }

    /// What is wrong with the key of a field of a type, or nil.
    package static func problemWithFieldKey(_ name: String, ofType type: String) -> String? {
        type == shareType && shareFields.contains(name) ? nil : problemWithFieldKey(name)
    }

    /// Whether the bytes are a key that a field may have.
    package static func isFieldKey(_ bytes: UnsafeRawBufferPointer) -> Bool { isIdentifier(bytes) }

    /// Whether the bytes are the name of a type that a record may have.
    package static func isRecordType(_ bytes: UnsafeRawBufferPointer) -> Bool { isIdentifier(bytes) }

    /// Whether the bytes are a name that an app may give a record.
    package static func isRecordName(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let first = bytes.first, bytes.count <= Limits.nameCharacters, first != UInt8(ascii: "_") else {
            return false
        }
        return bytes.allSatisfy { (0x20...0x7E).contains($0) }
    }

    /// What is wrong with the name of a new security role, or nil.
    package static func problemWithRole(_ name: String) -> String? {
        identifierProblem(name, kind: "role's name")
    }

    /// Whether `name` is a user record's name as the server makes them: an underscore and 32 hexadecimal digits.
    package static func isUserRecordName(_ name: String) -> Bool {
        let bytes = name.utf8
        guard bytes.count == 33, bytes.first == UInt8(ascii: "_") else { return false }
        return bytes.dropFirst().allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    /// Bytes that a user record's name is made of.
    package static let userRecordNameBytes = 16

    /// The user record's name that is made of 16 bytes.
    package static func userRecordName(of bytes: some Sequence<UInt8>) -> String { "_" + bytes.hexadecimal }

    /// The bytes that a user record's name is made of; nil for any other name.
    package static func bytes(ofUserRecordName name: String) -> [UInt8]? {
        isUserRecordName(name) ? [UInt8](hexadecimal: name.dropFirst()) : nil
    }

    /// Whether a participant of a share may have the id: 1 to 255 printable ASCII characters, as the UUIDs of apps are.
    package static func isParticipantID(_ id: String) -> Bool {
        let bytes = id.utf8
        return (1...Limits.nameCharacters).contains(bytes.count) && bytes.allSatisfy { (0x20...0x7E).contains($0) }
    }

    /// What is wrong with an account's name, or nil: 1 to 64 letters, digits, "-", "_" and ".".
    package static func problemWithAccountName(_ name: String) -> String? {
        let bytes = name.utf8
        guard !bytes.isEmpty, bytes.count <= 64 else {
            return "an account name has \(bytes.count) characters; give it 1 to 64"
        }
        guard bytes.allSatisfy({ isLetter($0) || (0x30...0x39).contains($0) || $0 == 0x2D || $0 == 0x2E || $0 == 0x5F })
        else {
            return "an account name holds something else than ASCII letters, digits, \"-\", \"_\" and \".\""
        }
        // Scripts make paths of names.
        if bytes.allSatisfy({ $0 == 0x2E }) { return "an account name holds nothing but dots" }
        return nil
    }

    /// What is wrong with a subscription's id, or nil.
    package static func problemWithSubscriptionID(_ id: String) -> String? {
        if id.isEmpty { return "a subscription id is empty; give it 1 to 255 bytes" }
        if id.utf8.count > Limits.nameCharacters {
            return "a subscription id has \(id.utf8.count) bytes; the limit is \(Limits.nameCharacters)"
        }
        return nil
    }

    private static func problem(_ name: String, kind: String) -> String? {
        name.withUTF8Bytes { bytes -> String? in
            if isRecordName(bytes) { return nil }
            guard let first = bytes.first, bytes.count <= Limits.nameCharacters else {
                return "a \(kind) has \(bytes.count) characters; give it 1 to \(Limits.nameCharacters)"
            }
            return first == UInt8(ascii: "_")
                ? "a \(kind) starts with an underscore, which is kept for the system; choose another first character"
                : "a \(kind) holds a character outside of printable ASCII; use letters, digits and punctuation"
        }
    }

    private static func identifierProblem(_ name: String, kind: String) -> String? {
        name.withUTF8Bytes { bytes -> String? in
            if isIdentifier(bytes) { return nil }
            guard let first = bytes.first, bytes.count <= Limits.nameCharacters else {
                return "a \(kind) has \(bytes.count) characters; give it 1 to \(Limits.nameCharacters)"
            }
            return isLetter(first)
                ? "a \(kind) holds something else than ASCII letters, digits and underscores; use these alone"
                : "a \(kind) starts with something else than an ASCII letter; let it start with one"
        }
    }

    /// What is wrong with the name of a container, or nil.
    package static func problemWithContainer(_ name: String) -> String? {
        let prefix = "iCloud."
        if name.hasPrefix(prefix), name.utf8.count > prefix.utf8.count, name.utf8.count <= Limits.nameCharacters,
            name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        {
            return nil
        }
        return "a container's name starts with \"\(prefix)\" and has at most \(Limits.nameCharacters) characters of "
            + "printable ASCII without spaces; correct the name"
    }

    private static func isIdentifier(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let first = bytes.first, bytes.count <= Limits.nameCharacters, isLetter(first) else { return false }
        return bytes.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "_") }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }
}
