import BrumeTesting
import CloudKit
import Foundation
import Testing

@testable import BrumeEncryption
@testable import BrumeKit

/// Links of those whom an app has taken out of a share end, also where the server puts that off.
extension ShareKeyLieTests {
    private func ring(_ share: LiedShare, of device: TestDevice) -> ZoneRingID {
        ZoneRingID(zone: share.zoneID(for: device).zoneName, root: share.kind == .zone ? "" : "root")
    }

    private func head(_ share: LiedShare, on device: TestDevice) async throws -> RingEntry {
        let account = device.container.core.account
        let kept = try await account.encryptedZones.driver.kept(ring(share, of: device), for: account)
        return try #require(kept.known).chain.head
    }

    @Test(
        "have no link for one any more whom the app has removed, also where the server refuses that at first",
        arguments: LiedShare.Kind.allCases)
    func linkForOne(kind: LiedShare.Kind) async throws {
        try await LiedShare.run(kind) { share in
            let shown = try await share.handOut()
            let participant = CKShare.Participant.oneTimeURLParticipant()
            participant.permission = .readWrite
            shown.addParticipant(participant)
            try await share.ada.privateCloudDatabase.save(shown)
            #expect(shown.oneTimeURL(for: participant.participantID)?.fragment != nil)
            let id = RingInvitation.id(ofParticipant: participant.participantID)
            func isListed() async throws -> Bool {
                try await head(share, on: share.ada).invitations.contains { $0.id == id }
            }
            #expect(try await isListed())
            let refusal = share.server.script.fail(
                .modifyEncryptionKeys.from(share.ada), with: .zoneBusy, times: .max)
            let again = try await share.handOut()
            again.removeParticipant(
                try #require(again.participants.first { $0.participantID == participant.participantID }))
            try await share.ada.privateCloudDatabase.save(again)
            refusal.remove()
            try await share.save("later", by: share.ada)
            _ = try await share.handOut()
            try await share.looksAgain(share.ada)
            try await share.save("latest", by: share.ada)
            #expect(try await !isListed())
        }
    }

    @Test(
        "have another link once the app has removed somebody who has the URL, and has not come yet",
        arguments: LiedShare.Kind.allCases)
    func removedBeforeComing(kind: LiedShare.Kind) async throws {
        try await LiedShare.run(kind) { share in
            let link = try #require(try await share.url().shareLink)
            try await share.save("before", by: share.ada)
            try await share.remove(share.eve, by: share.ada)
            try await share.isSavedAtOnce(by: share.ada)
            #expect(try await head(share, on: share.ada).invitation(of: link.secret) == nil)
        }
    }

    @Test(
        "are open to nobody by themselves in a share that the app has made private, whoever had opened it",
        arguments: LiedShare.Kind.allCases)
    func openedByHiddenEntry(kind: LiedShare.Kind) async throws {
        try await LiedShare.run(kind) { share in
            let laptop = try await share.laptopThatReads()
            let older = try await share.hideNewEntries()
            let open = try #require(try await laptop.privateCloudDatabase.record(for: share.share) as? CKShare)
            open.publicPermission = .readWrite
            try await laptop.privateCloudDatabase.save(open)
            let shown = try await share.handOut()
            #expect(shown.publicPermission == .readWrite)
            shown.publicPermission = .none
            let error = await failure { try await share.ada.privateCloudDatabase.save(shown) }
            older.remove()
            // Not saved is right as well.
            if error != nil { return }
            let again = try share.ada.relaunched()
            try await share.save("later", by: again)
            #expect(try await !head(share, on: again).hasOpenLinkForMany)
        }
    }

    @Test(
        "do not go to a removed member again because another removal of theirs came too late",
        arguments: LiedShare.Kind.allCases)
    func putBack(kind: LiedShare.Kind) async throws {
        try await LiedShare.run(kind) { share in
            try await share.takeIn(share.eve)
            let first = try await share.share(without: share.bob, asSeenBy: share.ada)
            let second = try await share.share(without: share.bob, asSeenBy: share.ada)
            let database = share.ada.privateCloudDatabase
            let held = share.server.script.hold(.modifyRecords.from(share.ada))
            async let late = failure { try await database.save(first) }
            try await held.waitUntilHeld()
            try await database.save(second)
            func isBobMember() async throws -> Bool {
                try await head(share, on: share.ada).member(named: share.user(share.bob).recordName) != nil
            }
            #expect(try await !isBobMember())
            held.release()
            #expect(await late?.code == .serverRecordChanged)
            #expect(try await !isBobMember())
        }
    }
}
