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
                done.failures.mapValues(\.code) == [own.recordID: .accountTemporarilyUnavailable])
            #expect(try await share.server.dump(of: "ada", showing: .changeTags) == before, "nothing is saved")
            for lie in lies { lie.remove() }
            try await share.isWhole(by: [try ada.relaunched(), share.bob])
        }
    }

    @Test("encrypt nothing in two steps either: below a record that is shown apart from its share, and then in it")
    func reencryptionInSteps() async throws {
        try await LiedShare.run(.record) { share in
            let (own, apart) = (
                CKRecord(recordType: "Item", recordID: share.id("own", for: share.ada)),
                CKRecord(recordType: "Item", recordID: share.id("apart", for: share.ada))
            )
            for record in [own, apart] { record.encryptedValues["text"] = "secret \(record.recordID.recordName)" }
            _ = try await share.ada.privateCloudDatabase.modifyRecords(saving: [own, apart], deleting: [])
            let ada = try share.ada.relaunched()
            let item = share.id("item", for: ada)
            let listed = try await share.server.lie(.listsForReencryption([own.recordID, item]), to: ada)
            let below = try await share.server.lie(.showsParent(item, of: own.recordID), to: ada)
            let away = try await share.server.lie(.showsParent(apart.recordID, of: item), to: ada)
            let before = try await share.server.dump(of: "ada", showing: .changeTags)
            let zone = own.recordID.zoneID
            for _ in 0..<2 {
                #expect(try await ada.privateCloudDatabase.reencryptRecords(in: zone).count == 0)
            }
            #expect(try await share.server.dump(of: "ada", showing: .changeTags) == before, "nothing is saved")
            // Nor by what the app saves meanwhile.
            let seen = try await share.fetched("own", by: ada)
            seen.encryptedValues["text"] = "secret, too"
            try await ada.privateCloudDatabase.save(seen)
            away.remove()
            _ = try await share.fetched("item", by: ada)
            #expect(try await ada.privateCloudDatabase.reencryptRecords(in: zone).count == 0)
            seen.encryptedValues["text"] = "secret, again"
            let error = await failure { try await ada.privateCloudDatabase.save(seen) }
            #expect(error?.code == .accountTemporarilyUnavailable)
            for lie in [listed, below] { lie.remove() }
            try await share.isWhole(by: [try ada.relaunched(), share.bob])
        }
    }

    @Test(
        "encrypt nothing below a private record among shared ones, also with made-up values beside what it has encrypted",
        arguments: [1, 7, 8, 50])
    func madeUpTrees(count: Int) async throws {
        try await LiedShare.run(.record) { share in
            let own = CKRecord(recordType: "Item", recordID: share.id("own", for: share.ada))
            own.encryptedValues["text"] = "secret own"
            try await share.ada.privateCloudDatabase.save(own)
            let web = try share.server.device(of: "ada")
            let stray = try await web.privateCloudDatabase.record(for: own.recordID)
            stray.setParent(share.id("root", for: share.ada))
            try await web.privateCloudDatabase.save(stray)
            let ada = try share.ada.relaunched()
            let lie = try await share.server.lie(.showsMadeUpTrees(count, of: own.recordID), to: ada)
            let seen = try await share.fetched("own", by: ada)
            #expect(seen.encryptedValues["text"] == "secret own")
            let new = CKRecord(recordType: "Item", recordID: share.id("new", for: ada))
            new.encryptedValues["text"] = "secret new"
            new.setParent(seen)
            let error = await failure { try await ada.privateCloudDatabase.save(new) }
            #expect(error?.encryptionProblem == .placeIsUnproven, "\(String(describing: error))")
            lie.remove()
        }
    }

    @Test("encrypt nothing in records that are shown below each other, and wait until they are not")
    func circle() async throws {
        try await LiedShare.run(.record) { share in
            try await share.save("other", by: share.ada)
            let bob = try share.bob.relaunched()
            let (item, other) = (share.id("item", for: bob), share.id("other", for: bob))
            let lies = [
                try await share.server.lie(.showsParent(other, of: item), to: bob),
                try await share.server.lie(.showsParent(item, of: other), to: bob),
            ]
            let seen = try await share.fetched("item", by: bob)
            seen.encryptedValues["text"] = "secret, too"
            let error = await failure { try await bob.sharedCloudDatabase.save(seen) }
            #expect(error?.code == .accountTemporarilyUnavailable, "\(String(describing: error))")
            for lie in lies { lie.remove() }
            try await share.isWhole(["root", "item", "other"], by: [share.ada, try bob.relaunched()])
        }
    }
}
