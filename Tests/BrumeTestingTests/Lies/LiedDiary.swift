import BrumeTesting
import CloudKit
import Testing

/// A server with two devices of an account, and a record of theirs whose fields are encrypted. The server lies to the
/// laptop; the phone is told the truth.
struct LiedDiary {
    let server: TestServer
    let phone: TestDevice
    let laptop: TestDevice
    let zone = CKRecordZone(zoneName: "Diary")

    var page: CKRecord.ID { id("page") }

    func id(_ name: String, zone: CKRecordZone? = nil) -> CKRecord.ID {
        CKRecord.ID(recordName: name, zoneID: (zone ?? self.zone).zoneID)
    }

    static func run(
        options: TestServer.Options = .init(), _ body: (LiedDiary) async throws -> Void
    ) async throws {
        try await TestServer.run(options: options) { server in
            let diary = LiedDiary(
                server: server, phone: try server.device(of: "ada"), laptop: try server.device(of: "ada"))
            _ = try await diary.phone.privateCloudDatabase.save(diary.zone)
            try await diary.save("page")
            try await diary.phone.letIn(diary.laptop)
            try await diary.isRead(by: diary.laptop)
            try await body(diary)
            #expect(try await server.dump(of: "ada").contains("secret") == false, "a value went plain")
        }
    }

    /// A record with the secrets of a text and a title, and a plain color.
    func record(_ name: String, type: String = "Page", zone: CKRecordZone? = nil) -> CKRecord {
        let record = CKRecord(recordType: type, recordID: id(name, zone: zone))
        record.encryptedValues["text"] = "secret text of \(name)"
        record.encryptedValues["title"] = "secret title of \(name)"
        record["color"] = "yellow"
        return record
    }

    func save(
        _ name: String, type: String = "Page", zone: CKRecordZone? = nil, by device: TestDevice? = nil
    ) async throws {
        try await (device ?? phone).privateCloudDatabase.save(record(name, type: type, zone: zone))
    }

    func fetched(_ name: String = "page", by device: TestDevice? = nil) async throws -> CKRecord {
        try await (device ?? laptop).privateCloudDatabase.record(for: id(name))
    }

    /// The record as a device gets it by each way of fetching.
    func fetchedInAllWays(by device: TestDevice) async throws -> [CKRecord] {
        let database = device.privateCloudDatabase
        let query = CKQuery(recordType: "Page", predicate: NSPredicate(value: true))
        let (matches, _) = try await database.records(matching: query, inZoneWith: zone.zoneID)
        let changes = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: nil)
        return [
            try await database.record(for: page), try #require(try matches.first { $0.0 == page }?.1.get()),
            try #require(try changes.modificationResultsByID[page]?.get().record),
            try #require(try await conflict(of: device)),
        ]
    }

    /// The server's record that a save of an outdated one is answered with.
    private func conflict(of device: TestDevice) async throws -> CKRecord? {
        let error = await failureOfOutdatedSave(by: device)
        #expect(error?.code == .serverRecordChanged)
        return error?.serverRecord
    }

    /// The error of a save of the page in a version that the server does not have any more.
    func failureOfOutdatedSave(by device: TestDevice) async -> CKError? {
        let outdated = CKRecord(recordType: "Page", recordID: page)
        outdated["color"] = "green"
        return await failureOfSave(outdated, by: device)
    }

    func failureOfSave(_ record: CKRecord, by device: TestDevice) async -> CKError? {
        await failure { try await device.privateCloudDatabase.save(record) }
    }

    /// All that was encrypted is read.
    func isRead(_ name: String = "page", by device: TestDevice) async throws {
        let seen = try await fetched(name, by: device)
        #expect(seen.encryptedValues["text"] == "secret text of \(name)")
        #expect(seen.encryptedValues["title"] == "secret title of \(name)")
        #expect(seen.unreadableFields.isEmpty && seen["color"] == "yellow")
    }

    /// The code of the error that a save of a new record with encrypted fields fails with; nil for none.
    func codeOfSave(_ name: String, by device: TestDevice? = nil) async -> CKError.Code? {
        await failure { try await save(name, by: device ?? laptop) }?.code
    }
}
