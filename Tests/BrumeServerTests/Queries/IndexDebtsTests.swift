import BrumeModel
import BrumeStore
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

@Suite("Whose changes indexes have yet to take over")
struct IndexDebtsTests {
    private let ada = ClientShare.Key.account("ada")
    private let bob = ClientShare.Key.account("bob")
    private let room = StoreLimits.pendingIndexBytes

    @Test("work is charged in the order of the commits, to each account for its part")
    func order() {
        var debts = IndexDebts()
        debts.committed(ada, pending: 100)
        debts.committed(ada, pending: 300)
        debts.committed(bob, pending: 400)
        debts.committed(ada, pending: 500)
        #expect(debts.done(pending: 450).map(\.account) == [ada])
        let parts = debts.done(pending: 150)
        #expect(parts.map(\.account) == [ada, bob])
        #expect(abs(parts[0].part - 250.0 / 300) < 0.001 && abs(parts[1].part - 50.0 / 300) < 0.001)
        #expect(debts.done(pending: 0).map(\.account) == [bob, ada])
        #expect(debts.done(pending: 0).isEmpty)
    }

    @Test("work that somebody else's commit did is charged to nobody, and not counted again")
    func promptWork() {
        var debts = IndexDebts()
        debts.committed(ada, pending: room / 2 + 1)
        #expect(!debts.mayAdd(ada))
        debts.committed(bob, pending: 10)
        #expect(debts.mayAdd(ada))
        #expect(debts.done(pending: 0).map(\.account) == [ada])
    }

    @Test("an account may take as much of the room as is left, so those that come later find some")
    func shares() {
        var debts = IndexDebts()
        var pending = 0
        func fill(_ account: ClientShare.Key) -> Int {
            let before = pending
            while debts.mayAdd(account) {
                pending += 1_000
                debts.committed(account, pending: pending)
            }
            return pending - before
        }
        #expect(abs(fill(ada) - room / 2) < 2_000)
        #expect(abs(fill(bob) - room / 4) < 2_000)
        #expect(abs(fill(.account("eve")) - room / 8) < 2_000)
        #expect(pending < room)
        // Small changes may exceed it: who had no part in that is not refused for it.
        debts.committed(ada, pending: 2 * room)
        #expect(!debts.mayAdd(ada) && !debts.mayAdd(bob) && debts.mayAdd(.account("new")))
    }

    @Test("who has little waiting is not refused for what one request of somebody else left")
    func backlog() {
        var debts = IndexDebts()
        debts.committed(ada, pending: 5 * room)
        debts.committed(bob, pending: 5 * room + 4_200)
        #expect(debts.mayAdd(bob) && !debts.mayAdd(ada))
    }

    @Test("a change that takes many steps is charged for all of them when it is done with")
    func manySteps() {
        var debts = IndexDebts()
        debts.committed(ada, pending: 1_000)
        for _ in 0..<9 { #expect(debts.worked(nanoseconds: 100, pending: 1_000).isEmpty) }
        let charged = debts.worked(nanoseconds: 100, pending: 0)
        #expect(charged.map(\.account) == [ada] && charged.map(\.nanoseconds) == [1_000])
    }

    @Test("however many commits there are, what is kept of them is little, and ends with the last")
    func compaction() {
        var debts = IndexDebts()
        var pending = 0
        for round in 0..<10_000 {
            pending += 10
            debts.committed(round.isMultiple(of: 2) ? ada : bob, pending: pending)
            if round > 100 {
                pending -= 10
                #expect(debts.done(pending: pending).count == 1)
            }
        }
        #expect(debts.done(pending: 0).count == 101)
        #expect(debts.mayAdd(ada) && debts.mayAdd(bob))
    }

    @Test("a user whose changes keep a public database's indexes busy waits for them, and nobody else does")
    func publicDatabase() throws {
        let server = try SteppedServer()
        let (a, b) = (try server.connect(account: "a"), try server.connect(account: "b", device: 2))
        try a.save(["one"], database: .public)
        let loaded = try #require(server.loadedPublicDatabase)
        loaded.indexDebts.committed(.account("a"), pending: room / 2 + 1)
        let error = #expect(throws: ServiceError.self) { try a.save(["two"], database: .public) }
        #expect(error?.code == .zoneBusy && error?.retryAfterMilliseconds ?? 0 > 0)
        try a.save(["two"])
        try b.save(["two"], database: .public)
        _ = loaded.indexDebts.done(pending: 0)
        try a.save(["three"], database: .public)
    }
}
