package import BrumeModel
internal import Foundation

/// A record on its way to the server: what it held when the save began.
package struct OutgoingRecord: Sendable {
    /// The instance that the app saves. It takes the answer; see ``CKRecord/applySaved(_:fields:of:currentUser:)``.
    package let record: CKRecord
    let sent: CKRecordState

    /// Why the server can't be asked to save it.
    var refusal: CKError? { record is CKShare ? .noSharing : nameRefusal ?? sent.local.refusal }

    private var nameRefusal: CKError? {
        let problem =
            Names.problemWithRecordType(record.recordType) ?? CKRecord.ID.problem(withName: record.recordID.recordName)
            ?? record.recordID.zoneID.problem
        return problem.map { CKError(.invalidArguments, message: "\(record.recordID) can't be saved: \($0)") }
    }

    /// The save as a request carries it.
    package func save(policy: SavePolicy) -> RecordSave<DecodedFields> {
        sent.save(name: record.recordID.recordName, type: record.recordType, policy: policy)
    }

    /// The record as it was sent, for a conflict's `ClientRecord`.
    package func clientRecord() -> CKRecord {
        CKRecord(recordType: record.recordType, recordID: record.recordID, state: sent)
    }

    /// The version that the sent edits started from, for a conflict's `AncestorRecord`; nil when it is not known, as
    /// for a new record or one made from archived system fields.
    package func ancestorRecord() -> CKRecord? {
        guard let base = sent.base else { return nil }
        let state = CKRecordState(version: base.version, parent: base.parent, fields: base.fields)
        return CKRecord(recordType: record.recordType, recordID: record.recordID, state: state)
    }
}

extension CKRecord {
    /// The record of an answer; nil for names that no record can have.
    ///
    /// - Parameter currentUser: The current user's record name, shown to the app as ``CKCurrentUserDefaultName``.
    package convenience init?(_ record: Record, zoneID: CKRecordZone.ID, currentUser: String?) {
        let system = record.system
        guard CKRecord.ID.problem(withName: system.name) == nil, Self.holdsValidNames(record) else { return nil }
        self.init(
            recordType: system.type, recordID: CKRecord.ID(recordName: system.name, zoneID: zoneID),
            state: CKRecordState(
                version: CKRecordState.Version(system, currentUser: currentUser), parent: system.parent,
                fields: record.fields))
    }

    /// Begins a save: takes what the record holds now.
    package func outgoing() -> OutgoingRecord {
        OutgoingRecord(record: self, sent: snapshot)
    }

    /// Takes over the server's answer to a save. Edits that the app made while the save was on its way stay changed.
    ///
    /// - Parameters:
    ///   - system: The saved version.
    ///   - fields: Its fields, or nil when the answer leaves them out because they are those that were sent.
    ///   - outgoing: The save that this is the answer to.
    ///   - currentUser: The current user's record name, shown to the app as ``CKCurrentUserDefaultName``.
    package func applySaved(
        _ system: SystemFields, fields: [String: FieldValue]?, of outgoing: OutgoingRecord, currentUser: String?
    ) {
        let version = CKRecordState.Version(system, currentUser: currentUser)
        updateState { $0.saved(as: version, parent: system.parent, fields: fields, sent: outgoing.sent) }
    }

    /// Parents and references become ids when they are read, so a peer's names are checked before.
    static func holdsValidNames(_ record: Record) -> Bool {
        if let parent = record.system.parent, CKRecord.ID.problem(withName: parent) != nil { return false }
        for value in record.fields.values {
            switch value {
            case .reference(let reference):
                if CKRecord.ID.problem(withName: reference.recordName) != nil { return false }
            case .references(let references):
                for reference in references where CKRecord.ID.problem(withName: reference.recordName) != nil {
                    return false
                }
            default: break
            }
        }
        return true
    }
}

extension CKRecordState.Version {
    /// The version of an answer.
    init(_ system: SystemFields, currentUser: String?) {
        func shown(_ name: String) -> String { name == currentUser ? CKCurrentUserDefaultName : name }
        func date(_ milliseconds: Int64) -> Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }
        self.init(
            changeTag: system.changeTag, creator: shown(system.creator),
            creationDate: system.createdMilliseconds == 0 ? nil : date(system.createdMilliseconds),
            modifier: shown(system.modifier),
            modificationDate: date(system.modifiedMilliseconds))
    }
}
