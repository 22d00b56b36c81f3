internal import Foundation

/// What came of an action with the server, to be told to the machine.
typealias KeyValueStoreEvent =
    @Sendable (inout KeyValueStoreStateMachine, _ now: UInt64) -> [KeyValueStoreStateMachine.Action]

/// A key-value store's calls to the server, in a database that is bound to one account.
struct KeyValueStoreRemote: Sendable {
    typealias Machine = KeyValueStoreStateMachine

    let database: CKDatabase

    func prepare(_ run: UInt64) async -> KeyValueStoreEvent {
        let zoneID = KeyValueStoreRecord.zoneID
        do {
            try await database.save(CKRecordZone(zoneID: zoneID))
            try await database.save(
                CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: KeyValueStoreRecord.subscriptionID))
            return { $0.prepared(run: run, now: $1) }
        } catch {
            let failure = Self.failure(error)
            return { $0.failed(failure, run: run, now: $1) }
        }
    }

    func fetch(_ token: [UInt8]?, _ run: UInt64) async -> KeyValueStoreEvent {
        do {
            let page = try await database.recordZoneChanges(
                inZoneWith: KeyValueStoreRecord.zoneID, since: token.map { CKServerChangeToken(bytes: $0) })
            var changes: [Machine.Change] = []
            // What another program put into the zone is no key of the store.
            for (id, result) in page.modificationResultsByID {
                let record = try result.get().record
                guard record.recordType == KeyValueStoreRecord.recordType,
                    let key = KeyValueStoreRecord.key(ofRecordName: id.recordName),
                    let value = record[KeyValueStoreRecord.valueKey] as? Data,
                    value.count <= KeyValueStoreLimits.valueBytesMax, KeyValueCoding.decode(Array(value)) != nil
                else { continue }
                changes.append(Machine.Change(key, Array(value)))
            }
            for deletion in page.deletions {
                guard let key = KeyValueStoreRecord.key(ofRecordName: deletion.recordID.recordName) else { continue }
                changes.append(Machine.Change(key, nil))
            }
            let (token, moreComing) = (page.changeToken.bytes, page.moreComing)
            return { [changes] in
                $0.pageFetched(changes, token: token, moreComing: moreComing, run: run, now: $1)
            }
        } catch {
            let failure = Self.failure(error)
            return { $0.failed(failure, run: run, now: $1) }
        }
    }

    func send(_ changes: [Machine.Change], _ run: UInt64) async -> KeyValueStoreEvent {
        var records: [CKRecord] = []
        var deletions: [CKRecord.ID] = []
        for change in changes {
            let id = KeyValueStoreRecord.recordID(forKey: change.key)
            if let value = change.value {
                let record = CKRecord(recordType: KeyValueStoreRecord.recordType, recordID: id)
                record[KeyValueStoreRecord.valueKey] = Data(value)
                records.append(record)
            } else {
                deletions.append(id)
            }
        }
        do {
            let results = try await database.modifyRecords(
                saving: records, deleting: deletions, savePolicy: .allKeys, atomically: false)
            var outcomes: [String: Machine.Outcome] = [:]
            for change in changes {
                let id = KeyValueStoreRecord.recordID(forKey: change.key)
                do {
                    if change.value == nil {
                        try results.deleteResults[id]?.get()
                    } else {
                        _ = try results.saveResults[id]?.get()
                    }
                    outcomes[change.key] = .saved
                } catch {
                    outcomes[change.key] = Self.outcome(error)
                }
            }
            return { [outcomes] in $0.sent(outcomes, run: run, now: $1) }
        } catch {
            let failure = Self.failure(error)
            return { $0.failed(failure, run: run, now: $1) }
        }
    }

    private static func outcome(_ error: any Error) -> Machine.Outcome {
        switch (error as? CKError)?.code {
        case .quotaExceeded, .limitExceeded: .full
        default: .failed(failure(error))
        }
    }

    static func failure(_ error: any Error) -> Machine.Failure {
        guard let error = error as? CKError else { return .persistent }
        switch error.code {
        case .networkUnavailable, .networkFailure, .serviceUnavailable, .requestRateLimited, .zoneBusy,
            .serverResponseLost, .operationCancelled:
            return .transient(retryAfterMilliseconds: UInt64(max(0, min(error.retryAfterSeconds ?? 0, 86_400)) * 1_000))
        case .changeTokenExpired: return .tokenExpired
        case .zoneNotFound, .userDeletedZone: return .zoneMissing
        case .notAuthenticated, .managedAccountRestricted, .accountTemporarilyUnavailable: return .account
        default: return .persistent
        }
    }
}
