import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// A server whose catalog takes its time, or fails: accounts and schemas change only when that is durable.
@Suite("A catalog that takes its time")
struct SlowCatalogTests {
    private let server: SteppedServer
    private let catalog: ScriptedCatalog

    init() throws {
        server = try SteppedServer(log: ScriptedLogStorage()) { $0.loopCount = 3 }
        catalog = try #require(server.catalog)
    }

    private func finishNext(failing: Bool = false) {
        catalog.finishNext(failing: failing)
        server.settle()
    }

    private func save(_ name: String, _ fields: [String: FieldValue], by peer: FramePeer) -> UInt32 {
        let request = ModifyRecordsRequest<DecodedFields>(
            database: .private,
            zones: [
                ZoneModification(zone: .defaultZone, saves: [RecordSave(name: name, type: "Note", fields: fields)])
            ])
        return peer.start(.recordsModify, MessageCoder().encodeModifyRecordsRequest(request))
    }

    @Test("a revocation is answered when no session of the account is left, and until then it works as before")
    func revocation() throws {
        let ada = try server.connect(account: "a")
        try ada.save(["first"])
        catalog.isHeld = true
        let revocation = server.administer(.revokeTokens(name: "a"))
        server.settle()
        try ada.save(["x"])
        #expect(!revocation.isAnswered && ada.isOpen)
        revocation.whenAnswered = { #expect(!ada.isOpen, "answered before all loops knew") }
        finishNext()
        #expect(revocation.isAnswered && !ada.isOpen)
        #expect(try server.refusal(account: "a").code == ErrorCode.notAuthenticated.rawValue)
    }

    @Test("a revocation that fails leaves the account its sessions and its tokens")
    func failedRevocation() throws {
        let ada = try server.connect(account: "a")
        try ada.save(["first"])
        catalog.isHeld = true
        let revocation = server.administer(.revokeTokens(name: "a"))
        server.settle()
        finishNext(failing: true)
        #expect(revocation.error != nil)
        try ada.save(["x"])
        _ = try server.connect(account: "a", device: 2)
    }

    @Test("a save that teaches waits for its lesson alone, and those of others go on")
    func lessons() throws {
        let (ada, bob) = (try server.connect(account: "a"), try server.connect(account: "b", device: 2))
        try bob.save(["known"]) { _ in ["known": .string("x")] }
        catalog.isHeld = true
        let lesson = save("x", ["title": .string("x")], by: ada)
        let second = save("y", ["text": .string("y")], by: bob)
        server.settle()
        #expect(!ada.isAnswered(lesson) && !bob.isAnswered(second))
        #expect(catalog.heldCount == 1, "one lesson after the other, whoever asks")
        try bob.save(["more"]) { _ in ["known": .string("z")] }
        finishNext()
        #expect(ada.isAnswered(lesson) && !bob.isAnswered(second))
        finishNext()
        #expect(bob.isAnswered(second))
    }

    @Test("a lesson that is not taken refuses its save, and the next one is learned")
    func failedLesson() throws {
        let ada = try server.connect(account: "a")
        catalog.isHeld = true
        let lesson = save("x", ["title": .string("x")], by: ada)
        server.settle()
        finishNext(failing: true)
        guard case .failure(let error)? = ada.outcome(lesson) else { throw TestFailure("the save was not refused") }
        #expect(error.code == .serviceUnavailable)
        catalog.release()
        server.settle()
        #expect(server.catalog?.schemas[SteppedServer.container] == nil)
        try ada.save(["x"]) { _ in ["title": .string("x")] }
    }

    @Test("a session stays when the end of a removed account of the same name comes late")
    func sameName() throws {
        let ada = try server.connect(account: "a")
        let former = try #require(server.core.accounts.account(named: "a")?.tokenHashes)
        let removal = server.administer(.removeAccount(name: "a", deletesData: false))
        let addition = server.administer(.addAccount(name: "a", email: ""))
        server.settle()
        #expect(removal.error == nil && !ada.isOpen)
        guard case .success(.accountAdded(_, let token)) = addition.outcome else {
            throw TestFailure("the account was not added: \(String(describing: addition.error))")
        }
        let second = try server.connect(token: token, device: 5)
        // The end of the first one's sessions may come to a loop as late as this.
        server.core.endClients(ofTokens: Set(former)) {}
        server.settle()
        #expect(second.isOpen)
        try second.save(["x"])
    }

    @Test("what is saved with a token that was made during a removal is deleted too")
    func tokenDuringRemoval() throws {
        let ada = try server.connect(account: "a")
        try ada.save(["first"])
        catalog.isHeld = true
        let removal = server.administer(.removeAccount(name: "a", deletesData: true))
        let addition = server.administer(.createToken(name: "a"))
        server.settle()
        finishNext()
        #expect(!ada.isOpen && server.recordCount(ofAccount: 1) ?? 0 <= 1, "the tokens are revoked, the data deleted")
        finishNext()
        guard case .success(.tokenCreated(let token)) = addition.outcome else {
            throw TestFailure("no token was made: \(String(describing: addition.error))")
        }
        let second = try server.connect(token: token, device: 5)
        try second.save(["late"])
        #expect(server.recordCount(ofAccount: 1) == 2)
        for _ in 0..<4 where !removal.isAnswered { finishNext() }
        #expect(removal.summary != nil && !second.isOpen)
        #expect(server.core.accounts.account(named: "a") == nil)
        #expect(server.recordCount(ofAccount: 1) ?? 0 <= 1)
    }
}
