import BrumeTesting
import CloudKit
import Foundation
import Testing

@testable import BrumeKit

/// What an app has decided about those with whom it shares holds until an entry of its device's says so, whatever a
/// server shows and hides meanwhile.
extension ShareKeyLieTests {
    @Test(
        "are others once the app has removed somebody under whose name the server shows another participant",
        arguments: LiedShare.Kind.allCases)
    func otherIsShownAsGoer(kind: LiedShare.Kind) async throws {
        try await LiedShare.run(kind) { share in
            try await share.takeIn(share.eve)
            try await share.save("before", by: share.ada)
            let id = try #require(
                try await share.handOut().participants.first {
                    $0.userIdentity.userRecordID == share.user(share.bob)
                }?.participantID)
            try await share.server.lie(.hidesDepartures(of: share.shared(for: share.ada)), to: share.ada)
            try await share.server.lie(
                .showsParticipant(share.user(share.eve), as: share.user(share.bob), in: share.share), to: share.ada)
            let shown = try #require(
                try await share.ada.privateCloudDatabase.record(for: share.share) as? CKShare)
            let bob = try #require(shown.participants.first { $0.participantID == id })
            #expect(bob.userIdentity.userRecordID == share.user(share.bob))
            bob.permission = .none
            try await share.ada.privateCloudDatabase.save(shown)
            try await share.isSavedAtOnce(by: share.ada)
        }
    }

    @Test(
        "are others once the app has removed somebody whom another device let in without its knowledge",
        arguments: LiedShare.Kind.allCases)
    func memberOfHiddenEntry(kind: LiedShare.Kind) async throws {
        try await LiedShare.run(kind) { share in
            let laptop = try await share.laptopThatReads()
            let older = try await share.letInUnseen(share.eve, by: laptop)
            try await share.remove(share.eve, by: share.ada)
            older.remove()
            try await share.isSavedAtOnce(by: share.ada)
            try await share.isRead("later", by: share.bob)
        }
    }

    @Test(
        "of a record that the app has deleted are others for a new one, also for whom another device let in")
    func deletedRootWithHiddenMember() async throws {
        try await LiedShare.run(.record) { share in
            let laptop = try await share.laptopThatReads()
            let older = try await share.letInUnseen(share.eve, by: laptop)
            let results = try await share.ada.privateCloudDatabase.modifyRecords(
                saving: [],
                deleting: ["before", "item", "root"].map { share.id($0, for: share.ada) })
            for result in results.deleteResults.values { try result.get() }
            older.remove()
            let before = share.server.calls(.modifyRecords.from(share.ada)).count
            try await share.save("root", by: share.ada)
            #expect(share.server.calls(.modifyRecords.from(share.ada)).count == before + 1)
        }
    }

    @Test(
        "are others once a device that knew none of them has removed somebody, whatever part of the ring comes first")
    func prefixFirst() async throws {
        try await LiedShare.run(.zone) { share in
            try await share.takeIn(share.eve)
            try await share.save("before", by: share.ada)
            let laptop = try await share.laptop()
            try await share.server.lie(.hidesDepartures(of: share.shared(for: share.ada)), to: laptop)
            let withheld = try await share.server.lie(.withholdsKeys(of: share.shared(for: share.ada)), to: laptop)
            try await share.remove(share.bob, by: laptop)
            withheld.remove()
            let prefix = try await share.server.lie(
                .showsKeys(of: share.shared(for: share.ada), upTo: share.firstNumber), to: laptop)
            let again = try laptop.relaunched()
            _ = try? await share.fetched("item", by: again)
            prefix.remove()
            let third = try again.relaunched()
            try await share.isSavedAtOnce(by: third)
            // She came behind what the device had seen, by keys that the new code has replaced: a person decides.
            try await share.isClosed("later", by: share.eve)
            let database = third.privateCloudDatabase
            for person in try await database.encryptionPeople(of: share.id("item", for: share.ada).zoneID)
            where person.isWaiting { try await database.giveEncryptionKeys(to: person) }
            try await share.isRead("later", by: share.eve)
        }
    }

    @Test(
        "are others once an administrator has removed somebody whose app knows only the share since its start",
        arguments: LiedShare.Kind.allCases)
    func administratorAfterRestart(kind: LiedShare.Kind) async throws {
        try await LiedShare.run(kind) { share in
            try await share.makeAdministrator(share.eve)
            try await share.takeIn(share.eve)
            try await share.isRead("root", by: share.eve)
            try await share.isRead(by: share.eve)
            let again = try share.eve.relaunched()
            try await share.server.lie(.hidesDepartures(of: share.shared(for: again)), to: again)
            try await share.remove(share.bob, by: again)
            try await share.isSavedAtOnce(by: again)
            try await share.isRead("later", by: share.ada)
        }
    }

    @Test(
        "of a zone that the app has deleted, though no answer came, encrypt nothing once it is gone and shown again"
    )
    func deletionWithoutAnswer() async throws {
        try await LiedShare.run(.zone) { share in
            try await share.takeIn(share.eve)
            try await share.save("before", by: share.ada)
            let backup = try await share.server.backUp()
            let (zone, database) = (share.zoneID(for: share.ada), share.ada.privateCloudDatabase)
            let token = try await database.databaseChanges(since: nil).changeToken
            let held = share.server.script.hold(.modifyZones.from(share.ada), .afterEffect)
            async let first = failure { try await database.deleteRecordZone(withID: zone) }
            try await held.waitUntilHeld()
            held.release(failingWith: .serviceUnavailable)
            #expect(await first?.code == .serviceUnavailable)
            let news = try await database.databaseChanges(since: token)
            #expect(news.deletions.map(\.zoneID) == [zone])
            try await share.server.restore(backup)
            let ada = try share.ada.relaunched()
            try await ada.privateCloudDatabase.save(CKRecordZone(zoneID: zone))
            await share.cannotSave(by: ada)
        }
    }

    @Test(
        "stay those of a member whose removal the server refuses with the whole call",
        arguments: LiedShare.Kind.allCases)
    func refusedCall(kind: LiedShare.Kind) async throws {
        try await LiedShare.run(kind) { share in
            try await share.takeIn(share.eve)
            let shown = try await share.share(without: share.bob, asSeenBy: share.ada)
            share.server.script.fail(.modifyRecords.from(share.ada), with: .quotaExceeded)
            let error = await failure { try await share.ada.privateCloudDatabase.save(shown) }
            #expect(error?.code == .quotaExceeded)
            try await share.isWhole(by: [share.ada, share.bob, share.eve])
        }
    }

    @Test(
        "stay those of a member whose removal was cancelled before it was sent",
        arguments: LiedShare.Kind.allCases)
    func cancelledRemoval(kind: LiedShare.Kind) async throws {
        try await LiedShare.run(kind) { share in
            try await share.takeIn(share.eve)
            let shown = try await share.share(without: share.bob, asSeenBy: share.ada)
            let sent = share.server.calls(.modifyRecords.from(share.ada)).count
            let held = share.server.script.hold(.fetchEncryptionKeys.from(share.ada))
            let database = share.ada.privateCloudDatabase
            let removal = Task { try await database.save(shown) }
            try await held.waitUntilHeld()
            removal.cancel()
            let error = await failure { try await removal.value }
            held.release()
            #expect(error?.code == .operationCancelled)
            #expect(share.server.calls(.modifyRecords.from(share.ada)).count == sent)
            try await share.isWhole(by: [share.ada, share.bob, share.eve])
        }
    }

    @Test(
        "are not taken from a member where the server does not say which record the share is of")
    func refusedMetadata() async throws {
        try await LiedShare.run(.record) { share in
            try await share.takeIn(share.eve)
            let laptop = try await share.laptopThatReads()
            let again = try laptop.relaunched()
            try await share.server.lie(.hidesDepartures(of: share.shared(for: share.ada)), to: again)
            let refusal = share.server.script.fail(.fetchShareMetadata.from(again), with: .unknownItem, times: .max)
            #expect(await failure { try await share.remove(share.bob, by: again) }?.code == .unknownItem)
            refusal.remove()
            try await share.remove(share.bob, by: again)
            try await share.isSavedAtOnce(by: again)
        }
    }

    @Test(
        "stay those of somebody who came after the app had fetched the share that it wants to save",
        arguments: LiedShare.Kind.allCases)
    func cameLater(kind: LiedShare.Kind) async throws {
        try await LiedShare.run(kind) { share in
            let open = try await share.handOut()
            open.publicPermission = .readWrite
            try await share.ada.privateCloudDatabase.save(open)
            try await share.takeIn(share.eve)
            let frank = try share.server.device(of: "frank")
            _ = try await frank.container.recoveryCode()
            let stale = try await share.share(without: share.bob, asSeenBy: share.ada)
            try await share.accept(by: frank)
            _ = try await share.handOut()
            try await share.isRead(by: frank)
            try await share.save("between", by: frank)
            let error = await failure { try await share.ada.privateCloudDatabase.save(stale) }
            #expect(error?.code == .serverRecordChanged)
            try await share.save("after", by: share.ada)
            try await share.isRead("after", by: frank)
            let code = await share.codeOfSave("of frank", by: frank)
            #expect(code == nil)
        }
    }
}
