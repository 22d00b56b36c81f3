@testable import BrumeKit
import BrumeModel
import BrumeProtocol
import BrumeRecord
import BrumeTestKit
import Foundation
import Testing

@Suite("Saving shares", .timeLimit(.minutes(1)))
struct ShareSavingTests {
    let transport = FakeTransport()

    private func save(_ database: CKDatabase, _ records: [CKRecord]) -> Task<
        [CKRecord.ID: Result<CKRecord, any Error>], any Error
    > {
        Task { try await database.modifyRecords(saving: records, deleting: []).saveResults }
    }

    private func request() async throws -> (stream: UInt32, zone: ZoneModification<CheckedFields>) {
        let call = try await transport.call()
        let request = try call.payload.withUnsafeBytes { try MessageCoder().decodeModifyRecordsRequest($0) }
        return (call.stream, try #require(request.zones.first))
    }

    @Test("sends what is different, takes over what the server shows, and says nothing the second time")
    func twice() async throws {
        let (container, folder) = try fakeContainer(transport)
        let database = container.privateCloudDatabase
        let root = CKRecord(recordType: "Note", recordID: .init(recordName: "root", zoneID: ShareSamples.zone))
        let share = CKShare(rootRecord: root, shareID: .init(recordName: "share", zoneID: ShareSamples.zone))
        share["cloudkit.title"] = "Groceries"
        let ada = ShareSamples.participant(email: "ada@example.com")
        let anyone = CKShare.Participant.oneTimeURLParticipant()
        share.addParticipant(ada)
        share.addParticipant(anyone)
        let first = save(database, [root, share])
        let connection = try await transport.welcomed(user: ShareSamples.owner)
        var (stream, zone) = try await request()
        #expect(zone.saves.map(\.type) == ["Note", "cloudkit.share"])
        #expect(Set(zone.shares.keys) == ["share"])
        #expect(zone.shares["share"]?.root == "root")
        #expect(zone.shares["share"]?.edit.puts.map(\.id) == [ada.participantID, anyone.participantID])
        // Meanwhile the app goes on.
        ada.permission = .readWrite
        let late = ShareSamples.participant(email: "late@example.com")
        share.addParticipant(late)
        var once = ShareSamples.invited(anyone.participantID, email: "x")
        (once.handle, once.oneTimeURL) = (nil, "/share/once")
        let view = ShareSamples.view([ShareSamples.invited(ada.participantID, email: "ada@example.com"), once])
        let rootSystem = SystemFields(name: "root", type: "Note", changeTag: "1")
        let storedRoot = SharedBytes(
            StoredRecord.encode(rootSystem, sharing: SharingPart(share: "share"), fields: []))
        connection.answer(
            stream,
            MessageCoder().encodeModifyRecordsResponse([
                ZoneModificationResult(
                    saves: [
                        SaveResult(outcome: .record(storedRoot)),
                        SaveResult(outcome: .record(ShareSamples.stored(view)), fieldsOmitted: true),
                    ], deletions: [])
            ]))
        let saved = try #require(try await first.value[share.recordID]?.get() as? CKShare)
        #expect(saved !== share && saved["cloudkit.title"] == "Groceries")
        #expect(saved.participants.map(\.permission) == [.readWrite, .readOnly, .readOnly])
        #expect(root.share?.recordID == share.recordID)
        #expect(share.recordChangeTag == "1" && share["cloudkit.title"] == "Groceries")
        #expect(share.url?.absoluteString == "https://example.com:7440/share/token#Groceries")
        #expect(
            share.oneTimeURL(for: anyone.participantID)?.absoluteString
                == "https://example.com:7440/share/once#Groceries")
        #expect(
            share.participants.map(\.participantID).dropFirst() == [
                ada.participantID, anyone.participantID, late.participantID,
            ])
        #expect(share.participants[1] === ada && ada.permission == .readWrite)
        #expect(ada.dateAddedToShare == Date(timeIntervalSince1970: 2))

        let second = save(database, [share])
        (stream, zone) = try await request()
        #expect(zone.saves[0].changeTag == "1" && zone.saves[0].fields.puts.count == 0)
        var edit = ShareEdit()
        edit.puts = [
            .init(id: ada.participantID, invitee: nil, permission: .readWrite),
            .init(id: late.participantID, invitee: .handle(.email("late@example.com")), permission: .readOnly),
        ]
        #expect(zone.shares["share"]?.edit == edit)
        var later = view
        later.participants[1].permission = .readWrite
        later.participants.append(ShareSamples.invited(late.participantID, email: "late@example.com"))
        let answer = ZoneModificationResult<SharedBytes>(
            saves: [SaveResult(outcome: .record(ShareSamples.stored(later, tag: "2")), fieldsOmitted: true)],
            deletions: [])
        connection.answer(stream, MessageCoder().encodeModifyRecordsResponse([answer]))
        _ = try await second.value
        #expect(share.recordChangeTag == "2")
        let third = save(database, [share])
        (stream, zone) = try await request()
        #expect(zone.shares["share"]?.edit == ShareEdit())
        connection.answer(stream, MessageCoder().encodeModifyRecordsResponse([answer]))
        _ = try await third.value
        withExtendedLifetime(folder) {}
    }

    @Test("keeps what was changed meanwhile in every part, and takes the rest from the server")
    func changedMeanwhile() throws {
        let view = ShareSamples.view(
            [
                ShareSamples.invited("a", email: "ada@example.com"), ShareSamples.accepted("b", user: 2),
                ShareSamples.accepted("c", user: 3),
            ], requesters: [4, 5, 6], blocked: [7])
        let share = try ShareSamples.share(view)
        let (ada, bob) = (share.participant("a")!, share.participant("b")!)
        ada.permission = .readWrite
        let outgoing = share.outgoing()
        bob.role = .administrator
        share.removeParticipant(share.participant("c")!)
        share.denyRequesters([share.requesters[0]])
        share.blockRequesters([share.requesters[0]])
        share.unblockIdentities([share.blockedIdentities[0]])
        share.allowsAccessRequests = true
        var saved = view
        saved.participants[1].permission = .readWrite
        saved.participants[2].permission = .readWrite
        saved.participants.append(ShareSamples.accepted("d", user: 9))
        saved.requesters.append(ShareRequester(user: RandomShare.user(10), requestedMilliseconds: 9))
        share.saved(as: saved, of: outgoing)
        #expect(share.participants.map(\.participantID) == [ShareSamples.owner, "a", "b", "d"])
        #expect(share.participant("a") === ada && share.participant("b") === bob)
        #expect(bob.role == .administrator && bob.permission == .readWrite)
        #expect(share.requesters.map(\.userName) == [RandomShare.user(6), RandomShare.user(10)])
        var edit = ShareEdit()
        edit.allowsAccessRequests = true
        edit.removals = ["c"]
        edit.puts = [.init(id: "b", invitee: nil, role: .administrator, permission: .readWrite)]
        edit.denials = [RandomShare.user(4)]
        edit.blocks = [RandomShare.user(5)]
        edit.unblocks = [RandomShare.user(7)]
        #expect(try share.edit() == edit)
    }

    @Test("drops participants that the server removed, though the app changed them meanwhile")
    func removedMeanwhile() throws {
        let share = try ShareSamples.share(ShareSamples.view([ShareSamples.accepted("b", user: 2)]))
        let outgoing = share.outgoing()
        share.participant("b")!.permission = .readWrite
        share.saved(as: ShareSamples.view(), of: outgoing)
        #expect(share.participants.map(\.role) == [.owner])
        #expect(try share.edit() == ShareEdit())
    }

    @Test("meets a conflict with three versions that are shares, each with participants of its own")
    func conflict() async throws {
        let (container, folder) = try fakeContainer(transport)
        let share = try ShareSamples.share(
            ShareSamples.view([ShareSamples.invited("a", email: "ada@example.com")]))
        share.participant("a")!.permission = .readWrite
        let saving = save(container.privateCloudDatabase, [share])
        let connection = try await transport.welcomed(user: ShareSamples.owner)
        let (stream, _) = try await request()
        let server = ShareSamples.view([
            ShareSamples.invited("a", email: "ada@example.com"), ShareSamples.accepted("b", user: 2),
        ])
        let error = ServiceError(
            .serverRecordChanged, "newer", serverRecord: ShareSamples.stored(server, tag: "2").array)
        connection.answer(
            stream,
            MessageCoder().encodeModifyRecordsResponse([
                ZoneModificationResult(saves: [SaveResult(outcome: .failure(error))], deletions: [])
            ]))
        let failure = try #require(try await saving.value[share.recordID]?.error as? CKError)
        let versions = [failure.serverRecord, failure.clientRecord, failure.ancestorRecord].map { $0 as? CKShare }
        #expect(versions.map { $0?.participants.count } == [3, 2, 2])
        #expect(versions.map { $0?.participant("a")?.permission } == [.readOnly, .readWrite, .readOnly])
        #expect(versions[1]?.participant("a") !== share.participant("a"))
        let merged = try #require(failure.mergedRecord() as? CKShare)
        #expect(merged.recordChangeTag == "2")
        var edit = ShareEdit()
        edit.puts = [.init(id: "a", invitee: nil, permission: .readWrite)]
        #expect(try merged.edit() == edit)
        #expect(merged.participants.map(\.participantID) == [ShareSamples.owner, "a", "b"])
        #expect(share.participant("a")?.permission == .readWrite, "the instance that failed is as it was")
        withExtendedLifetime(folder) {}
    }

    @Test("merges two versions of a share as its fields: the policy decides where both sides changed one thing")
    func merging() throws {
        let base = ShareSamples.view([
            ShareSamples.accepted("a", user: 1), ShareSamples.accepted("b", user: 2),
            ShareSamples.accepted("c", user: 3),
        ])
        let client = try ShareSamples.share(base)
        client.participant("a")!.permission = .readWrite
        client.participant("a")!.role = .administrator
        client.removeParticipant(client.participant("b")!)
        client.participant("c")!.permission = .readWrite
        let new = ShareSamples.participant(email: "new@example.com")
        client.addParticipant(new)
        client.addParticipant(.init(lookupInfo: .init(emailAddress: "both@example.com")))
        client.participants.last!.permission = .readWrite
        var changed = base
        changed.participants[1].permission = Share.Permission.none
        changed.participants[2].permission = .readWrite
        changed.participants.remove(at: 3)
        changed.participants.append(ShareSamples.invited("both", email: "both@example.com"))
        let server = try ShareSamples.share(changed, tag: "2")
        let ancestor = client.outgoing().ancestorRecord()
        let ours = try #require(server.merging(client, ancestor: ancestor, policy: .clientWins) as? CKShare)
        #expect(ours.participants.map(\.participantID) == [ShareSamples.owner, "a", "both", new.participantID])
        #expect(ours.participants.map(\.permission) == [.readWrite, .readWrite, .readWrite, .readOnly])
        #expect(ours.participant("a")?.role == .administrator)
        let theirs = try #require(server.merging(client, ancestor: ancestor, policy: .serverWins) as? CKShare)
        #expect(theirs.participants.map(\.participantID) == ours.participants.map(\.participantID))
        #expect(theirs.participants.map(\.permission) == [.readWrite, .none, .readOnly, .readOnly])
        #expect(theirs.participant("a")?.role == .administrator)
        #expect(try theirs.edit().removals == ["b"])
        #expect(server.participants.count == 4, "the server's version is not changed")
    }

    @Test("may be used from many threads at once")
    func threads() async throws {
        let view = ShareSamples.view([ShareSamples.accepted("b", user: 2)])
        let share = try ShareSamples.share(view)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                group.addTask {
                    let participant = ShareSamples.participant(email: "user\(number)@example.com")
                    share.addParticipant(participant)
                    let outgoing = share.outgoing()
                    share.saved(as: view, of: outgoing)
                    share.removeParticipant(participant)
                    _ = share.copy()
                }
            }
        }
        #expect(share.participant("b") != nil)
    }
}
