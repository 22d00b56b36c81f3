import BrumeEncryption
import BrumeTestKit
import Foundation
import Testing

@testable import BrumeKit

/// URLs for one guest each.
extension EncryptedSharesTests {
    private func hasKeys(_ url: URL?) -> Bool { url?.fragment()?.hasPrefix("1.") == true }

    /// A record that is shared with those alone who have a URL of their own.
    private func shared(by device: CKContainer, guests: Int) async throws -> (CKRecord, CKShare, [CKShare.Participant])
    {
        let zone = CKRecordZone(zoneName: "Diary")
        try await device.privateCloudDatabase.save(zone)
        let root = page("secret", in: zone, name: "root")
        let share = CKShare(rootRecord: root)
        let participants = (0..<guests).map { _ in CKShare.Participant.oneTimeURLParticipant() }
        for participant in participants {
            participant.permission = .readWrite
            share.addParticipant(participant)
        }
        _ = try await device.privateCloudDatabase.modifyRecords(saving: [root, share], deleting: [])
        return (root, share, participants)
    }

    @Test("are handed out by a URL for one guest, to that guest alone, and each URL has other keys")
    func oneTimeURLs() async throws {
        let (ada, bob, eve) = (device(0), device(1), device(2))
        let (root, share, participants) = try await shared(by: ada, guests: 2)
        let urls = try participants.map { try #require(share.oneTimeURL(for: $0.participantID)) }
        #expect(urls.allSatisfy(hasKeys) && hasKeys(share.url))
        #expect(Set((urls + [try #require(share.url)]).map { $0.fragment() }).count == 3)
        let zoneID = try await accept(urls[0], by: bob)
        try await handOutKeys(root.recordID, by: ada)
        let id = CKRecord.ID(recordName: "root", zoneID: zoneID)
        let seen = try await bob.sharedCloudDatabase.record(for: id)
        #expect(seen.encryptedValues["text"] == "secret")
        seen.encryptedValues["text"] = "ours"
        try await bob.sharedCloudDatabase.save(seen)
        // The other URL is as it was, and shown by a share that is fetched.
        let fetched = try #require(try await ada.privateCloudDatabase.record(for: share.recordID) as? CKShare)
        #expect(fetched.oneTimeURL(for: participants[0].participantID) == nil)
        #expect(fetched.oneTimeURL(for: participants[1].participantID) == urls[1])
        // Somebody who has Bob's URL as well gets nothing by it.
        #expect(await code { try await accept(urls[0], by: eve) } == .unknownItem)
        _ = try await accept(urls[1], by: eve)
        try await handOutKeys(root.recordID, by: ada)
        #expect(try await text(id, on: eve) == "ours")
    }

    @Test("of a URL for one guest end with the participant, and others are as they were")
    func removedOneTimeURL() async throws {
        let (ada, bob) = (device(0), device(1))
        let (root, share, participants) = try await shared(by: ada, guests: 2)
        let urls = try participants.map { try #require(share.oneTimeURL(for: $0.participantID)) }
        let ring = ZoneRingID(zone: "Diary", root: "root")
        func invitations() async throws -> Int {
            let known = try await ada.core.account.encryptedZones.driver.kept(ring, for: ada.core.account).known
            return try #require(known).chain.head.invitations.count
        }
        #expect(try await invitations() == 3)
        share.removeParticipant(participants[0])
        try await ada.privateCloudDatabase.save(share)
        #expect(try await invitations() == 2)
        #expect(share.oneTimeURL(for: participants[1].participantID) == urls[1])
        // A server that lets the guest in all the same has a person decide.
        let zoneID = try await accept(urls[1], by: bob)
        try await handOutKeys(root.recordID, by: ada)
        #expect(try await text(CKRecord.ID(recordName: "root", zoneID: zoneID), on: bob) == "secret")
        #expect(try await invitations() == 1)
    }

    @Test(
        "of URLs for one guest are shown again, with other keys, once the owner's were replaced and the share is saved")
    func renewedOneTimeURL() async throws {
        let (ada, bob) = (device(0), device(1))
        let (root, share, participants) = try await shared(by: ada, guests: 1)
        let id = participants[0].participantID
        let former = try #require(share.oneTimeURL(for: id))
        _ = try await ada.replaceRecoveryCode()
        root.encryptedValues["text"] = "more"
        try await ada.privateCloudDatabase.save(root)
        let fetched = try #require(try await ada.privateCloudDatabase.record(for: share.recordID) as? CKShare)
        #expect(!hasKeys(fetched.oneTimeURL(for: id)))
        try await ada.privateCloudDatabase.save(fetched)
        let url = try #require(fetched.oneTimeURL(for: id))
        #expect(hasKeys(url) && url != former)
        let zoneID = try await accept(url, by: bob)
        try await handOutKeys(root.recordID, by: ada)
        #expect(try await text(CKRecord.ID(recordName: "root", zoneID: zoneID), on: bob) == "more")
    }

    @Test("are in as many URLs for one guest as a share's keys have room for links")
    func manyOneTimeURLs() async throws {
        let ada = device(0)
        let (_, share, participants) = try await shared(by: ada, guests: KeyLimits.ringInvitationsMax + 2)
        let urls = participants.map { share.oneTimeURL(for: $0.participantID) }
        #expect(urls.count { hasKeys($0) } == KeyLimits.ringInvitationsMax - 1 && urls.allSatisfy { $0 != nil })
        #expect(hasKeys(share.url))
    }
}
