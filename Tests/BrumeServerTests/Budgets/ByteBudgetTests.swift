import Testing

@testable import BrumeServer
@testable import BrumeService

@Suite("Byte budgets")
struct ByteBudgetTests {
    private static let mebibyte = 1024 * 1024

    @Test("a client that holds its share is short of it, and another is not")
    func shares() {
        let budget = ByteBudget(limit: 64 * Self.mebibyte)
        let (loud, quiet) = (
            ByteShare(of: budget, limit: 8 * Self.mebibyte), ByteShare(of: budget, limit: 8 * Self.mebibyte)
        )
        #expect(loud.hold(8 * Self.mebibyte) == 8 * Self.mebibyte)
        #expect(loud.shortage == .share)
        #expect(quiet.shortage == nil)
        loud.change(by: -8 * Self.mebibyte)
        #expect(loud.shortage == nil)
        #expect(budget.bytes == 0)
    }

    @Test("what is small is not counted")
    func small() {
        let share = ByteShare(of: ByteBudget(limit: Self.mebibyte), limit: Self.mebibyte)
        #expect(share.hold(ServiceLimits.uncountedBytes) == 0)
        #expect(share.bytes == 0)
    }

    @Test("the last eighth of a budget is for those who hold little")
    func lastEighth() {
        let budget = ByteBudget(limit: 64 * Self.mebibyte)
        let shares = (0..<7).map { _ in ByteShare(of: budget, limit: 64 * Self.mebibyte) }
        for share in shares { share.change(by: 8 * Self.mebibyte) }
        #expect(shares[0].shortage == .budget)
        let quiet = ByteShare(of: budget, limit: 64 * Self.mebibyte)
        #expect(quiet.shortage == nil)
        #expect(shares[0].reserve(Self.mebibyte) == .budget)
        #expect(quiet.reserve(Self.mebibyte) == nil)
        quiet.change(by: 7 * Self.mebibyte)
        #expect(ByteShare(of: budget, limit: Self.mebibyte).shortage == .budget)
    }

    @Test("a part of the clients holds a part of the budget at the most, and its bytes count in both")
    func parts() {
        let whole = ByteBudget(limit: 64 * Self.mebibyte)
        let part = ByteBudget(limit: 32 * Self.mebibyte, of: whole)
        let addresses = (0..<100).map { _ in ByteShare(of: part, limit: 4 * Self.mebibyte) }
        for address in addresses { _ = address.reserve(512 * 1024) }
        #expect(part.bytes == 32 * Self.mebibyte && whole.bytes == part.bytes)
        #expect(addresses[99].shortage == .budget && part.isFull && !whole.isFull && !whole.isTight)
        let account = ByteShare(of: whole, limit: 8 * Self.mebibyte)
        #expect(account.shortage == nil && account.reserve(2 * Self.mebibyte) == nil)
        for address in addresses { address.change(by: -address.bytes) }
        #expect(part.bytes == 0 && whole.bytes == 2 * Self.mebibyte)
        // Where accounts hold all of it, nothing is left for the part.
        ByteShare(of: whole, limit: 64 * Self.mebibyte).change(by: 62 * Self.mebibyte)
        #expect(part.isFull && addresses[0].reserve(1) == .budget)
    }

    @Test("a reservation that finds no room counts nothing, and one larger than the share is taken alone")
    func reservations() {
        let budget = ByteBudget(limit: 64 * Self.mebibyte)
        let share = ByteShare(of: budget, limit: Self.mebibyte)
        #expect(share.reserve(4 * Self.mebibyte) == nil)
        #expect(share.reserve(1) == .share)
        #expect(share.bytes == 4 * Self.mebibyte)
        #expect(budget.bytes == 4 * Self.mebibyte)
        share.change(by: -4 * Self.mebibyte)
        #expect(share.reserve(Self.mebibyte) == nil)
    }

    @Test("connections follow from the descriptors, less a reserve, and nobody gets more than a quarter")
    func bounds() {
        var configuration = ServiceConfiguration()
        let small = ConnectionBounds(configuration, descriptors: 1_024)
        #expect(small.all == 768)
        #expect(small.perAccount == 192)
        #expect(small.perAddress == 192)
        #expect(small.openingPerAddress == 192)
        let large = ConnectionBounds(configuration, descriptors: 1_048_576)
        #expect(large.all == 100_000)
        #expect(large.perAccount == 1_000)
        #expect(large.openingPerAddress == 256)
        configuration.connections = 1_000_000
        configuration.connectionsPerAccount = 5_000
        configuration.connectionsPerAddress = 3
        let chosen = ConnectionBounds(configuration, descriptors: 20_000)
        #expect(chosen.all == 20_000 - 256)
        #expect(chosen.perAccount == 5_000)
        #expect(chosen.perAddress == 3)
        #expect(chosen.openingPerAddress == 3)
        configuration.connectionsPerAddress = 10_000
        #expect(ConnectionBounds(configuration, descriptors: 20_000).openingPerAddress == 2_500)
    }
}
