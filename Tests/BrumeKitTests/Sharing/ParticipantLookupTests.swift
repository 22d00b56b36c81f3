@testable import BrumeKit
import BrumeModel
import BrumeTestKit
import Foundation
import Testing

@Suite("Looking up participants", .timeLimit(.minutes(1)))
struct ParticipantLookupTests {
    /// No server plays: nothing is asked.
    let transport = FakeTransport()
    private let userID = CKRecord.ID(recordName: RandomShare.user(1))

    @Test("gives a participant for every handle and user record name that somebody can have, without asking the server")
    func lookups() async throws {
        let (container, folder) = try fakeContainer(transport)
        let participants = [
            try await container.shareParticipant(forEmailAddress: "Ada@example.com"),
            try await container.shareParticipant(forPhoneNumber: "+49 30 1234567"),
            try await container.shareParticipant(forUserRecordID: userID),
        ]
        for participant in participants {
            #expect(participant.role == .privateUser && participant.permission == .readOnly)
            #expect(participant.acceptanceStatus == .pending && participant.dateAddedToShare == nil)
            #expect(participant.userIdentity.hasiCloudAccount && !participant.isApprovedRequester)
        }
        let infos = participants.map(\.userIdentity.lookupInfo)
        #expect(infos[0]?.emailAddress == "Ada@example.com" && infos[1]?.phoneNumber == "+49 30 1234567")
        #expect(participants.map(\.userIdentity.userRecordID) == [nil, nil, userID])
        #expect(Set(participants.map(\.participantID)).count == 3)
        withExtendedLifetime(folder) {}
    }

    @Test("fails for each item that can be nobody's, with a sentence that says what it should look like")
    func malformed() async throws {
        let (container, folder) = try fakeContainer(transport)
        let emails = try await container.shareParticipants(forEmailAddresses: ["ada@example.com", "ada"])
        #expect(try emails["ada@example.com"]?.get().userIdentity.lookupInfo?.emailAddress == "ada@example.com")
        let error = emails["ada"]?.error as? CKError
        #expect(error?.code == .invalidArguments && error?.localizedDescription == Handle.emailForm)
        let phones = try await container.shareParticipants(forPhoneNumbers: ["030 1234567"])
        #expect((phones["030 1234567"]?.error as? CKError)?.localizedDescription == Handle.phoneForm)
        let me = CKRecord.ID(recordName: CKCurrentUserDefaultName)
        let users = try await container.shareParticipants(forUserRecordIDs: [userID, me])
        #expect(users[userID]?.error == nil && CKError.invalidArguments ~= users[me]!.error!)
        await #expect(
            performing: { try await container.shareParticipant(forPhoneNumber: "1") },
            throws: { CKError.invalidArguments ~= $0 })
        let older: Result<CKShare.Participant, any Error> = await withCheckedContinuation { continuation in
            container.fetchShareParticipant(withEmailAddress: "ada@example.com") { participant, error in
                continuation.resume(returning: participant.map { .success($0) } ?? .failure(error!))
            }
        }
        #expect(older.error == nil)
        withExtendedLifetime(folder) {}
    }

    @Test("is done item by item in an operation")
    func operation() async throws {
        let (container, folder) = try fakeContainer(transport)
        let infos = ["a@example.com", "nobody", "a@example.com"].map(CKUserIdentity.LookupInfo.init(emailAddress:))
        let transcript = Transcript()
        let operation = CKFetchShareParticipantsOperation(userIdentityLookupInfos: infos)
        operation.perShareParticipantResultBlock = { transcript.add($0.emailAddress ?? "", $1) }
        operation.fetchShareParticipantsResultBlock = { transcript.add("end", $0) }
        await operation.finished { container.add(operation) }
        #expect(transcript.lines == ["a@example.com", "nobody: invalidArguments", "end"])
        let older = CKFetchShareParticipantsOperation(userIdentityLookupInfos: infos)
        let deprecated: any DeprecatedFetchParticipants = older
        deprecated.shareParticipantFetchedBlock = { transcript.add($0.userIdentity.lookupInfo?.emailAddress ?? "") }
        deprecated.fetchShareParticipantsCompletionBlock = { transcript.add("end", $0) }
        await older.finished { container.add(older) }
        #expect(transcript.lines.dropFirst(3) == ["a@example.com", "end: partialFailure [? invalidArguments]"])
        withExtendedLifetime(folder) {}
    }

    @Test("takes an account, as all else that is the user's")
    func noAccount() async throws {
        let (container, folder) = try fakeContainer(transport, token: nil)
        await #expect(
            performing: { try await container.shareParticipant(forEmailAddress: "ada@example.com") },
            throws: { CKError.notAuthenticated ~= $0 })
        await #expect(
            performing: { try await container.shareParticipants(forEmailAddresses: ["ada"]) },
            throws: { CKError.notAuthenticated ~= $0 })
        let transcript = Transcript()
        let operation = CKFetchShareParticipantsOperation(
            userIdentityLookupInfos: [CKUserIdentity.LookupInfo(emailAddress: "a@example.com")])
        operation.perShareParticipantResultBlock = { transcript.add($0.emailAddress ?? "", $1) }
        operation.fetchShareParticipantsResultBlock = { transcript.add("end", $0) }
        await operation.finished { container.add(operation) }
        #expect(transcript.lines == ["a@example.com: notAuthenticated", "end: notAuthenticated"])
        withExtendedLifetime(folder) {}
    }
}

// What is deprecated, without the warnings.

private protocol DeprecatedFetchParticipants: AnyObject {
    var shareParticipantFetchedBlock: ((CKShare.Participant) -> Void)? { get set }
    var fetchShareParticipantsCompletionBlock: (((any Error)?) -> Void)? { get set }
}

extension CKFetchShareParticipantsOperation: DeprecatedFetchParticipants {}
