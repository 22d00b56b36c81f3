internal import BrumeEncryption
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import BrumeKit

/// A record and a zone that the account shares by links, and a guest who reads and writes what is encrypted in them.
extension CanaryAccount {
    func shares(_ owner: CKContainer, _ guest: CKContainer) async throws {
        let database = owner.privateCloudDatabase
        let root = page("a shared root")
        try await database.save(root)
        let share = CKShare(rootRecord: root)
        share.publicPermission = .readWrite
        share[CKShare.SystemFieldKey.title] = "Ours"
        _ = try await database.modifyRecords(saving: [root, share], deleting: [])
        let url = try takeLink(of: share)
        // What a mail gateway makes of it, and what is none of a share's.
        let gateway = try #require(URL(string: url.absoluteString.replacing("#", with: "%23")))
        _ = try await guest.shareMetadata(for: gateway)
        let elsewhere = try #require(URL(string: url.absoluteString.replacing("/share/", with: "/share/0")))
        try await fails { _ = try await guest.shareMetadata(for: elsewhere) }

        let metadata = try await guest.shareMetadata(for: url)
        let zoneID = try await guest.accept(metadata).recordID.zoneID
        _ = try await database.record(for: root.recordID)
        let seen = try await guest.sharedCloudDatabase.record(
            for: CKRecord.ID(recordName: root.recordID.recordName, zoneID: zoneID))
        readValues.append(try #require(seen.encryptedValues["secret"] as String?))
        seen.encryptedValues["secret"] = secret("a guest's value")
        try await guest.sharedCloudDatabase.save(seen)
        readValues.append(
            try #require(try await database.record(for: root.recordID).encryptedValues["secret"] as String?))
        let tree = ZoneRingID(zone: zone.zoneID.zoneName, root: root.recordID.recordName)
        try await takeKeys(of: owner, ring: tree, "a shared tree's key")
        try await move(below: root, owner, guest, zoneID)

        // Without the guest there are another key and another link.
        let fetched = try #require(try await database.record(for: share.recordID) as? CKShare)
        fetched.removeParticipant(try #require(fetched.participants.last))
        try await database.save(fetched)
        _ = try takeLink(of: fetched)
        try await takeKeys(of: owner, ring: tree, "a shared tree's key")
        try await fails { try await guest.sharedCloudDatabase.save(seen) }
        try await shareForOne(owner, guest)
    }

    /// Records that come into the share: what is below them is encrypted anew for the guest.
    private func move(
        below root: CKRecord, _ owner: CKContainer, _ guest: CKContainer, _ zoneID: CKRecordZone.ID
    ) async throws {
        let database = owner.privateCloudDatabase
        let (list, card) = (page("a record that moves"), page("a record below one that moves"))
        card.setParent(list)
        _ = try await database.modifyRecords(saving: [list, card], deleting: [])
        list.setParent(root)
        try await database.save(list)
        let failures = try await database.reencryptRecords(in: zone.zoneID).failures
        #expect(failures.isEmpty)
        let id = CKRecord.ID(recordName: card.recordID.recordName, zoneID: zoneID)
        let seen = try await guest.sharedCloudDatabase.record(for: id)
        readValues.append(try #require(seen.encryptedValues["secret"] as String?))
    }

    /// A record that is shared by a URL for one guest, who waits for a person, too.
    private func shareForOne(_ owner: CKContainer, _ guest: CKContainer) async throws {
        let database = owner.privateCloudDatabase
        let root = page("a root for one guest")
        try await database.save(root)
        let share = CKShare(rootRecord: root)
        let participants = [CKShare.Participant.oneTimeURLParticipant(), .oneTimeURLParticipant()]
        for participant in participants { share.addParticipant(participant) }
        _ = try await database.modifyRecords(saving: [root, share], deleting: [])
        for participant in participants { _ = try take(try #require(share.oneTimeURL(for: participant.participantID))) }
        let url = try #require(share.oneTimeURL(for: participants[0].participantID))
        let bare = try #require(URL(string: String(url.absoluteString.prefix { $0 != "#" })))
        let zoneID = try await guest.accept(try await guest.shareMetadata(for: bare)).recordID.zoneID
        let people = try await database.encryptionPeople(ofShared: root.recordID)
        try await database.giveEncryptionKeys(to: try await owner.trust(try #require(people.first)))
        let seen = try await guest.sharedCloudDatabase.record(
            for: CKRecord.ID(recordName: root.recordID.recordName, zoneID: zoneID))
        readValues.append(try #require(seen.encryptedValues["secret"] as String?))
        let tree = ZoneRingID(zone: zone.zoneID.zoneName, root: root.recordID.recordName)
        try await takeKeys(of: owner, ring: tree, "the key of a root for one guest")
    }

    private func takeLink(of share: CKShare) throws -> URL { try take(try #require(share.url)) }

    /// The secret of a link, and the text that hands it on.
    private func take(_ url: URL) throws -> URL {
        let keys = try #require(url.fragment()?.split(separator: ".").dropFirst().first)
        // Behind the owner's hash, which is no secret.
        let text = String(keys.suffix(40))
        let padded = keys.replacing("-", with: "+").replacing("_", with: "/")
        let bytes = try #require(Data(base64Encoded: String(padded)))
        take(Canary("a link's keys", text: text))
        take(Canary("a link's secret", bytes: Array(bytes.suffix(32))))
        return url
    }
}
