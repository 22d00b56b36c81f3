extension CKRecord {
    /// Brume's addition: why an encrypted field has no value here though the record has one; see
    /// ``CKRecord/unreadableFields``.
    ///
    /// There may be more of them in later versions: a `switch` needs a `default`.
    public enum UnreadableReason: Int, Hashable, Sendable {
        /// This device does not have the account's keys, or nobody gave the account those of the field: see
        /// ``CKContainer/encryptionStatus()``. Once it has them, fetch the record again.
        case noKeys = 1
        /// The device has the account's keys, but not the one with which the value was encrypted.
        case keyMissing = 2
        /// The value is not as a device encrypted it for this field of this record. Set the field anew, or remove it.
        case damaged = 3
        /// A newer version of Brume encrypted it: update the app.
        case newerVersion = 4
        /// It is an asset that nobody encrypted, in a zone whose assets are: the server put it there, or the app, or a
        /// client without the account's keys, saved it before something was encrypted in the zone.
        /// Set the field anew, or remove it; ``BrumeConfiguration/acceptsPlainAssets`` hands such files out.
        case notEncrypted = 5
    }

    /// Brume's addition: the encrypted fields and files that the record has and that can't be read here, each with the
    /// reason.
    ///
    /// They are missing in ``encryptedValues``, and assets in the record itself. A save leaves them as they are, unless
    /// it sets or removes them. Fields that were not fetched (`desiredKeys`) are not among them.
    public var unreadableFields: [FieldKey: UnreadableReason] { snapshot.encrypted.unreadable }
}
