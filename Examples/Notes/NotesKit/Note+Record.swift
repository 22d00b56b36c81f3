internal import CloudKit

extension Note {
    static let zoneID = CKRecordZone.ID(zoneName: "Notes")
    static let recordType = "Note"

    static func recordID(_ id: String) -> CKRecord.ID { CKRecord.ID(recordName: id, zoneID: zoneID) }

    /// The note in a record.
    ///
    /// - Parameter picture: Where the program has its picture.
    init(_ record: CKRecord, picture: URL?) {
        self.init(
            id: record.recordID.recordName, title: record["title"] ?? "", text: record["text"] ?? "", picture: picture,
            edited: record["edited"] ?? Date(timeIntervalSinceReferenceDate: 0))
    }
}

extension NoteRow {
    /// The record to send: the note's values, on the version of the server that this device knows.
    func record() -> CKRecord {
        let record =
            systemFields.flatMap(CKRecord.init(systemFields:))
            ?? CKRecord(recordType: Note.recordType, recordID: Note.recordID(note.id))
        record["title"] = note.title
        record["text"] = note.text
        record["edited"] = note.edited
        // A record holds the fields that are to change: an old picture is not sent again.
        if note.picture != base?.picture { record["picture"] = note.picture.map { CKAsset(fileURL: $0) } }
        return record
    }

    /// The server and this device agree on what the record says.
    ///
    /// - Parameter picture: Where the program has the record's picture.
    mutating func agree(on record: CKRecord, picture: URL?) {
        base = Note(record, picture: picture)
        systemFields = record.systemFields
    }
}

extension CKRecord {
    /// What has to be kept of a record beside its values.
    var systemFields: Data {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        encodeSystemFields(with: archiver)
        archiver.finishEncoding()
        return archiver.encodedData
    }

    convenience init?(systemFields: Data) {
        guard let unarchiver = try? NSKeyedUnarchiver(forReadingFrom: systemFields) else { return nil }
        unarchiver.requiresSecureCoding = true
        defer { unarchiver.finishDecoding() }
        self.init(coder: unarchiver)
    }
}
