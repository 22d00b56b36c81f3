import BrumeKit
import BrumeLock
import BrumeModel
import BrumeTestKit
import Foundation
import Testing

@Suite("Requests for access to shares, and a server", .timeLimit(.minutes(1)))
struct ShareAccessEndToEndTests {
    private static let loopCounts = [1, 4]

    /// What came of asking for access.
    private func ask(_ user: CKContainer, _ url: URL) async -> CKError.Code? {
        await code { try await user.requestShareAccess(for: [url])[url]?.get() }
    }

    /// The users who ask, as the share shows them.
    private func names(_ share: CKShare) -> Set<String> {
        Set(share.requesters.compactMap { $0.userIdentity.userRecordID?.recordName })
    }

    @Test("reach the owner, who denies, blocks or invites", arguments: loopCounts)
    func answered(loopCount: Int) async throws {
        let desk = try await ShareLinkDesk(loopCount: loopCount)
        let users = try ["bob", "carol", "eve"].map { try desk.user($0) }
        var ids: [String] = []
        for user in users { ids.append(try await user.userRecordID().recordName) }
        let saved = try await desk.share { $0.allowsAccessRequests = true }
        let url = try #require(saved.url)
        for user in users {
            #expect(await code { try await user.shareMetadata(for: url) } == .unknownItem)
            #expect(await ask(user, url) == nil)
            #expect(await ask(user, url) == nil, "asking again is no failure")
        }
        let share = try await desk.fetched(saved)
        #expect(share.requesters.count == 3 && names(share) == Set(ids))
        #expect(share.recordChangeTag == saved.recordChangeTag)

        func requester(_ index: Int) throws -> CKShare.AccessRequester {
            try #require(share.requesters.first { $0.userIdentity.userRecordID?.recordName == ids[index] })
        }
        let lookupInfo = try requester(2).participantLookupInfo
        let invited = try #require(try await participants(of: [lookupInfo], desk.owner)[lookupInfo])
        #expect(try await desk.owner.shareParticipants(for: [lookupInfo])[lookupInfo]?.get() != nil)
        share.denyRequesters([try requester(0)])
        share.blockRequesters([try requester(1)])
        invited.permission = .readWrite
        share.addParticipant(invited)
        try await desk.owner.privateCloudDatabase.save(share)
        #expect(share.requesters.isEmpty)
        #expect(share.blockedIdentities.map(\.userIdentity.userRecordID?.recordName) == [ids[1]])
        #expect(invited.isApprovedRequester && invited.acceptanceStatus == .pending)

        #expect(await ask(users[2], url) == .participantAlreadyInvited)
        let metadata = try await users[2].shareMetadata(for: url)
        #expect(metadata.participantPermission == .readWrite && metadata.participantRole == .privateUser)
        #expect(metadata.share.currentUserParticipant?.participantID == invited.participantID)
        #expect(await ask(users[0], url) == nil, "who was denied may ask again")
        #expect(await ask(users[1], url) == nil, "who is blocked is not told so")
        #expect(names(try await desk.fetched(share)) == [ids[0]])
        #expect(await code { try await users[1].shareMetadata(for: url) } == .unknownItem)
        #expect(await ask(desk.owner, url) == .participantAlreadyInvited)

        let unblocked = try await desk.fetched(share)
        unblocked.unblockIdentities(unblocked.blockedIdentities)
        try await desk.owner.privateCloudDatabase.save(unblocked)
        #expect(await ask(users[1], url) == nil)
        #expect(names(try await desk.fetched(share)) == [ids[0], ids[1]])
    }

    /// Looks users up with an operation, as the owner's app does for those who ask.
    private func participants(
        of infos: [CKUserIdentity.LookupInfo], _ container: CKContainer
    ) async throws -> [CKUserIdentity.LookupInfo: CKShare.Participant] {
        let found = Lock<[CKUserIdentity.LookupInfo: CKShare.Participant]>([:])
        let operation = CKFetchShareParticipantsOperation(userIdentityLookupInfos: infos)
        operation.perShareParticipantResultBlock = { info, result in
            found.withLock { $0[info] = try? result.get() }
        }
        await operation.finished { container.add(operation) }
        return found.withLock { $0 }
    }

    @Test("tell nobody whether a share exists or lets users ask", arguments: loopCounts)
    func silence(loopCount: Int) async throws {
        let desk = try await ShareLinkDesk(loopCount: loopCount)
        let bob = try desk.user("bob")
        let share = try await desk.share { _ in }
        let url = try #require(share.url)
        let transcript = Transcript()
        let operation = CKShareRequestAccessOperation(shareURLs: [url])
        operation.perShareAccessRequestResultBlock = { transcript.add($0 == url ? "share" : "?", $1) }
        operation.shareAccessRequestResultBlock = { transcript.add("end", $0) }
        await operation.finished { bob.add(operation) }
        #expect(transcript.lines == ["share", "end"])
        #expect(try await desk.fetched(share).requesters.isEmpty)
        try await desk.owner.privateCloudDatabase.deleteRecord(withID: share.recordID)
        #expect(await ask(bob, url) == nil, "of a share that has ended")
        let unknown = try #require(URL(string: "https://example.com/share/\(String(repeating: "A", count: 120))"))
        #expect(await ask(bob, unknown) == nil, "of another server")
    }

    @Test("are pushed to the owner's devices, arrive there as a change of the share, and outlive the server")
    func kept() async throws {
        let desk = try await ShareLinkDesk(loopCount: 2)
        let bob = try desk.user("bob")
        let saved = try await desk.share { $0.allowsAccessRequests = true }
        let database = desk.owner.privateCloudDatabase
        let token = try await database.recordZoneChanges(inZoneWith: ShareLinkDesk.zoneID, since: nil).changeToken
        try await database.save(CKDatabaseSubscription(subscriptionID: "s"))
        var events = desk.owner.notificationEvents.makeAsyncIterator()
        guard case .ready? = try await events.next()?.kind else { throw TestFailure("the stream is not open") }
        #expect(await ask(bob, try #require(saved.url)) == nil)
        #expect(try await events.next()?.kind == .databaseChanged(.private))
        desk.server.stop()
        try desk.server.start()
        let changes = try await database.recordZoneChanges(inZoneWith: ShareLinkDesk.zoneID, since: token)
        #expect(changes.modificationResultsByID.count == 1)
        let share = try changes.modificationResultsByID[saved.recordID]?.get().record as? CKShare
        #expect(share?.requesters.map(\.userIdentity.userRecordID) == [try await bob.userRecordID()])
    }
}
