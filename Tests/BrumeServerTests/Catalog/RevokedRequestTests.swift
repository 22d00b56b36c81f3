import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// Once the operator has been told that an account is revoked, nothing that it asked for before is done any more.
@Suite("What a revoked account had under way")
struct RevokedRequestTests {
    private let storage = ScriptedLogStorage()

    private static func save(_ name: String, _ field: String, _ database: DatabaseScope = .private) -> [UInt8] {
        MessageCoder().encodeModifyRecordsRequest(
            ModifyRecordsRequest<DecodedFields>(
                database: database,
                zones: [
                    ZoneModification(
                        zone: .defaultZone,
                        saves: [RecordSave(name: name, type: "Note", fields: [field: .string(name)])])
                ]))
    }

    private func privateDatabase(ofAccount number: Int, _ server: SteppedServer) -> DatabaseID {
        DatabaseID(
            container: SteppedServer.container, environment: .development, scope: .private,
            owner: server.userRecordName(ofAccount: number))
    }

    private static let publicDatabase = DatabaseID(
        container: SteppedServer.container, environment: .development, scope: .public, owner: "")

    @Test("a save that waits for its lesson is not made")
    func lesson() throws {
        let server = try SteppedServer(log: storage) { $0.loopCount = 3 }
        let catalog = try #require(server.catalog)
        let (ada, bob) = (try server.connect(account: "a"), try server.connect(account: "b", device: 2))
        try ada.save(["first"])
        let id = privateDatabase(ofAccount: 1, server)
        let sequence = storage.sequence(of: id)
        catalog.isHeld = true
        bob.start(.recordsModify, Self.save("x", "one"))
        ada.start(.recordsModify, Self.save("y", "two"))
        server.settle()
        let revocation = server.administer(.revokeTokens(name: "a"))
        server.settle()
        for _ in 0..<4 where !revocation.isAnswered {
            catalog.finishNext()
            server.settle()
        }
        #expect(revocation.isAnswered && catalog.heldCount == 1, "the lesson is asked for, and waits")
        catalog.release()
        server.settle()
        #expect(storage.sequence(of: id) == sequence)
    }

    @Test("a lesson that waits for another one is not given")
    func secondLesson() throws {
        let server = try SteppedServer(log: storage)
        let catalog = try #require(server.catalog)
        let (ada, bob) = (try server.connect(account: "a"), try server.connect(account: "b", device: 2))
        catalog.isHeld = true
        bob.start(.recordsModify, Self.save("x", "one"))
        ada.start(.recordsModify, Self.save("y", "two"))
        server.settle()
        #expect(catalog.heldCount == 1, "lessons are given one by one")
        let revocation = server.administer(.revokeTokens(name: "a"))
        server.settle()
        for _ in 0..<4 where !revocation.isAnswered {
            catalog.finishNext()
            server.settle()
        }
        #expect(revocation.isAnswered)
        catalog.release()
        server.settle()
        let schema = try #require(catalog.schemas[SteppedServer.container]).development.schema
        let fields = try #require(schema.recordTypes["Note"]).fields.map(\.name)
        #expect(fields == ["one"])
    }

    @Test("its user record is not made when the database has been loaded")
    func userRecord() throws {
        let server = try SteppedServer(log: storage)
        let log = try #require(server.log)
        let (bob, id) = (try server.connect(account: "b", device: 2), privateDatabase(ofAccount: 1, server))
        try bob.save(["first"])
        log.opening = .held
        let ada = server.greet(account: "a")
        server.settle()
        let revocation = server.administer(.revokeTokens(name: "a"))
        server.settle()
        #expect(revocation.isAnswered)
        log.finishOpenings()
        server.settle()
        #expect(!ada.isOpen)
        #expect(storage.sequence(of: id) == 0)
    }

    @Test("a save of the public database that waits for its account's turn on another loop is not made")
    func otherLoop() throws {
        for loops in 2...8 {
            let server = try SteppedServer(log: ScriptedLogStorage()) {
                $0.loopCount = loops
                $0.accountTurnUndurableBytes = 1
            }
            if server.loopOfPrivateDatabase(ofAccount: 1) != server.loopOfPublicDatabase {
                return try otherLoop(loops)
            }
        }
        Issue.record("the databases share a loop, however many there are")
    }

    private func otherLoop(_ loops: Int) throws {
        let server = try SteppedServer(log: storage) {
            $0.loopCount = loops
            $0.accountTurnUndurableBytes = 1
        }
        let ada = try server.connect(account: "a")
        try ada.save(["first"], database: .public) { _ in ["text": .string("x")] }
        server.isDurabilityHeld = true
        ada.start(.recordsModify, Self.save("second", "text", .public))
        server.settle()
        let sequence = storage.sequence(of: Self.publicDatabase)
        for name in ["third", "fourth"] { ada.start(.recordsModify, Self.save(name, "text", .public)) }
        server.settle()
        #expect(server.core.shards[server.loopOfPublicDatabase].turns.count == 2, "they wait for the disk")
        let revocation = server.administer(.revokeTokens(name: "a"))
        server.settle()
        #expect(revocation.isAnswered)
        server.isDurabilityHeld = false
        server.settle()
        #expect(storage.sequence(of: Self.publicDatabase) == sequence + 1, "what was made before is kept, and no more")
    }
}
