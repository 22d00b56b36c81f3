import BrumeLock
import BrumeProtocol
import BrumeServer
import BrumeService
import BrumeTestKit
import Testing

@testable import BrumeKit

@Suite("Round trips of encrypted values", .timeLimit(.minutes(1)))
struct EncryptionRoundTripTests {
    /// The calls that reached a server.
    private final class Calls: CallInterceptor {
        private let methods = Lock<[Method]>([])

        func plan(for method: Method, _ payload: UnsafeRawBufferPointer, of peer: InterceptedPeer) -> CallPlan {
            methods.withLock { $0.append(method) }
            return CallPlan()
        }

        /// Those since the last time.
        func take() -> [Method] {
            methods.withLock { methods in
                defer { methods = [] }
                return methods
            }
        }
    }

    private let zoneID = CKRecordZone.ID(zoneName: "Diary")

    private func page(_ name: String) -> CKRecord {
        let record = CKRecord(recordType: "Page", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
        record["color"] = "yellow"
        record.encryptedValues["secret"] = "word"
        return record
    }

    @Test("are those of plain ones where the zone's keys are known: one for a save, one for a fetch, one for a page")
    func known() async throws {
        let calls = Calls()
        let server = try RunningServer { $0.callInterceptor = calls }
        let token = try server.addAccount("ada")
        let (phone, laptop) = (server.device(token: token), server.device(token: token))
        let database = phone.privateCloudDatabase
        _ = try await database.save(CKRecordZone(zoneID: zoneID))
        try await database.save(page("first"))
        try await laptop.useRecoveryCode(try await phone.recoveryCode().text)
        _ = try await laptop.privateCloudDatabase.record(for: page("first").recordID)
        _ = calls.take()

        for database in [database, laptop.privateCloudDatabase] {
            let record = page("page of \(database === phone.privateCloudDatabase ? "phone" : "laptop")")
            try await database.save(record)
            #expect(calls.take() == [.recordsModify])
            record.encryptedValues["secret"] = "other"
            try await database.save(record)
            #expect(calls.take() == [.recordsModify])
            _ = try await database.modifyRecords(
                saving: (0..<50).map { page("\($0)") }, deleting: [], savePolicy: .allKeys)
            // Such a save is done wherever the records are by now: that is asked first.
            #expect(calls.take() == [.recordsFetch, .recordsModify])
            #expect(try await database.record(for: record.recordID).encryptedValues["secret"] == "other")
            #expect(calls.take() == [.recordsFetch])
            _ = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil)
            #expect(calls.take() == [.recordsChanges])
        }
        // Below a root that was seen, too.
        let child = page("child")
        child.setParent(page("first"))
        try await database.save(child)
        #expect(calls.take() == [.recordsModify])
    }

    @Test("are one more in a run of the app that finds the keys on its disk: the account's may have changed")
    func relaunched() async throws {
        let calls = Calls()
        let server = try RunningServer { $0.callInterceptor = calls }
        let token = try server.addAccount("ada")
        let folder = server.newStateFolder()
        func device() -> CKDatabase { server.device(token: token) { $0.stateFolder = folder }.privateCloudDatabase }
        let first = device()
        _ = try await first.save(CKRecordZone(zoneID: zoneID))
        try await first.save(page("first"))
        _ = calls.take()
        let second = device()
        try await second.save(page("second"))
        #expect(calls.take() == [.statementsFetch, .recordsModify])
        try await second.save(page("third"))
        #expect(calls.take() == [.recordsModify])
        let third = device()
        _ = try await third.record(for: page("third").recordID)
        #expect(calls.take() == [.recordsFetch, .statementsFetch])
        _ = try await third.record(for: page("third").recordID)
        #expect(calls.take() == [.recordsFetch])
    }
}
