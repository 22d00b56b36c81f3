package import BrumeModel
internal import Foundation

/// A record on its way to the server: what it held when the save began.
package struct OutgoingRecord: Sendable {
    /// The instance that the app saves. It takes the answer; see
    /// ``CKRecord/applySaved(_:fieldsOmitted:of:context:)``.
    package let record: CKRecord
    var sent: CKRecordState
    /// The same before its files were uploaded, if any were: another save has to upload them anew.
    var sentBeforeUpload: CKRecordState?
    /// What files of it have to be, by fields and places there: those that are uploaded again.
    var expected: [String: [Int: AssetContent]] = [:]
    /// What was uploaded of its files, by fields and places there.
    var uploads: [String: [Int: UploadedFile]] = [:]
    /// The fields with assets that were uploaded for the save, with their receipts.
    var receipts: [String: FieldValue] = [:]
    /// What the save sends of encrypted fields; nil removes one.
    var sealed: [String: EncryptedValue?] = [:]
    /// Says in which tree of its zone the record is put; empty where nothing does.
    var stamp: [UInt8] = []
    /// The ids of the trees in which what the server has was encrypted, as the app's instance knows them.
    let treeIDs: Set<[UInt8]>
    /// Whether nothing but the server's word says that it is in the private tree in which it is shown, and its values
    /// name another one.
    var isPlaceDoubtful = false
    /// Whether this device has seen something encrypted in it before.
    var hasHeldValues = false
    /// Whether all that is encrypted in it goes into the tree that it is in, also where the app has set nothing.
    var isEncryptedAnew = false
    /// Whether the server has said that the save takes something away that is encrypted, of which the app's instance
    /// does not know: it takes the keys.
    var takesEncrypted = false
    /// Whether this device has turned out to have the record's keys.
    var hasKeys = false
    /// Whether the save leaves the parent as the server has it, and is done whatever that is.
    var keepsParent = false
    /// The parent that the server has shown for this save then; nil where it was not asked.
    var serversParent: String??
    /// Whether no answer that an app has seen shows the record there.
    var isPlaceUnseen = false
    /// What else a share held.
    let share: OutgoingShare?

    init(record: CKRecord, sent: CKRecordState, share: OutgoingShare?) {
        (self.record, self.sent, self.share) = (record, sent, share)
        treeIDs = sent.encrypted.treeIDs
    }

    /// Why the server can't be asked to save it.
    var refusal: CKError? { nameRefusal ?? sent.local.refusal ?? shareRefusal }

    private var shareRefusal: CKError? {
        if case .failure(let error) = share?.save { return error }
        guard share == nil, record.recordType == Names.shareType, sent.version == nil else { return nil }
        return CKError(
            .invalidArguments,
            message:
                "\(record.recordID) can't be saved: a share is made with CKShare(rootRecord:) or CKShare(recordZoneID:)"
        )
    }

    private var nameRefusal: CKError? {
        let problem =
            Names.problemWithRecordType(record.recordType) ?? CKRecord.ID.problem(withName: record.recordID.recordName)
            ?? record.recordID.zoneID.problem
        return problem.map { CKError(.invalidArguments, message: "\(record.recordID) can't be saved: \($0)") }
    }

    /// The save as a request carries it, once its files are uploaded and its encrypted values are sealed: what is
    /// neither is not in it.
    package func save(policy: SavePolicy) -> RecordSave<DecodedFields> {
        var save = sent.save(name: record.recordID.recordName, type: record.recordType, policy: policy)
        for (key, value) in receipts where save.fields.keys.contains(key) { save.fields[key] = .some(value) }
        for (key, value) in sealed { save.fields.updateValue(value.map { .encrypted($0) }, forKey: key) }
        save.stamp = stamp
        if keepsParent { save.parent = .unchanged }
        save.replacesEncrypted = hasKeys
        return save
    }

    /// What the save says of the share that the record is; nil for all other records.
    package var shareSave: ShareSave? { try? share?.save.get() }

    /// The record as it was sent, for a conflict's `ClientRecord`. Its new files are files.
    package func clientRecord() -> CKRecord { version(sentBeforeUpload ?? sent, share?.sent) }

    /// The version that the sent edits started from, for a conflict's `AncestorRecord`; nil when it is not known, as
    /// for a new record or one made from archived system fields.
    package func ancestorRecord() -> CKRecord? {
        guard let base = sent.base else { return nil }
        var state = CKRecordState(base)
        state.contents = sent.contents.secretsAlone
        return version(state, share.map { CKShareState(root: $0.sent.root, base: $0.sent.base) })
    }

    private func version(_ state: CKRecordState, _ share: CKShareState?) -> CKRecord {
        if let share { return CKShare(recordID: record.recordID, state: state, details: share.detached()) }
        return CKRecord(recordType: record.recordType, recordID: record.recordID, state: state)
    }
}

extension CKRecord {
    /// The record of an answer, a ``CKShare`` where it is a share; nil for names that no record can have.
    package static func make(_ record: Record, zoneID: CKRecordZone.ID, context: AnswerContext) -> CKRecord? {
        make(record, zoneID: zoneID, context: context, contents: AssetContents(), opened: OpenedFields())
    }

    /// The same with the files of its assets, and with what keys made of its encrypted values.
    static func make(
        _ record: Record, zoneID: CKRecordZone.ID, context: AnswerContext, contents: AssetContents,
        opened: OpenedFields
    ) -> CKRecord? {
        let system = record.system
        guard CKRecord.ID.problem(withName: system.name) == nil, holdsValidNames(record) else { return nil }
        let id = CKRecord.ID(recordName: system.name, zoneID: zoneID)
        let state = CKRecordState(
            version: CKRecordState.Version(system, context), parent: system.parent, share: record.share,
            fields: record.fields, contents: contents, opened: opened)
        guard system.type == Names.shareType else {
            return CKRecord(recordType: system.type, recordID: id, state: state)
        }
        let base = record.shareDetails.map { CKShareState.Base($0, context) }
        return CKShare(recordID: id, state: state, details: CKShareState(root: "", base: base))
    }

    /// The encrypted fields as the server has them, by key.
    package var sealedFields: [FieldKey: EncryptedValue] { snapshot.encrypted.sealed }

    /// Takes over the encrypted values of another record, as if this one had been fetched with them.
    package func showEncryptedValues(of other: CKRecord) {
        let values = other.snapshot.encrypted.values
        updateState { $0.show(values) }
    }

    /// Begins a save: takes what the record holds now.
    package func outgoing() -> OutgoingRecord {
        guard let share = self as? CKShare else { return OutgoingRecord(record: self, sent: snapshot, share: nil) }
        let (state, details) = share.snapshots
        return OutgoingRecord(record: self, sent: state, share: OutgoingShare(sent: details.detached()))
    }

    /// Takes over the server's answer to a save. Edits that the app made while the save was on its way stay changed.
    ///
    /// - Parameters:
    ///   - saved: The saved version.
    ///   - fieldsOmitted: Whether the answer leaves the fields out because they are those that were sent.
    ///   - outgoing: The save that this is the answer to.
    package func applySaved(
        _ saved: Record, fieldsOmitted: Bool, of outgoing: OutgoingRecord, context: AnswerContext
    ) {
        applySaved(saved, fieldsOmitted: fieldsOmitted, of: outgoing, context: context, opened: OpenedFields())
    }

    /// The same with what keys made of the encrypted values of the answer.
    func applySaved(
        _ saved: Record, fieldsOmitted: Bool, of outgoing: OutgoingRecord, context: AnswerContext,
        opened: OpenedFields
    ) {
        let version = CKRecordState.Version(saved.system, context)
        func take() {
            updateState {
                $0.saved(
                    as: version, parent: saved.system.parent, share: saved.share,
                    fields: fieldsOmitted ? nil : saved.fields,
                    opened: opened, sent: outgoing.sent)
            }
        }
        guard let share = self as? CKShare, let sent = outgoing.share?.sent else { return take() }
        share.updateDetails { details in
            take()
            guard let view = saved.shareDetails else { return }
            details.saved(as: CKShareState.Base(view, context), sent: sent.contents)
        }
    }

    /// Parents and references become ids when they are read, so a peer's names are checked before.
    static func holdsValidNames(_ record: Record) -> Bool {
        if let parent = record.system.parent, CKRecord.ID.problem(withName: parent) != nil { return false }
        if let share = record.share, CKRecord.ID.problem(withName: share) != nil { return false }
        if let view = record.shareDetails, !view.holdsValidNames { return false }
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

extension ShareView {
    /// Users become ids, and there is an owner.
    fileprivate var holdsValidNames: Bool {
        let users = participants.map(\.user).filter { !$0.isEmpty } + requesters.map(\.user) + blockedUsers
        return participants.first?.role == .owner && users.allSatisfy { CKRecord.ID.problem(withName: $0) == nil }
    }
}

extension CKRecordState.Version {
    /// The version of an answer.
    init(_ system: SystemFields, _ context: AnswerContext) {
        func date(_ milliseconds: Int64) -> Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }
        self.init(
            changeTag: system.changeTag, creator: context.shown(system.creator),
            creationDate: system.createdMilliseconds == 0 ? nil : date(system.createdMilliseconds),
            modifier: context.shown(system.modifier),
            modificationDate: date(system.modifiedMilliseconds))
    }
}
