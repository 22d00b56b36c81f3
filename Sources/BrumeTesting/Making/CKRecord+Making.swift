public import BrumeKit
internal import BrumeModel
public import FoundationEssentials

extension CKRecord {
    /// A copy of the record as if a server had saved it: with the system fields that only a server gives, and without
    /// changed keys.
    ///
    /// ```swift
    /// let note = CKRecord(recordType: "Note", recordID: id)
    /// note["text"] = "milk"
    /// let fetched = note.asSaved(changeTag: "2", modified: .now, modifier: otherUser)
    /// ```
    ///
    /// A real server takes its tag for that of an older version: saving the copy there is a conflict, or, where there
    /// is no such record, `unknownItem`. Assets stay behind. The copy of a `CKShare` is a
    /// `CKShare`: it shows its participants as a server would, and its URL leads nowhere.
    ///
    /// - Parameters:
    ///   - changeTag: What ``BrumeKit/CKRecord/recordChangeTag`` says.
    ///   - created: When the record was made, in whole milliseconds; by default at the beginning of 2001, UTC.
    ///   - creator: Who made it; by default the current user.
    ///   - modified: When it was changed last; nil: when it was made.
    ///   - modifier: Who changed it last; nil: who made it.
    public func asSaved(
        changeTag: String = "1", created: Date = Date(timeIntervalSinceReferenceDate: 0),
        creator: CKRecord.ID = CKRecord.ID(recordName: CKCurrentUserDefaultName), modified: Date? = nil,
        modifier: CKRecord.ID? = nil
    ) -> CKRecord {
        func milliseconds(_ date: Date) -> Int64 { Int64((date.timeIntervalSince1970 * 1_000).rounded()) }
        let fields = outgoing().save(policy: .allKeys).fields.compactMapValues { $0 }
        let system = SystemFields(
            name: recordID.recordName, type: recordType, changeTag: changeTag, creator: creator.recordName,
            createdMilliseconds: milliseconds(created), modifier: (modifier ?? creator).recordName,
            modifiedMilliseconds: milliseconds(modified ?? created), parent: parent?.recordID.recordName)
        let record = Record(
            system: system, fields: fields, share: share?.recordID.recordName,
            shareDetails: (self as? CKShare)?.savedView(addedMilliseconds: system.modifiedMilliseconds))
        guard
            let copy = CKRecord.make(
                record, zoneID: recordID.zoneID, context: AnswerContext(currentUser: CKShare.madeUser))
        else {
            preconditionFailure("\(recordID) is no record's id on any server")
        }
        copy.showEncryptedValues(of: self)
        return copy
    }
}

extension CKRecordZone {
    /// The zone as a server gives it, with the capabilities of a custom zone.
    public func asSaved() -> CKRecordZone {
        CKRecordZone(
            zoneID: zoneID,
            capabilities: zoneID == .default ? [] : [.fetchChanges, .atomic, .sharing, .zoneWideSharing])
    }
}
