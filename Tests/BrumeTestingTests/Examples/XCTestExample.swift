import BrumeTesting
import CloudKit
import XCTest

/// What an app's tests look like with XCTest: a server for each test, stopped when it is over.
final class XCTestExample: XCTestCase {
    private var server: TestServer!
    private let zone = CKRecordZone(zoneName: "Notes")

    override func setUp() async throws {
        server = try await TestServer.start(accounts: ["ada", "ben"])
    }

    override func tearDown() async throws {
        await server.stop()
    }

    func testANoteReachesTheUsersOtherDevice() async throws {
        let phone = try server.device(of: "ada").privateCloudDatabase
        let laptop = try server.device(of: "ada").privateCloudDatabase
        try await phone.save(zone)
        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n", zoneID: zone.zoneID))
        note["text"] = "from the phone"
        try await phone.save(note)
        let record = try await laptop.record(for: note.recordID)
        XCTAssertEqual(record["text"] as? String, "from the phone")
    }

    func testAnotherUserSeesNothingOfIt() async throws {
        try await server.device(of: "ada").privateCloudDatabase.save(zone)
        do {
            _ = try await server.device(of: "ben").privateCloudDatabase.recordZone(for: zone.zoneID)
            XCTFail("ben sees ada's zone")
        } catch {
            XCTAssertEqual((error as? CKError)?.code, .zoneNotFound)
        }
    }
}
