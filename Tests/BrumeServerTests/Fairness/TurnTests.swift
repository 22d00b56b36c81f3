import BrumeModel
import BrumeTestKit
import BrumeWire
import Testing

@testable import BrumeServer

/// Requests of one account wait for its turn, those of the others don't.
@Suite("Turns of accounts")
struct TurnTests {
    private let coder = MessageCoder()

    private var fetch: [UInt8] {
        coder.encodeFetchRecordsRequest(
            FetchRecordsRequest(database: .private, zones: [.init(zone: .defaultZone, names: ["r"])]))
    }

    @Test("of a flood over many connections a few are answered in each turn, and another account's call in its own")
    func flood() throws {
        let server = try SteppedServer { $0.accountTurnCount = 4 }
        let eves = try (0..<10).map { try server.connect(account: "a", device: UInt8($0 + 1)) }
        let ada = try server.connect(account: "b", device: 99)
        server.settle()
        server.turn()
        let calls = eves.map { eve in (0..<5).map { _ in eve.start(.recordsFetch, fetch) } }
        let other = ada.start(.recordsFetch, fetch)
        #expect(ada.isAnswered(other), "nothing of its own waits")
        func answered() -> Int { zip(eves, calls).reduce(0) { $0 + $1.1.count(where: $1.0.isAnswered) } }
        #expect(answered() < 10)
        var turns = 0
        while answered() < 50, turns < 1_000 {
            let other = ada.start(.recordsFetch, fetch)
            #expect(ada.isAnswered(other))
            server.turn()
            turns += 1
        }
        #expect(answered() == 50, "each is answered in the end")
        #expect(turns >= 12, "\(turns) turns for 100 frames, four a turn")
    }

    @Test("a session that waits for its turn ends like any other")
    func ending() throws {
        let server = try SteppedServer { $0.accountTurnCount = 1 }
        let eves = try (0..<4).map { try server.connect(account: "a", device: UInt8($0 + 1)) }
        server.settle()
        for eve in eves { for _ in 0..<5 { _ = eve.start(.recordsFetch, fetch) } }
        for eve in eves.dropLast() { eve.disconnect() }
        server.settle()
        let last = eves[3].start(.recordsFetch, fetch)
        server.settle()
        #expect(eves[3].isAnswered(last))
    }

    @Test("a call to the public database waits for its account's turn on that database's loop")
    func publicDatabase() throws {
        let server = try SteppedServer {
            $0.accountTurnCount = 2
            $0.loopCount = 4
        }
        let eves = try (0..<8).map { try server.connect(account: "a", device: UInt8($0 + 1)) }
        server.settle()
        let request = coder.encodeFetchRecordsRequest(
            FetchRecordsRequest(database: .public, zones: [.init(zone: .defaultZone, names: ["r"])]))
        let calls = eves.map { $0.start(.recordsFetch, request) }
        server.settle()
        #expect(zip(eves, calls).allSatisfy { $0.isAnswered($1) })
    }
}
