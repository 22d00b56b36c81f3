import BrumeKit
import BrumeLock
import BrumeModel
import BrumeRecord
import Foundation
import Testing

/// What an operation's blocks were told, in order.
final class Transcript: Sendable {
    private let state = Lock<[String]>([])

    var lines: [String] { state.withLock { $0 } }

    func add(_ line: String) {
        state.withLock { $0.append(line) }
    }

    func add<Value>(_ what: String, _ result: Result<Value, any Error>) {
        switch result {
        case .success: add(what)
        case .failure(let error): add("\(what): \(name(error))")
        }
    }

    func add(_ what: String, _ error: (any Error)?) {
        add(error.map { "\(what): \(name($0))" } ?? what)
    }
}

/// The code's name; of a partial failure with those of the items.
func name(_ error: any Error) -> String {
    guard let error = error as? CKError else { return "\(error)" }
    guard let items = error.partialErrorsByItemID else { return "\(error.code)" }
    let errors = items.map { key, error -> String in
        let id: String =
            switch key.base {
            case let id as CKRecord.ID: id.recordName
            case let id as CKRecordZone.ID: id.zoneName
            case let id as String: id
            case let id as URL: id.lastPathComponent
            default: "?"
            }
        return "\(id) \((error as? CKError).map { "\($0.code)" } ?? "?")"
    }
    return "\(error.code) [\(errors.sorted().joined(separator: ", "))]"
}

extension Operation {
    /// Runs `start`, which lets the operation begin, and waits for its completion block.
    func finished(after start: () -> Void) async {
        await withCheckedContinuation { continuation in
            completionBlock = { continuation.resume() }
            start()
        }
    }

    /// The end of the operation, as a task, so that the test can play the server meanwhile.
    func started(_ start: @escaping @Sendable () -> Void) -> Task<Void, Never> {
        Task { await finished(after: start) }
    }
}

func stored(_ name: String, tag: String = "1-1", text: String? = nil) -> SharedBytes {
    let fields = text.map { [StoredRecord.encodeField(key: "text", value: .string($0))] } ?? []
    let system = SystemFields(name: name, type: "Note", changeTag: tag, creator: "_me", modifier: "_me")
    return SharedBytes(StoredRecord.encode(system, fields: fields))
}

func notes(_ names: String..., in zone: CKRecordZone.ID) -> [CKRecord] {
    names.map { CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: $0, zoneID: zone)) }
}

// What is deprecated, without the warnings.

protocol DeprecatedModifyRecords: AnyObject {
    var perRecordCompletionBlock: ((CKRecord, (any Error)?) -> Void)? { get set }
    var modifyRecordsCompletionBlock: (([CKRecord]?, [CKRecord.ID]?, (any Error)?) -> Void)? { get set }
}

protocol DeprecatedFetchRecords: AnyObject {
    var perRecordCompletionBlock: ((CKRecord?, CKRecord.ID?, (any Error)?) -> Void)? { get set }
    var fetchRecordsCompletionBlock: (([CKRecord.ID: CKRecord]?, (any Error)?) -> Void)? { get set }
}

protocol DeprecatedZoneChanges: AnyObject {
    var recordChangedBlock: ((CKRecord) -> Void)? { get set }
    var recordZoneFetchCompletionBlock: ((CKRecordZone.ID, CKServerChangeToken?, Data?, Bool, (any Error)?) -> Void)?
    { get set }
    var fetchRecordZoneChangesCompletionBlock: (((any Error)?) -> Void)? { get set }
}

extension CKModifyRecordsOperation: DeprecatedModifyRecords {}
extension CKFetchRecordsOperation: DeprecatedFetchRecords {}
extension CKFetchRecordZoneChangesOperation: DeprecatedZoneChanges {}
