import BrumeAdmin
import BrumeKit
import BrumeModel
import BrumeTestKit
import Foundation
import Testing

@Suite("Accounts at run time and a server", .timeLimit(.minutes(1)))
struct AccountEndToEndTests {
    let server: RunningServer

    init() throws {
        server = try RunningServer()
    }

    @Test("sign in, switch and sign out, each seeing nothing of the other")
    func signIn() async throws {
        let device = server.device(token: nil)
        let changes = AccountChanges(of: device)
        let database = device.privateCloudDatabase
        #expect(try await device.accountStatus() == .noAccount)
        #expect(await code { try await database.allRecordZones() } == .notAuthenticated)

        device.signIn(token: try server.addAccount("ada"))
        try await changes.next()
        #expect(try await device.accountStatus() == .available)
        let ada = try await device.userRecordID()
        try await database.save(CKRecordZone(zoneName: "Diary"))
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "shared"))
        record["text"] = "for all"
        try await device.publicCloudDatabase.save(record)

        device.signIn(token: try server.addAccount("bob"))
        try await changes.next()
        #expect(try await device.userRecordID() != ada)
        #expect(try await database.allRecordZones().map(\.zoneID) == [.default])
        let seen = try await device.publicCloudDatabase.record(for: record.recordID)
        #expect(seen.creatorUserRecordID?.recordName == ada.recordName, "ada's record is not bob's own")

        device.signOut()
        try await changes.next()
        #expect(try await device.accountStatus() == .noAccount)
        #expect(await code { try await database.allRecordZones() } == .notAuthenticated)
        #expect(try await device.publicCloudDatabase.record(for: record.recordID)["text"] == "for all")
        #expect(try await changes.count() == 3)
    }

    @Test("never mix calls of two accounts, however often the account is switched under them")
    func hammer() async throws {
        let tokens = [try server.addAccount("ada"), try server.addAccount("bob")]
        let names = ["ada", "bob"]
        for (token, name) in zip(tokens, names) {
            let database = server.device(token: token).privateCloudDatabase
            try await database.save(CKRecordZone(zoneName: name))
        }
        let device = server.device(token: tokens[0])
        let switcher = Task {
            for turn in 1...40 {
                device.signIn(token: tokens[turn % 2])
                _ = try? await device.accountStatus()
            }
        }
        let readers = (0..<4).map { _ in
            Task {
                for _ in 0..<60 {
                    do {
                        let zones = try await device.privateCloudDatabase.allRecordZones().map(\.zoneID)
                        #expect(zones.count == 2)
                        // An answer holds one account's zones, and reads them as that account's own.
                        #expect(Set(zones.map(\.zoneName)).intersection(names).count == 1)
                        #expect(zones.allSatisfy { $0.ownerName == CKCurrentUserDefaultName })
                    } catch CKError.notAuthenticated {}
                }
            }
        }
        await switcher.value
        for reader in readers { try await reader.value }
        #expect(try await device.privateCloudDatabase.allRecordZones().count == 2)
    }

    @Test("tell the app when the operator revokes the token, and go on with a new one")
    func revocation() async throws {
        let device = server.device(token: try server.addAccount("ada"))
        let changes = AccountChanges(of: device)
        #expect(try await device.accountStatus() == .available)
        let user = try await device.userRecordID()
        let token = try server.createToken("ada")
        try await server.revokeTokens(of: "ada")
        try await changes.next()
        #expect(try await device.accountStatus() == .noAccount)
        #expect(await code { try await device.privateCloudDatabase.allRecordZones() } == .notAuthenticated)
        device.signIn(token: token)
        try await changes.next()
        #expect(try await device.accountStatus() == .noAccount, "all tokens were revoked, this one too")
        device.signIn(token: try server.createToken("ada"))
        try await changes.next()
        #expect(try await device.userRecordID() == user)
    }

    @Test("can't be determined while the server is away, which shows soon")
    func away() async throws {
        let device = server.device(token: try server.addAccount("ada"))
        server.stop()
        let clock = ContinuousClock()
        let start = clock.now
        let status: CKError.Code? = await code { try await device.accountStatus() }
        #expect(status == .networkUnavailable)
        #expect(clock.now - start < .seconds(20))
        try server.start()
        #expect(try await device.accountStatus() == .available)
    }
}
