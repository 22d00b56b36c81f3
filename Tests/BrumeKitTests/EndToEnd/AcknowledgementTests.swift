@testable import BrumeKit
import BrumeModel
import BrumeTestKit
import Foundation
import Testing

@Suite("An app whose sync engine listens alone", .timeLimit(.minutes(2)))
struct AcknowledgementTests {
    private let server: RunningServer
    private let token: String
    private let zone = CKRecordZone.ID(zoneName: "Notes")
    private let author: CKDatabase

    init() throws {
        server = try RunningServer()
        token = try server.addAccount("ada")
        author = server.device(token: token).privateCloudDatabase
    }

    /// The same device in a run of its app.
    private func run() -> CKContainer {
        server.device(token: token) { $0.stateFolder = server.folder.path + "/device" }
    }

    private func save(_ name: String) async throws {
        try await author.save(CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone)))
    }

    private func prepare() async throws {
        try await author.save(CKRecordZone(zoneID: zone))
        try await author.save(CKRecordZoneSubscription(zoneID: zone, subscriptionID: "s"))
    }

    /// Hears of four saves as an engine does. Ids of the notifications.
    private func firstRun() async throws -> [String] {
        let container = run()
        var events = CKContainer.NotificationEvents(core: container.core, isObserver: true).makeAsyncIterator()
        #expect(try await events.next()?.subscriptionID == "", "the stream is open")
        var ids: [String] = []
        for name in ["a", "b", "c", "d"] {
            try await save(name)
            ids.append(try #require(try await events.next()).notificationID)
        }
        return ids
    }

    /// The first notification that an engine hears in the next run, in which there is one more save.
    private func firstID() async throws -> String {
        var events = CKContainer.NotificationEvents(core: run().core, isObserver: true).makeAsyncIterator()
        _ = try await events.next()
        try await save("e")
        return try #require(try await events.next()).notificationID
    }

    @Test("does not hear again at its next start what the engine has handled")
    func handled() async throws {
        try await prepare()
        let ids = try await firstRun()
        let first = try await firstID()
        #expect(!ids.contains(first))
    }

    @Test("hears all of it again once it listens by itself, until it has it")
    func listensByItself() async throws {
        try await prepare()
        do {
            var events = CKContainer.NotificationEvents(core: run().core).makeAsyncIterator()
            _ = try await events.next()
        }
        let ids = try await firstRun()
        #expect(try await firstID() == ids[0])
        var heard = CKContainer.NotificationEvents(core: run().core).makeAsyncIterator()
        _ = try await heard.next()
        for id in ids { #expect(try await heard.next()?.notificationID == id) }
    }
}
