import BrumeKit
import BrumeLock
import BrumeServer
import BrumeTestKit
import Foundation

/// A server, the owner of a shared list on it, and other accounts.
final class ShareLinkDesk: Sendable {
    let server: RunningServer
    let owner: CKContainer
    private let tokens: Lock<[String: String]>

    static let zoneID = CKRecordZone.ID(zoneName: "Lists")

    var listID: CKRecord.ID { CKRecord.ID(recordName: "list", zoneID: Self.zoneID) }

    convenience init(loopCount: Int) async throws {
        try await self.init(server: RunningServer(adjust: { $0.loopCount = loopCount }), owner: "ada")
    }

    init(server: RunningServer, owner name: String) async throws {
        self.server = server
        let token = try server.addAccount(name)
        tokens = Lock([name: token])
        owner = server.device(token: token)
        try await owner.privateCloudDatabase.save(CKRecordZone(zoneID: Self.zoneID))
    }

    /// A device of a new account, whose e-mail address is `NAME@example.com`.
    func user(_ name: String) throws -> CKContainer {
        let token = try server.addAccount(name)
        tokens.withLock { $0[name] = token }
        return server.device(token: token)
    }

    func token(_ name: String) throws -> String {
        guard let token = tokens.withLock({ $0[name] }) else { throw TestFailure("\(name) has no account") }
        return token
    }

    /// Shares a list, which is in a folder, and saves both.
    ///
    /// - Parameter change: What is different from a share for invited users that invites nobody.
    func share(_ change: (CKShare) async throws -> Void) async throws -> CKShare {
        let folder = CKRecord(recordType: "Folder", recordID: CKRecord.ID(recordName: "folder", zoneID: Self.zoneID))
        let list = CKRecord(recordType: "List", recordID: listID)
        list["title"] = "Groceries"
        list["note"] = "milk first"
        list.setParent(folder)
        let share = CKShare(rootRecord: list)
        share[CKShare.SystemFieldKey.title] = "Groceries for us"
        share["note"] = "mine"
        try await change(share)
        let results = try await owner.privateCloudDatabase.modifyRecords(saving: [folder, list, share], deleting: [])
        guard let saved = try results.saveResults[share.recordID]?.get() as? CKShare else {
            throw TestFailure("the share was not saved as one")
        }
        return saved
    }

    /// The share as the server has it now.
    func fetched(_ share: CKShare) async throws -> CKShare {
        guard let fetched = try await owner.privateCloudDatabase.record(for: share.recordID) as? CKShare else {
            throw TestFailure("the share was not fetched as one")
        }
        return fetched
    }

    /// What URLs lead to, with the shared records.
    func fetch(
        _ urls: [URL], by user: CKContainer, keys: [String]?
    ) async throws -> [URL: Result<CKShare.Metadata, any Error>] {
        let results = Lock<[URL: Result<CKShare.Metadata, any Error>]>([:])
        let operation = CKFetchShareMetadataOperation(shareURLs: urls)
        operation.shouldFetchRootRecord = true
        operation.rootRecordDesiredKeys = keys
        operation.perShareMetadataResultBlock = { url, result in results.withLock { $0[url] = result } }
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            operation.fetchShareMetadataResultBlock = { continuation.resume(with: $0) }
            user.add(operation)
        }
        return results.withLock { $0 }
    }
}
