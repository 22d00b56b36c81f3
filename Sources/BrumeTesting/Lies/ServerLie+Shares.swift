public import BrumeKit

extension ServerLie {
    /// What is shared, and has keys of its own: a record with all below it, or a zone.
    ///
    /// The ids are those that the device's app has: a participant's have the owner's name in their zone's id.
    public enum Shared: Sendable {
        /// The record that a share was made for.
        case record(CKRecord.ID)
        /// A zone that is shared as a whole.
        case zone(CKRecordZone.ID)

        var zoneID: CKRecordZone.ID {
            switch self {
            case .record(let id): id.zoneID
            case .zone(let id): id
            }
        }

        var text: String {
            switch self {
            case .record(let id): id.recordName
            case .zone(let id): id.zoneName
            }
        }
    }
}

/// The keys of what is shared. A device of the owner's makes them when it saves the share, and each save of an
/// encrypted value below a shared record, or in a shared zone, takes the newest one.
extension ServerLie {
    /// What is shared has no keys.
    ///
    /// A device that knows them goes on reading and writing with what it knows. Where it has to ask, it gives them back
    /// to the server; as long as they stay hidden its saves of encrypted values fail with `zoneBusy`, and values with
    /// newer keys are `keyMissing`. A device that does not know them reads nothing (`noKeys`), and its saves of
    /// encrypted values fail with `accountTemporarilyUnavailable`, or with `zoneBusy` in a zone of the account's own.
    /// Ten seconds after the truth, or in another run of the app, devices read all.
    public static func hidesKeys(of shared: Shared) -> ServerLie {
        ServerLie("keys of \(shared.text) are hidden", .keys(.upTo(0), of: shared))
    }

    /// What is shared has the keys up to that number alone.
    ///
    /// A device that knows more never encrypts with those: it gives the others back, and as long as they stay hidden
    /// its saves of encrypted values fail with `zoneBusy` where it has to ask. A guest who was taken in later reads
    /// nothing (`keyMissing`), and saves of encrypted values fail with `accountTemporarilyUnavailable`.
    public static func showsKeys(of shared: Shared, upTo number: Int) -> ServerLie {
        ServerLie("\(shared.text) has keys up to \(number)", .keys(.upTo(UInt32(number)), of: shared))
    }

    /// The server says that what is shared has keys, and hands none out. Saves of encrypted values fail with
    /// `accountTemporarilyUnavailable` where the device has to ask; what it has the keys of it reads.
    public static func withholdsKeys(of shared: Shared) -> ServerLie {
        ServerLie("keys of \(shared.text) are withheld", .keys(.withheld, of: shared))
    }

    /// From that number on what is shared has a history of its own for this device: the keys that it adds are taken,
    /// and shown to it alone.
    ///
    /// What it encrypts with them the server refuses as ever, so such saves fail with `accountTemporarilyUnavailable`.
    /// When it sees the others' keys it encrypts nothing more there; what it had the keys of it still reads, and the
    /// rest is `keyMissing`.
    public static func forksKeys(of shared: Shared, after number: Int) -> ServerLie {
        ServerLie("keys of \(shared.text) are forked after \(number)", .keys(.apart(after: UInt32(number)), of: shared))
    }

    /// What is shared has one more key than when the lie begins, made by a device whose account may not make any, since
    /// it only reads, or takes part no more. Genuine keys that come later stay hidden.
    ///
    /// Nothing is encrypted or opened with that key: saves of encrypted values fail with
    /// `accountTemporarilyUnavailable` where the device has to ask; what it has the keys of it reads.
    public static func showsKeys(of shared: Shared, madeBy device: TestDevice) -> ServerLie {
        ServerLie("\(shared.text) has a key of \(device.name)", .entry(by: device, of: shared))
    }

    /// What is shared has keys that the server made in its owner's name. Those of another user it gives to the device's
    /// account, and beside them the owner's own keys are the server's, too.
    ///
    /// Nothing is encrypted or opened with them: saves of encrypted values fail with `accountTemporarilyUnavailable`,
    /// and accepting the share by its whole URL fails with `permissionFailure`. Another device of a guest's, which has
    /// seen neither the URL nor the owner's keys, takes them for the owner's for good.
    public static func showsStrangersKeys(of shared: Shared) -> ServerLie {
        ServerLie("keys of \(shared.text) are a stranger's", .keys(.strangers, of: shared))
    }
}
