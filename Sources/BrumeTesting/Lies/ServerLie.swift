public import BrumeKit

/// One thing that a server shows to a device otherwise than it is, about what is encrypted.
///
/// ```swift
/// try await server.lie(.swapsFields("text", "title", of: note.recordID), to: phone)
/// let seen = try await phone.privateCloudDatabase.record(for: note.recordID)
/// #expect(seen.unreadableFields == ["text": .damaged, "title": .damaged])
/// ```
///
/// The lie stands in the answers that reach the device; what the server has stays as it is. Use it to see that an app
/// copes with fields that can't be read and with saves that can't be encrypted. `Documentation/Security.md` says what a
/// device does about each lie.
public struct ServerLie: Sendable, CustomStringConvertible {
    enum Part: Sendable {
        case field(FieldLie, of: CKRecord.ID)
        /// The value of this record's field, as the server has it when the lie begins, in another record.
        case copy(String, from: CKRecord.ID, account: String?, to: CKRecord.ID)
        case recordType(String, of: CKRecord.ID)
        /// A record as the server has it when the lie begins, in the place of another.
        case record(CKRecord.ID, insteadOf: CKRecord.ID)
        /// A record below another one.
        case parent(String, of: CKRecord.ID)
        case stamp(StampLie, of: CKRecord.ID)
        /// A participant of a share who has not come yet.
        case invited(String, of: CKRecord.ID)
        case name(String, of: CKRecord.ID)
        /// The participant who is this user is shown as that one.
        case participant(String, as: String, of: CKRecord.ID)
        /// The user record name that the server gives for the device's token.
        case account(String)
        /// The stamp of a record, as the server has it when the lie begins, on another one.
        case copyStamp(from: CKRecord.ID, to: CKRecord.ID)
        case file(FileLie, field: String, of: CKRecord.ID)
        /// How much of each upload to a zone there is.
        case uploads(byteCount: UInt64, zone: CKRecordZone.ID)
        /// Records that are to be encrypted anew.
        case misplaced([CKRecord.ID])
        case keys(KeysLie, of: Shared)
        /// One more entry of a ring, which a device that may not has made.
        case entry(by: TestDevice, of: Shared)
        case news(NewsLie, of: Shared)
        case joining(Shared)
        /// What a user has for keys beside those of a zone.
        case userKeys(KeysLie, user: String, zone: CKRecordZone.ID)
        case accountKeys(KeysLie)
        case enrolment(EnrolmentLie, EnrolmentMessage)
        case staleKeys(zone: String)
        case encryptedFields(zone: String)
        case zoneIsGone(String, CKDatabase.DatabaseChange.Deletion.Reason)
    }

    let parts: [Part]
    /// The lie in words.
    public let description: String

    init(_ description: String, _ parts: Part...) {
        self.description = description
        self.parts = parts
    }
}

/// Values of records.
extension ServerLie {
    /// A record is answered under another name than the one that was saved or asked for; an empty one is none at all.
    /// The call fails, or the record's result does.
    public static func showsName(_ name: String, of recordID: CKRecord.ID) -> ServerLie {
        ServerLie("\(recordID.recordName) is called \(name)", .name(name, of: recordID))
    }

    /// Two fields show each other's values. Both are `damaged`.
    public static func swapsFields(
        _ first: CKRecord.FieldKey, _ second: CKRecord.FieldKey, of recordID: CKRecord.ID
    ) -> ServerLie {
        ServerLie(
            "\(first) and \(second) of \(recordID.recordName) are swapped",
            .field(.swap(first, second), of: recordID))
    }

    /// A field shows the value that the field of the same name of another record has when the lie begins. It is
    /// `damaged`.
    ///
    /// - Parameters:
    ///   - source: The other record: of another type, zone or tree, as the test needs it.
    ///   - account: Whose private database it is in; nil: that of the device's account.
    ///   - target: The record that shows the value.
    public static func copiesField(
        _ key: CKRecord.FieldKey, from source: CKRecord.ID, of account: String? = nil, to target: CKRecord.ID
    ) -> ServerLie {
        ServerLie(
            "\(key) of \(target.recordName) is the one of \(source.recordName)",
            .copy(key, from: source, account: account, to: target))
    }

    /// A field goes on showing the value that it has when the lie begins, whatever is saved, also in a zone that was
    /// deleted and made anew.
    ///
    /// An older value of the same life of the zone is genuine, and a device can't tell: it reads the old value beside
    /// the newer ones of other fields. A value of an earlier life is `damaged`.
    public static func keepsField(_ key: CKRecord.FieldKey, of recordID: CKRecord.ID) -> ServerLie {
        ServerLie(
            "\(key) of \(recordID.recordName) stays as it is",
            .copy(key, from: recordID, account: nil, to: recordID))
    }

    /// A field shows a plain text in the place of its encrypted value. It is in no `encryptedValues`; as a plain field
    /// it is the server's word, as all plain fields are.
    public static func showsPlainText(
        _ text: String, inField key: CKRecord.FieldKey, of recordID: CKRecord.ID
    ) -> ServerLie {
        ServerLie("\(key) of \(recordID.recordName) is plain", .field(.plainText(key, text), of: recordID))
    }

    /// A byte of a field's encrypted value is another one. The field is `damaged`; with the first two bytes, which tell
    /// the format, `newerVersion`, and with bytes 18 to 22, which tell the key, `keyMissing` where the zone has none of
    /// that number.
    ///
    /// - Parameter index: Which byte; one that the value does not have leaves it as it is.
    public static func flipsByte(
        _ index: Int, ofField key: CKRecord.FieldKey, of recordID: CKRecord.ID
    ) -> ServerLie {
        precondition(index >= 0, "a value has no byte \(index)")
        return ServerLie(
            "byte \(index) of \(key) of \(recordID.recordName) is flipped", .field(.flip(key, index), of: recordID))
    }

    /// A field's encrypted value ends after so many bytes. The field is `damaged`.
    public static func cutsField(
        _ key: CKRecord.FieldKey, of recordID: CKRecord.ID, toByteCount count: Int
    ) -> ServerLie {
        precondition(count >= 0, "no value has \(count) bytes")
        return ServerLie(
            "\(key) of \(recordID.recordName) has \(count) bytes", .field(.cut(key, count), of: recordID))
    }

    /// A field's encrypted value has a byte more at its end. The field is `damaged`.
    public static func lengthensField(_ key: CKRecord.FieldKey, of recordID: CKRecord.ID) -> ServerLie {
        ServerLie("\(key) of \(recordID.recordName) has a byte more", .field(.lengthen(key), of: recordID))
    }

    /// A record has encrypted values more, of so many trees that there are none of. They are `keyMissing`, and nothing
    /// is encrypted in the record, or below it, for those with whom it is shared.
    public static func showsMadeUpTrees(_ count: Int, of recordID: CKRecord.ID) -> ServerLie {
        precondition((1...50).contains(count), "values of 1 to 50 trees are made up, and not of \(count)")
        return ServerLie(
            "\(recordID.recordName) has values of \(count) trees that there are none of",
            .field(.madeUpTrees(count), of: recordID))
    }

    /// A field with an encrypted file names the stored file of another field. It is `damaged` where the files are not
    /// of one size, and both are where they are: a content would pass for two.
    public static func showsFile(
        ofField other: CKRecord.FieldKey, inField key: CKRecord.FieldKey, of recordID: CKRecord.ID
    ) -> ServerLie {
        ServerLie(
            "\(key) of \(recordID.recordName) is the file of \(other)", .field(.files(key, other), of: recordID))
    }

    /// A field with an encrypted file is shown as a plain one. It is `notEncrypted`.
    public static func showsPlainFile(inField key: CKRecord.FieldKey, of recordID: CKRecord.ID) -> ServerLie {
        ServerLie("the file in \(key) of \(recordID.recordName) is plain", .field(.plainFiles(key), of: recordID))
    }

    /// Another record of the same zone, whole and with its name, stands wherever a record belongs.
    ///
    /// A fetch of the record by its id, a save of it, and a conflict are `internalError`: an app must not take one for
    /// the other. In pages of changes and in queries the record is missing, and the other one is there as it is.
    public static func showsRecord(_ other: CKRecord.ID, insteadOf recordID: CKRecord.ID) -> ServerLie {
        ServerLie(
            "\(other.recordName) stands for \(recordID.recordName)", .record(other, insteadOf: recordID))
    }

    /// A record is of another type. All its encrypted fields are `damaged`.
    public static func showsRecordType(_ recordType: CKRecord.RecordType, of recordID: CKRecord.ID) -> ServerLie {
        ServerLie("\(recordID.recordName) is a \(recordType)", .recordType(recordType, of: recordID))
    }

    /// A record is below another one of its zone, by its parent reference.
    ///
    /// Which record is below which is the server's word. Values are read as ever. What is encrypted in a private record
    /// says that it is elsewhere, so that saves of new values fail with `accountTemporarilyUnavailable` where it is
    /// shown below a shared one.
    public static func showsParent(_ parent: CKRecord.ID, of recordID: CKRecord.ID) -> ServerLie {
        ServerLie(
            "\(recordID.recordName) is below \(parent.recordName)", .parent(parent.recordName, of: recordID))
    }

    /// Records of one zone of the account's own have encrypted values of another tree than the one that they are in,
    /// and are to be encrypted anew.
    ///
    /// A device does that with its next ``CKDatabase/reencryptRecords(in:)``, or when something moves in the zone:
    /// those that are where they were stay as they are.
    public static func listsForReencryption(_ recordIDs: [CKRecord.ID]) -> ServerLie {
        let names = recordIDs.map(\.recordName).joined(separator: ", ")
        return ServerLie("\(names) are encrypted in another tree", .misplaced(recordIDs))
    }
}
