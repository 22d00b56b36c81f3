@testable import BrumeKit
import BrumeModel
import BrumeProtocol
import BrumeRecord
import BrumeTestKit
import Foundation
import Testing

@Suite("A share that arrives", .timeLimit(.minutes(1)))
struct ShareArrivalTests {
    let transport = FakeTransport()
    let zone = ShareSamples.zone

    @Test("is a CKShare that shows what the server showed, and the current user under the default name")
    func content() throws {
        var oneTime = ShareSamples.invited("c", email: "x@example.com")
        (oneTime.handle, oneTime.oneTimeURL) = (nil, "/share/once")
        var approved = ShareSamples.accepted("b", user: 2, role: .administrator, permission: .readWrite)
        approved.isApprovedRequester = true
        var view = ShareSamples.view(
            [ShareSamples.invited("a", email: "ada@example.com"), approved, oneTime], requesters: [3], blocked: [4, 5])
        view.allowsAccessRequests = true
        let share = try ShareSamples.share(view, title: "Groceries")
        #expect(share.recordType == "cloudkit.share" && share.recordChangeTag == "1")
        #expect(share["cloudkit.title"] == "Groceries" && share.changedKeys().isEmpty)
        #expect(share.participants.map(\.role) == [.owner, .privateUser, .administrator, .privateUser])
        #expect(share.participants.map(\.permission) == [.readWrite, .readOnly, .readWrite, .readOnly])
        #expect(share.participants.map(\.acceptanceStatus) == [.accepted, .pending, .accepted, .pending])
        #expect(share.participants.map(\.isApprovedRequester) == [false, false, true, false])
        let added = Date(timeIntervalSince1970: 2)
        #expect(share.participants.map(\.dateAddedToShare) == [nil, added, added, added])
        #expect(share.participants.allSatisfy { $0.userIdentity.hasiCloudAccount })
        let (owner, ada) = (share.owner.userIdentity, share.participants[1].userIdentity)
        #expect(owner.userRecordID?.recordName == CKCurrentUserDefaultName)
        #expect(share.currentUserParticipant === share.owner)
        #expect(ada.userRecordID == nil && ada.lookupInfo?.emailAddress == "ada@example.com")
        #expect(share.participant("b")?.userIdentity.userRecordID?.recordName == RandomShare.user(2))
        #expect(share.participant("b")?.userIdentity.lookupInfo == nil)
        #expect(share.oneTimeURL(for: "c")?.absoluteString == "https://example.com:7440/share/once#Groceries")
        #expect(share.oneTimeURL(for: "a") == nil && share.oneTimeURL(for: "z") == nil)
        #expect(share.allowsAccessRequests && share.publicPermission == .none)
        #expect(share.requesters.map(\.participantLookupInfo.userRecordID?.recordName) == [RandomShare.user(3)])
        #expect(
            share.blockedIdentities.map(\.userIdentity.userRecordID?.recordName)
                == [RandomShare.user(4), RandomShare.user(5)])
        #expect(try share.edit() == ShareEdit())
    }

    @Test("shows an administrator and a participant which of the participants they are")
    func currentUser() throws {
        let view = ShareSamples.view([ShareSamples.accepted("b", user: 2, role: .administrator)])
        let share = try ShareSamples.share(view, context: AnswerContext(currentUser: RandomShare.user(2)))
        #expect(share.currentUserParticipant?.participantID == "b")
        #expect(share.owner.userIdentity.userRecordID?.recordName == ShareSamples.owner)
        share.denyRequesters([])
    }

    @Test(
        "has a URL of the server that this client found unless the operator named another, with the title behind it",
        arguments: [
            ("/share/t", nil, "https://example.com:7440/share/t"),
            ("/share/t", "Groceries", "https://example.com:7440/share/t#Groceries"),
            ("/share/t", "Für Oma #1\n", "https://example.com:7440/share/t#F%C3%BCr%20Oma%20%231%0A"),
            ("/share/t", "", "https://example.com:7440/share/t"),
            ("https://notes.example/share/t", "a/b", "https://notes.example/share/t#a/b"),
            ("//notes.example/share/t", nil, "https://notes.example/share/t"),
            ("https://notes.example/share/t#x", "a", "https://notes.example/share/t#x"),
        ])
    func url(sent: String, title: String?, shown: String) throws {
        let share = try ShareSamples.share(ShareSamples.view(url: sent), title: title)
        #expect(share.url?.absoluteString == shown)
        #expect(try archived(share, as: CKShare.self).url?.absoluteString == shown)
    }

    @Test("has a URL as people write it: IPv6 addresses in brackets, and not the port that all have")
    func origins() throws {
        func origin(_ server: String) throws -> String? { try BrumeConfiguration(server: server).endpoint().origin }
        #expect(try origin("example.com:443") == "https://example.com")
        #expect(try origin("example.com:4433") == "https://example.com:4433")
        #expect(try origin("[::1]:443") == "https://[::1]")
        #expect(try origin("[::1]:7440") == "https://[::1]:7440")
        #expect(ServerEndpoint(socketPath: "/run/brume").origin == nil)
        let share = try ShareSamples.share(ShareSamples.view(), context: AnswerContext(currentUser: nil))
        #expect(share.url?.absoluteString == "/share/token", "the server has no address")
    }

    @Test("comes out of archives as it was, what was not saved of it included", arguments: [false, true])
    func archives(systemFieldsAlone: Bool) throws {
        let view = ShareSamples.view(
            [ShareSamples.invited("a", email: "ada@example.com"), ShareSamples.accepted("b", user: 2)],
            requesters: [3, 4], blocked: [5])
        let share = try ShareSamples.share(view, title: "Groceries")
        func read(_ share: CKShare) throws -> CKShare {
            guard systemFieldsAlone else { return try archived(share, as: CKShare.self) }
            return try #require(CKShare(coder: try archivedSystemFields(share)))
        }
        let untouched = try read(share)
        #expect(try untouched.edit() == ShareEdit())
        #expect(untouched.participants == share.participants && untouched.requesters == share.requesters)
        #expect(untouched.participants.map(\.dateAddedToShare) == share.participants.map(\.dateAddedToShare))
        #expect(untouched.currentUserParticipant == share.owner && untouched.recordChangeTag == "1")
        #expect(untouched["cloudkit.title"] == (systemFieldsAlone ? nil : "Groceries"))
        share.participants[1].permission = .readWrite
        share.addParticipant(.oneTimeURLParticipant())
        share.denyRequesters([share.requesters[0]])
        share.allowsAccessRequests = true
        #expect(try read(share).edit() == share.edit())
        #expect(try share.edit() != ShareEdit())
        let ancestor = try #require(try archived(share, as: CKShare.self).outgoing().ancestorRecord() as? CKShare)
        #expect(ancestor.participants.map(\.permission) == [.readWrite, .readOnly, .readOnly])
        #expect(ancestor.currentUserParticipant == ancestor.owner)
    }

    @Test("remembers its root when it was made here, archives included")
    func root() throws {
        let share = CKShare(rootRecord: CKRecord(recordType: "List", recordID: .init(recordName: "l", zoneID: zone)))
        for share in [
            share, try archived(share, as: CKShare.self),
            try #require(CKShare(coder: try archivedSystemFields(share))), try #require(share.copy() as? CKShare),
        ] {
            #expect(share.outgoing().shareSave == ShareSave(root: "l"))
        }
        #expect(CKShare(recordZoneID: zone).outgoing().shareSave == ShareSave())
    }

    @Test("comes as a CKShare out of fetches and changes")
    func fetches() async throws {
        let (container, folder) = try fakeContainer(transport)
        let database = container.privateCloudDatabase
        let stored = ShareSamples.stored(ShareSamples.view(), title: "Groceries")
        let id = CKRecord.ID(recordName: "share", zoneID: zone)
        let fetch = Task { try await database.record(for: id) }
        let connection = try await transport.welcomed(user: ShareSamples.owner)
        var call = try await transport.call()
        connection.answer(call.stream, MessageCoder().encodeFetchRecordsResponse([[.record(stored)]]))
        let fetched = try #require(try await fetch.value as? CKShare)
        #expect(fetched.url?.absoluteString == "https://example.com:7440/share/token#Groceries")
        #expect(fetched.currentUserParticipant === fetched.owner)
        let changes = Task { try await database.recordZoneChanges(inZoneWith: zone, since: nil) }
        call = try await transport.call()
        let page = ZoneChangesPage<SharedBytes, [UInt8]>(
            records: [stored], deletions: [], token: [1], moreComing: false, clientToken: [])
        connection.answer(call.stream, MessageCoder().encodeZoneChangesResponse(page))
        let modification = try #require(try await changes.value.modificationResultsByID[id]).get()
        #expect((modification.record as? CKShare)?.url == fetched.url)
        withExtendedLifetime(folder) {}
    }

    @Test("is refused when a peer shows what no share can be")
    func hostile() {
        var noOwner = ShareSamples.view([ShareSamples.accepted("b", user: 2)])
        noOwner.participants.removeFirst()
        var badUser = ShareSamples.view([ShareSamples.accepted("b", user: 2)])
        badUser.participants[1].user = "\u{0}"
        var badRequester = ShareSamples.view()
        badRequester.requesters = [ShareRequester(user: "", requestedMilliseconds: 0)]
        for view in [noOwner, badUser, badRequester] {
            #expect(CKRecord.make(ShareSamples.record(view), zoneID: zone, context: ShareSamples.context) == nil)
        }
        let system = SystemFields(name: "l", type: "List")
        #expect(CKRecord.make(Record(system: system, share: "\n"), zoneID: zone, context: ShareSamples.context) == nil)
    }

    @Test("is saved without a word about participants when the server did not show any")
    func noDetails() throws {
        let share = try ShareSamples.share(nil, title: "Groceries")
        #expect(share.url == nil && share.participants.map(\.role) == [.owner])
        #expect(share.outgoing().shareSave == ShareSave())
    }
}
