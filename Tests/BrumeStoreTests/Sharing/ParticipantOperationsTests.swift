import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeStore

/// What is remembered of requests of users who take part in another's zones, apart from the owner's.
@Suite("A user who sends a request of another's zone again")
struct ParticipantOperationsTests {
    private let shared = SharedDesk()
    private let guest = SharedDesk.guest
    private let other = SharedDesk.other

    private var database: Database { shared.database }

    @Test("is answered again what they did, and takes no room from what the owner did")
    func operations() throws {
        let outcome = OperationOutcome.records([ZoneModificationResult(deletions: [nil])])
        let digest = OperationDigest(front: 1, back: 2)
        func id(_ number: Int) -> [UInt8] { [UInt8(number & 0xFF), UInt8(number >> 8), 1] }
        let encoded = database.remember(operation: [1], outcome, digest: digest, user: "")
        for user in [other, guest] {
            _ = database.remember(operation: [2] + user.utf8, outcome, digest: digest, user: user)
        }
        for number in 0..<Limits.rememberedParticipantOperations + 100 {
            _ = database.remember(operation: id(number), outcome, digest: nil, user: guest)
        }
        let known = Database.RememberedOperation.outcome(outcome, encoded: encoded)
        for copy in [database, try SharedDesk.loaded(database)] {
            #expect(copy.rememberedOperation([1], digest: digest) == known)
            #expect(copy.rememberedOperation([1], digest: OperationDigest(front: 1, back: 3)) == .otherRequest)
            #expect(copy.rememberedOperation([2] + other.utf8, digest: digest, user: other) == known)
            #expect(
                copy.rememberedOperation([2] + guest.utf8, digest: digest, user: guest) == nil, "the oldest of theirs")
            let last = id(Limits.rememberedParticipantOperations + 99)
            #expect(copy.rememberedOperation(last, digest: nil, user: guest) == known)
            // Neither is answered what the other did.
            #expect(copy.rememberedOperation(last, digest: nil) == nil)
            #expect(copy.rememberedOperation([1], digest: digest, user: guest) == nil)
            #expect(copy.operations.count == 1)
            #expect(copy.participantOperations.count == Limits.rememberedParticipantOperations)
            #expect(copy.audit().kept == copy.audit().recounted)
        }
        for number in 0..<Limits.rememberedOperations + 10 {
            _ = database.remember(operation: id(number), outcome, digest: nil, user: "")
        }
        #expect(database.rememberedOperation([1], digest: digest) == nil)
        #expect(database.rememberedOperation([2] + other.utf8, digest: digest, user: other) == known)
    }

    @Test("is answered again after the journal was replayed")
    func replayedOperation() throws {
        let saved = shared.share { edit in
            edit.puts = [.init(id: "p", invitee: .user(guest), permission: .readWrite)]
        }
        var journal = [try #require(saved.commit).entry, try #require(shared.accept(guest).commit).entry]
        var (result, commit) = shared.desk(of: guest).modify(saves: [.of("a")])
        let outcome = OperationOutcome.records([result])
        commit?.entry.operationID = [5]
        commit?.entry.operationUser = guest
        commit?.entry.operationOutcome = database.remember(operation: [5], outcome, digest: nil, user: guest)
        journal.append(try #require(commit).entry)
        for copy in try shared.copies(replaying: journal) {
            guard case .outcome(outcome, _)? = copy.rememberedOperation([5], digest: nil, user: guest) else {
                Issue.record("it is forgotten")
                continue
            }
            #expect(copy.rememberedOperation([5], digest: nil) == nil)
        }
    }
}
