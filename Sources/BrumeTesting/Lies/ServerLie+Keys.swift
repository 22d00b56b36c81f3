public import BrumeKit

/// The account that a token belongs to, and so the user whose keys a device takes for its own.
extension ServerLie {
    /// The device's account is another one, from its next connection on (``TestDevice/goOffline()``).
    ///
    /// A device that has kept keys of the account, also before the app was started, encrypts nothing and saves no file:
    /// what has to do with keys fails with `internalError`.
    public static func namesAccount(_ userRecordName: String) -> ServerLie {
        ServerLie("the account is \(userRecordName)", .account(userRecordName))
    }
}

/// The keys of zones. Each save of an encrypted value in a zone takes its newest key; the numbers of keys begin with 1.
extension ServerLie {
    /// A zone has no keys.
    ///
    /// A device that knows them goes on reading and writing with what it knows. Where it has to ask, it gives them back
    /// to the server; as long as they stay hidden its saves of encrypted values fail with `zoneBusy`, and values with
    /// newer keys are `keyMissing`. A device that does not know them reads nothing (`noKeys`). Ten seconds after the
    /// truth, or in another run of the app, devices read all.
    public static func hidesKeys(ofZone zoneID: CKRecordZone.ID) -> ServerLie {
        ServerLie("keys of \(zoneID.zoneName) are hidden", .keys(.upTo(0), of: .zone(zoneID)))
    }

    /// A zone has the keys up to that number alone.
    ///
    /// A device that knows more never encrypts with those: it gives the others back, and as long as they stay hidden
    /// its saves of encrypted values fail with `zoneBusy`. One that does not reads what was encrypted with those that
    /// it is shown, and the rest is `keyMissing`.
    public static func showsKeys(ofZone zoneID: CKRecordZone.ID, upTo number: Int) -> ServerLie {
        ServerLie(
            "\(zoneID.zoneName) has keys up to \(number)", .keys(.upTo(UInt32(number)), of: .zone(zoneID)))
    }

    /// The server says that a zone has keys, and hands none out. Saves of encrypted values fail with
    /// `accountTemporarilyUnavailable` where the device has to ask; what it has the keys of it reads.
    public static func withholdsKeys(ofZone zoneID: CKRecordZone.ID) -> ServerLie {
        ServerLie("keys of \(zoneID.zoneName) are withheld", .keys(.withheld, of: .zone(zoneID)))
    }

    /// From that number on a zone has a history of its own for this device: the keys that it adds are taken, and shown
    /// to it alone.
    ///
    /// What it encrypts with them the server refuses as ever, so such saves fail with `accountTemporarilyUnavailable`.
    /// When it sees the others' keys it encrypts nothing more in the zone; what it had the keys of it still reads, and
    /// the rest is `keyMissing`.
    public static func forksKeys(ofZone zoneID: CKRecordZone.ID, after number: Int) -> ServerLie {
        ServerLie(
            "keys of \(zoneID.zoneName) are forked after \(number)",
            .keys(.apart(after: UInt32(number)), of: .zone(zoneID)))
    }

    /// A zone has keys that the server made, in the name of the device's account. Nothing is encrypted or opened with
    /// them: saves of encrypted values fail with `accountTemporarilyUnavailable`.
    public static func showsStrangersKeys(ofZone zoneID: CKRecordZone.ID) -> ServerLie {
        ServerLie("keys of \(zoneID.zoneName) are a stranger's", .keys(.strangers, of: .zone(zoneID)))
    }

    /// The server refuses each save with encrypted values in a zone as one with an old key. The device looks for newer
    /// keys and encrypts again, a few times, then the save fails with `accountTemporarilyUnavailable`.
    public static func refusesKeys(ofZone zoneID: CKRecordZone.ID) -> ServerLie {
        ServerLie("keys of \(zoneID.zoneName) are refused", .staleKeys(zone: zoneID.zoneName))
    }

    /// The server says of each save in a zone that it takes something away that is encrypted. A device that has the
    /// account's keys saves once more, and is refused again; one without makes none for that. The save fails with
    /// `accountTemporarilyUnavailable`.
    public static func showsFieldsEncrypted(in zoneID: CKRecordZone.ID) -> ServerLie {
        ServerLie("fields in \(zoneID.zoneName) are encrypted", .encryptedFields(zone: zoneID.zoneName))
    }

    /// A zone was deleted, for a reason. Calls for it fail with `zoneNotFound`, or with `userDeletedZone` where it was
    /// purged, and the database's changes have the deletion. Where the device saves the zone again and the server has
    /// it as before, it goes on with its keys.
    public static func saysZoneWasDeleted(
        _ zoneID: CKRecordZone.ID, reason: CKDatabase.DatabaseChange.Deletion.Reason = .deleted
    ) -> ServerLie {
        ServerLie("\(zoneID.zoneName) was deleted", .zoneIsGone(zoneID.zoneName, reason))
    }
}

/// The keys of the account.
extension ServerLie {
    /// The account has no keys. A device that knows them gives them back to the server, and as long as they stay hidden
    /// calls about the account's keys fail with `serviceUnavailable`. One that does not can't make others: the server
    /// has some.
    public static var hidesAccountKeys: ServerLie {
        ServerLie("the account's keys are hidden", .accountKeys(.upTo(0)))
    }

    /// The account's keys were changed only so often: with 1, they are those that its first device made. Each device
    /// that is let in or removed, and each new recovery code, is a change. A device that knows more gives them back, as
    /// with ``hidesAccountKeys``; one that does not can't see what came later, such as its own removal.
    public static func showsAccountKeys(upTo number: Int) -> ServerLie {
        ServerLie("the account's keys end with \(number)", .accountKeys(.upTo(UInt32(number))))
    }

    /// The server says that the account has keys, and hands none out. Calls about the account's keys fail with
    /// `internalError`; in a run of the app that has not seen them before, saves of encrypted values fail with
    /// `accountTemporarilyUnavailable`, and no value is read.
    public static var withholdsAccountKeys: ServerLie {
        ServerLie("the account's keys are withheld", .accountKeys(.withheld))
    }

    /// From that change on the account's keys have a history of their own for this device: what it changes is taken,
    /// and shown to it alone. When it sees the others' it has a conflict (`CKContainer.EncryptionStatus.conflict`), and
    /// encrypts nothing.
    public static func forksAccountKeys(after number: Int) -> ServerLie {
        ServerLie("the account's keys are forked after \(number)", .accountKeys(.apart(after: UInt32(number))))
    }

    /// The account has keys that the server made. A device that has the account's has a conflict; one that has none
    /// asks to be let in, and the recovery code does not let it in.
    public static var showsStrangersAccountKeys: ServerLie {
        ServerLie("the account's keys are a stranger's", .accountKeys(.strangers))
    }

    /// A device of the server's is among those that have the account's keys. A device that has the account's keys has a
    /// conflict.
    public static var addsStrangersDevice: ServerLie {
        ServerLie("the account has a device of a stranger's", .accountKeys(.strangersDevice))
    }

    /// The account's user lost all keys and began anew, with keys of the server's, and a zone was deleted for it. A
    /// device has a conflict, and encrypts nothing with the new keys.
    public static func inventsReset(deleting zoneID: CKRecordZone.ID) -> ServerLie {
        ServerLie(
            "the account's keys were reset", .accountKeys(.strangers), .keys(.upTo(0), of: .zone(zoneID)),
            .zoneIsGone(zoneID.zoneName, .encryptedDataReset))
    }
}
