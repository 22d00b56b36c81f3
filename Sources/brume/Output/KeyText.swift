internal import BrumeKit

/// An account's encryption keys as the command line shows them.
enum KeyText {
    /// Where this device stands, and what to do next.
    static func sentences(_ status: CKContainer.EncryptionStatus) -> (what: String, next: String) {
        switch status {
        case .available:
            (
                "this device has the account's encryption keys",
                "brume key code prints the recovery code, once, if nobody has written it down; brume key devices lists "
                    + "who has the keys"
            )
        case .notSetUp:
            (
                "the account has no encryption keys yet",
                "brume key code makes them and prints the recovery code; the first save of an encrypted value makes "
                    + "them, too"
            )
        case .noKeys(.removed):
            (
                "another device removed this one from those that have the account's encryption keys",
                "let it in again on another device (brume key enrol), or with the recovery code: brume key use"
            )
        case .noKeys(.unreadable):
            (
                "what the account's encryption keys hold for this device is damaged",
                "let it in anew on another device (brume key enrol), or with the recovery code: brume key use"
            )
        case .noKeys:
            (
                "the account has encryption keys, and this device does not have them",
                "let it in on another device (brume key enrol), or with the recovery code: brume key use. Where all "
                    + "devices and the code are lost, brume key reset begins anew, and deletes the zones in which "
                    + "something was encrypted"
            )
        case .conflict:
            (
                "the server shows other encryption keys of the account than this device knows, and nothing is "
                    + "encrypted or opened until a person has decided",
                "if somebody began anew on another device, or the operator restored a backup: let this one in on a device "
                    + "that has those keys (brume key enrol), or with its new recovery code (brume key use). Else ask "
                    + "the operator; brume key reset begins anew on this device, and deletes data"
            )
        }
    }

    /// What to do once a save has made the account's keys.
    static let keysWereMade =
        "the account has encryption keys now, on this device alone. Print the recovery code with brume key code, and "
        + "write it down: without it encrypted values are lost with the device"

    static func json(_ status: CKContainer.EncryptionStatus) -> JSONValue {
        switch status {
        case .available: .object([("status", .string("available"))])
        case .notSetUp: .object([("status", .string("notSetUp"))])
        case .noKeys(let reason): .object([("status", .string("noKeys")), ("reason", .string(word(reason)))])
        case .conflict: .object([("status", .string("conflict"))])
        }
    }

    private static func word(_ reason: CKContainer.EncryptionStatus.Reason) -> String {
        switch reason {
        case .notEnrolled: "notEnrolled"
        case .removed: "removed"
        case .unreadable: "unreadable"
        }
    }

    static func sentence(_ standing: CKContainer.EncryptionPerson.Standing) -> String {
        switch standing {
        case .unknown: "not seen before"
        case .seen: "seen before"
        case .link: "known by a link of theirs"
        case .compared: "safety numbers compared"
        case .changed: "other keys than this device knows"
        }
    }

    private static func word(_ standing: CKContainer.EncryptionPerson.Standing) -> String {
        switch standing {
        case .unknown: "unknown"
        case .seen: "seen"
        case .link: "link"
        case .compared: "compared"
        case .changed: "changed"
        }
    }

    static func text(_ person: CKContainer.EncryptionPerson) -> String {
        "\(person.userRecordID.recordName)  "
            + "\(person.isWaiting ? "waits, " : person.isMember ? "has the keys, " : "")\(sentence(person.standing))\n"
            + "    safety number \(person.safetyNumber)"
    }

    static func json(_ person: CKContainer.EncryptionPerson) -> JSONValue {
        .object([
            ("userRecordName", .string(person.userRecordID.recordName)), ("member", .bool(person.isMember)),
            ("waits", .bool(person.isWaiting)), ("standing", .string(word(person.standing))),
            ("safetyNumber", .string(person.safetyNumber)),
        ])
    }

    static func text(_ device: CKContainer.EncryptionDevice) -> String {
        "\(device.digits)  \(device.name?.printable() ?? "(its name opens on a device that has the keys)")"
            + (device.isCurrent ? "  (this one)" : "")
    }

    static func json(_ device: CKContainer.EncryptionDevice) -> JSONValue {
        .object([
            ("id", .string(device.digits)), ("name", device.name.map(JSONValue.string) ?? .null),
            ("current", .bool(device.isCurrent)),
        ])
    }
}
