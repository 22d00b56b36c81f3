import BrumeTesting
import CloudKit
import Testing

/// A server that has a device of the owner's encrypt anew what never moved.
extension ShareKeyLieTests {
    @Test("encrypt nothing anew for guests because the server says that it is elsewhere", arguments: [false, true])
    func reencryption(showsParent: Bool) async throws {
        try await LiedShare.run(.record) { share in
            let own = CKRecord(recordType: "Item", recordID: share.id("own", for: share.ada))
            own.encryptedValues["text"] = "secret own"
            try await share.ada.privateCloudDatabase.save(own)
            let ada = try share.ada.relaunched()
            let lies = try await [
                share.server.lie(.listsForReencryption([own.recordID, share.id("item", for: ada)]), to: ada),
                showsParent
                    ? share.server.lie(.showsParent(share.id("root", for: ada), of: own.recordID), to: ada) : nil,
            ].compactMap(\.self)
            let before = try await share.server.dump(of: "ada", showing: .changeTags)
            let done = try await ada.privateCloudDatabase.reencryptRecords(in: own.recordID.zoneID)
            #expect(
                done.failures.mapValues(\.code) == (showsParent ? [own.recordID: .accountTemporarilyUnavailable] : [:]))
            #expect(try await share.server.dump(of: "ada", showing: .changeTags) == before, "nothing is saved")
            for lie in lies { lie.remove() }
            try await share.isWhole(by: [try ada.relaunched(), share.bob])
        }
    }
}
