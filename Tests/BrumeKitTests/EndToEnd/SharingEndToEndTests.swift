import BrumeKit
import BrumeLock
import BrumeServer
import BrumeService
import BrumeTestKit
import Foundation
import Testing

@Suite("An owner's shares and a server", .timeLimit(.minutes(1)))
struct SharingEndToEndTests {
    private let server: RunningServer
    private let database: CKDatabase
    private let container: CKContainer
    private let token: String
    private static let zoneID = CKRecordZone.ID(zoneName: "Lists")

    init() throws {
        server = try RunningServer()
        token = try server.addAccount("ada")
        container = server.device(token: token)
        database = container.privateCloudDatabase
    }

    private func list(_ name: String = "list") -> CKRecord {
        let record = CKRecord(recordType: "List", recordID: CKRecord.ID(recordName: name, zoneID: Self.zoneID))
        record["title"] = "Groceries"
        return record
    }

    /// Shares a new list, and saves both.
    private func share(_ list: CKRecord) async throws -> CKShare {
        try await database.save(CKRecordZone(zoneID: Self.zoneID))
        let share = CKShare(rootRecord: list)
        share[CKShare.SystemFieldKey.title] = "Groceries for us"
        let results = try await database.modifyRecords(saving: [list, share], deleting: []).saveResults
        return try #require(try results[share.recordID]?.get() as? CKShare)
    }

    @Test("a share has a URL and its owner once it is saved, and is a CKShare wherever it arrives")
    func saved() async throws {
        let list = list()
        let share = try await share(list)
        let url = try #require(share.url)
        #expect(
            url.scheme == "https" && url.path.hasPrefix("/share/")
                && url.fragment(percentEncoded: false) == "Groceries for us")
        #expect(share.owner.userIdentity.userRecordID?.recordName == CKCurrentUserDefaultName)
        #expect(share.currentUserParticipant?.role == .owner && share.participants.count == 1)
        #expect(list.share?.recordID == share.recordID)

        let other = server.device(token: token).privateCloudDatabase
        let fetched = try #require(try await other.record(for: share.recordID) as? CKShare)
        #expect(fetched.url == url && fetched.recordChangeTag == share.recordChangeTag)
        #expect(try await other.record(for: list.recordID).share?.recordID == share.recordID)
        let changes = try await other.recordZoneChanges(inZoneWith: Self.zoneID, since: nil)
        let records = try changes.modificationResultsByID.mapValues { try $0.get().record }
        #expect((records[share.recordID] as? CKShare)?.url == url)
        #expect(records[list.recordID]?.share?.recordID == share.recordID)
        let query = CKQuery(recordType: CKRecord.SystemType.share, predicate: NSPredicate(value: true))
        let found = try await other.records(matching: query, inZoneWith: Self.zoneID).matchResults
        #expect(try found.map { try $0.1.get() is CKShare } == [true])
    }

    @Test("a share's URL begins with what the operator says")
    func publicURL() async throws {
        let server = try RunningServer { $0.publicURL = "https://sync.example.com" }
        let container = server.device(token: try server.addAccount("ada"))
        try await container.privateCloudDatabase.save(CKRecordZone(zoneID: Self.zoneID))
        let share = CKShare(recordZoneID: Self.zoneID)
        try await container.privateCloudDatabase.save(share)
        let url = try #require(share.url)
        #expect(url.absoluteString.hasPrefix("https://sync.example.com/share/"))
        #expect(try await container.shareMetadata(for: url).participantRole == .owner)
        let production = self.server.device(token: token) { $0.environment = .production }
        let own = CKShare(recordZoneID: Self.zoneID)
        own.publicPermission = .readOnly
        try await database.save(CKRecordZone(zoneID: Self.zoneID))
        try await database.save(own)
        let ownURL = try #require(own.url)
        #expect(await code { try await production.shareMetadata(for: ownURL) } == .unknownItem, "another environment")
    }

    @Test("people are invited, changed and removed by what is different, whatever another device did meanwhile")
    func participants() async throws {
        let share = try await share(list())
        let bob = try await container.shareParticipant(forEmailAddress: "Bob@example.com")
        bob.permission = .readWrite
        share.addParticipant(bob)
        share.addParticipant(CKShare.Participant.oneTimeURLParticipant())
        try await database.save(share)
        #expect(share.participants.map(\.acceptanceStatus) == [.accepted, .pending, .pending])
        #expect(share.participants[1].userIdentity.lookupInfo?.emailAddress == "bob@example.com")
        #expect(share.participants[1].permission == .readWrite)
        #expect(share.oneTimeURL(for: share.participants[2].participantID) != nil)
        #expect(share.oneTimeURL(for: share.participants[2].participantID) != share.url)

        let other = server.device(token: token).privateCloudDatabase
        let theirs = try #require(try await other.record(for: share.recordID) as? CKShare)
        theirs.addParticipant(try await container.shareParticipant(forPhoneNumber: "+49 30 1234567"))
        try await other.save(theirs)
        share.removeParticipant(share.participants[1])
        let error = await #expect(throws: CKError.self) { try await database.save(share) }
        #expect(error?.code == .serverRecordChanged && error?.serverRecord is CKShare)
        let latest = try #require(error?.serverRecord as? CKShare)
        latest.removeParticipant(try #require(latest.participants.first { $0.participantID == bob.participantID }))
        try await database.save(latest)
        #expect(latest.participants.count == 3)
        #expect(latest.participants.contains { $0.userIdentity.lookupInfo?.phoneNumber == "+49301234567" })
    }

    @Test("a share ends when it is deleted: its root stays, and has the same URL when it is shared again")
    func deleted() async throws {
        let list = list()
        let share = try await share(list)
        let url = share.url
        _ = try await database.modifyRecords(saving: [list], deleting: [share.recordID])
        #expect(list.share == nil)
        #expect(try await database.record(for: list.recordID).share == nil)
        #expect(await code { try await database.record(for: share.recordID) } == .unknownItem)
        #expect(try await self.share(list).url == url)
        try await database.deleteRecord(withID: list.recordID)
        #expect(await code { try await database.record(for: try #require(list.share).recordID) } == .unknownItem)
    }

    @Test("what CloudKit refuses is refused with its codes")
    func refusals() async throws {
        let list = list()
        let share = CKShare(rootRecord: list)
        try await database.save(CKRecordZone(zoneID: Self.zoneID))
        try await database.save(list)
        #expect(await code { try await database.save(share) } == .invalidArguments, "without its root")
        _ = try await database.modifyRecords(saving: [list, share], deleting: [])
        let item = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: "item", zoneID: Self.zoneID))
        item.setParent(list)
        let nested = CKShare(rootRecord: item)
        let results = try await database.modifyRecords(saving: [item, nested], deleting: []).saveResults
        #expect(await code { try results[nested.recordID]?.get() } == .alreadyShared)
        #expect(await code { try results[item.recordID]?.get() } == .batchRequestFailed)
        let zone = CKShare(recordZoneID: Self.zoneID)
        #expect(await code { try await database.save(zone) } == .invalidArguments, "a record of it is shared")
        let inDefault = CKRecord(recordType: "List")
        let elsewhere = try await database.modifyRecords(
            saving: [inDefault, CKShare(rootRecord: inDefault)], deleting: []
        ).saveResults
        #expect(
            await code {
                try elsewhere[CKRecord.ID(recordName: try #require(inDefault.share).recordID.recordName)]?.get()
            } == .invalidArguments)
    }

    @Test("a zone is shared as a whole by its own share")
    func zoneWide() async throws {
        try await database.save(CKRecordZone(zoneID: Self.zoneID))
        let share = CKShare(recordZoneID: Self.zoneID)
        share.publicPermission = .readOnly
        try await database.save(share)
        #expect(share.url != nil && share.publicPermission == .readOnly)
        let zone = try await database.recordZone(for: Self.zoneID)
        #expect(zone.share?.recordID == share.recordID)
        try await database.deleteRecord(withID: share.recordID)
        #expect(try await database.recordZone(for: Self.zoneID).share == nil)
    }

    @Test("a sync engine sends shares, and gives them to the owner's other devices")
    func syncEngine() async throws {
        let list = list()
        let share = CKShare(rootRecord: list)
        let writer = EngineDesk(database, sends: [list, share])
        writer.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: Self.zoneID))])
        writer.engine.state.add(pendingRecordZoneChanges: [.saveRecord(list.recordID), .saveRecord(share.recordID)])
        try await writer.engine.sendChanges()
        #expect(writer.records.compactMap { $0 as? CKShare }.map(\.recordID) == [share.recordID])

        let reader = EngineDesk(server.device(token: token).privateCloudDatabase)
        try await reader.engine.fetchChanges()
        let fetched = try #require(reader.records.compactMap { $0 as? CKShare }.first)
        #expect(fetched.recordID == share.recordID && fetched.url != nil)
        #expect(reader.records.contains { $0.share?.recordID == share.recordID })
    }
}

/// A sync engine, and the records that it sent or fetched.
private final class EngineDesk: CKSyncEngineDelegate {
    private let held = Lock<(outgoing: [CKRecord], records: [CKRecord], engine: CKSyncEngine?)>(([], [], nil))

    init(_ database: CKDatabase, sends outgoing: [CKRecord] = []) {
        var configuration = CKSyncEngine.Configuration(database: database, stateSerialization: nil, delegate: self)
        configuration.automaticallySync = false
        let engine = CKSyncEngine(configuration)
        held.withLock { $0 = (outgoing, [], engine) }
    }

    var engine: CKSyncEngine { held.withLock { $0.engine! } }
    var records: [CKRecord] { held.withLock { $0.records } }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        switch event {
        case .sentRecordZoneChanges(let sent): held.withLock { $0.records += sent.savedRecords }
        case .fetchedRecordZoneChanges(let fetched):
            held.withLock { $0.records += fetched.modifications.map(\.record) }
        default: break
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let outgoing = held.withLock { $0.outgoing }
        return await CKSyncEngine.RecordZoneChangeBatch(
            pendingChanges: syncEngine.state.pendingRecordZoneChanges
        ) { id in outgoing.first { $0.recordID == id } }
    }
}
