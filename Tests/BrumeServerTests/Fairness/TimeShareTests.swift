import Testing

@testable import BrumeServer
@testable import BrumeService

@Suite("An account's share of a loop's time")
struct TimeShareTests {
    private let milliseconds: UInt64 = 1_000_000
    private var limits: TimeShare.Limits { TimeShare.Limits(turnNanoseconds: 5 * milliseconds, turnCount: 3) }

    @Test("it lasts for the turn, and what was spent beyond it is paid off by the turns that follow")
    func debt() {
        let share = TimeShare(account: .account("a"), limits: limits)
        #expect(share.mayBegin(inTurn: 1))
        share.spend(nanoseconds: 4 * milliseconds, inTurn: 1)
        #expect(share.mayBegin(inTurn: 1), "a share that is left may be begun")
        share.spend(nanoseconds: 14 * milliseconds, inTurn: 1)
        let turns = (1...6).map { share.mayBegin(inTurn: $0) }
        #expect(turns == [false, false, false, true, true, true])
    }

    @Test("turns in which nothing was asked pay too, however many they were")
    func absence() {
        let share = TimeShare(account: .account("a"), limits: limits)
        share.spend(nanoseconds: .max / 2, inTurn: 1)
        #expect(!share.mayBegin(inTurn: 1_000))
        #expect(share.mayBegin(inTurn: .max))
    }

    @Test("what was served within something else is spent once")
    func nesting() {
        let share = TimeShare(account: .account("a"), limits: limits)
        share.spend(from: 1 * milliseconds, to: 3 * milliseconds, inTurn: 1)
        share.spend(from: 0, to: 4 * milliseconds, inTurn: 1)
        #expect(share.mayBegin(inTurn: 1), "two milliseconds, and one")
        share.spend(from: 2 * milliseconds, to: 4 * milliseconds, inTurn: 2)
        share.spend(from: 4 * milliseconds, to: 9 * milliseconds, inTurn: 2)
        #expect(!share.mayBegin(inTurn: 2))
    }

    @Test("where the clock stands still requests are counted")
    func count() {
        let share = TimeShare(account: .account("a"), limits: limits)
        for _ in 0..<3 {
            #expect(share.mayBegin(inTurn: 7))
            share.spend(nanoseconds: 0, inTurn: 7)
        }
        #expect(!share.mayBegin(inTurn: 7))
        #expect(share.mayBegin(inTurn: 8))
    }
}

@Suite("A queue of many accounts")
struct FairQueueTests {
    private func account(_ name: String) -> ClientShare.Key { .account(name) }

    @Test("one account after the other, and for each in the order of arrival")
    func order() {
        var queue = FairQueue<Int>()
        for number in 0..<100 { queue.append(number, of: account("eve")) }
        for number in 100..<103 { queue.append(number, of: account("ada")) }
        queue.append(200, of: .operator)
        let first = (0..<8).map { _ in queue.popFirst()!.element }
        #expect(first == [0, 100, 200, 1, 101, 2, 102, 3])
        #expect(queue.count == 96)
        #expect(queue.count(of: account("eve")) == 96 && queue.count(of: account("ada")) == 0)
    }

    @Test("an account that may not take is passed over, and keeps its turn")
    func passing() {
        var queue = FairQueue<Int>()
        queue.append(1, of: account("eve"))
        queue.append(2, of: account("ada"))
        #expect(queue.popFirst { $0 != account("eve") }?.element == 2)
        #expect(queue.popFirst { _ in false } == nil)
        #expect(queue.popFirst()?.element == 1)
        #expect(queue.isEmpty && queue.popFirst() == nil)
    }
}
