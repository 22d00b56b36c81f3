@testable import BrumeKit
import Testing

private typealias Machine = KeyValueStoreStateMachine
private typealias Action = KeyValueStoreStateMachine.Action
private typealias Change = KeyValueStoreStateMachine.Change

/// A machine whose account's values were fetched and that has nothing to do.
private func settled(_ values: [String: [UInt8]] = [:], now: UInt64 = 0) -> Machine {
    var machine = Machine(contents: KeyValueStoreContents(), syncs: true, seed: 1)
    _ = machine.timePassed(now: now)
    _ = machine.prepared(run: 0, now: now)
    let page = values.map { Change($0.key, $0.value) }
    _ = machine.pageFetched(page, token: [1], moreComing: false, run: 0, now: now)
    _ = machine.timePassed(now: now + KeyValueStoreLimits.persistPauseMilliseconds)
    return machine
}

private func filler(_ count: Int) -> [UInt8] { [UInt8](repeating: 7, count: count) }

@Suite("The machine of a key-value store")
struct KeyValueStoreStateMachineTests {
    @Test("prepares, fetches, tells what came first, and uploads what the server lacks")
    func start() {
        var contents = KeyValueStoreContents()
        contents.write([1], forKey: "both")
        contents.write([2], forKey: "mine")
        var machine = Machine(contents: contents, syncs: true, seed: 1)
        #expect(machine.timePassed(now: 0) == [.prepare])
        #expect(machine.prepared(run: 0, now: 1) == [.fetch(token: nil)])
        #expect(
            machine.pageFetched([Change("both", [9])], token: [1], moreComing: true, run: 0, now: 2)
                == [.fetch(token: [1])])
        #expect(machine.contents["both"] == [1], "nothing shows of a fetch that is not done")
        let end = machine.pageFetched([Change("theirs", [3])], token: [2], moreComing: false, run: 0, now: 3)
        #expect(end == [.announce(.initialSync, keys: ["both", "theirs"])])
        #expect(machine.contents["both"] == [9], "what was set before the first fetch gives way")
        #expect(machine.timePassed(now: 1_000) == [.persist, .send([Change("mine", [2])])])
        #expect(machine.sent(["mine": .saved], run: 0, now: 1_001) == [])
        #expect(machine.contents.writes.isEmpty)
        #expect(machine.contents["mine"] == [2])
        #expect(machine.timePassed(now: 5_000) == [.persist])
        #expect(machine.deadlineMilliseconds == nil)
    }

    @Test("uploads after half a second, what was set meanwhile with it, and not more often than every 2 s")
    func coalescing() {
        var machine = settled()
        #expect(machine.valueSet([1], forKey: "a", now: 1_000) == [])
        #expect(machine.valueSet([2], forKey: "a", now: 1_100) == [])
        #expect(machine.valueSet([3], forKey: "b", now: 1_400) == [.persist])
        #expect(machine.timePassed(now: 1_499) == [])
        #expect(machine.timePassed(now: 1_500) == [.send([Change("a", [2]), Change("b", [3])])])
        #expect(machine.valueSet([4], forKey: "a", now: 1_501) == [])
        #expect(machine.sent(["a": .saved, "b": .saved], run: 0, now: 1_600) == [])
        #expect(machine.contents["a"] == [4], "what was set while the upload was on its way stays")
        #expect(machine.timePassed(now: 3_499).filter { $0 != .persist } == [])
        #expect(machine.timePassed(now: 3_500).filter { $0 != .persist } == [.send([Change("a", [4])])])
    }

    @Test("keeps its own write over a value that comes meanwhile, and lets others' values in besides")
    func conflict() {
        var machine = settled(["a": [0], "b": [0]])
        _ = machine.valueSet([1], forKey: "a", now: 1_000)
        #expect(machine.pushed(run: 0, now: 1_001) == [.fetch(token: [1])])
        let page = [Change("a", [5]), Change("b", nil)]
        #expect(
            machine.pageFetched(page, token: [2], moreComing: false, run: 0, now: 1_002)
                == [.announce(.serverChange, keys: ["b"])])
        #expect(machine.contents["a"] == [1])
        #expect(machine.timePassed(now: 1_500).contains(.send([Change("a", [1])])))
    }

    @Test("removes a key on the server, and nothing of one that never got there")
    func removal() {
        var machine = settled(["a": [0]])
        _ = machine.valueSet([1], forKey: "new", now: 1_000)
        _ = machine.valueSet(nil, forKey: "new", now: 1_001)
        #expect(machine.contents.writes.isEmpty)
        _ = machine.valueSet(nil, forKey: "a", now: 1_002)
        #expect(machine.contents.keys.isEmpty)
        #expect(machine.timePassed(now: 3_000).last == .send([Change("a", nil)]))
        #expect(machine.valueSet([1], forKey: "new", now: 3_001) == [])
        _ = machine.sent(["a": .saved], run: 0, now: 3_002)
        let second = machine.timePassed(now: 9_000)
        #expect(second.last == .send([Change("new", [1])]))
        // On its way: the server may get it, so that it has to be removed there.
        _ = machine.valueSet(nil, forKey: "new", now: 9_001)
        _ = machine.sent(["new": .saved], run: 0, now: 9_002)
        #expect(machine.contents["new"] == nil)
        #expect(machine.timePassed(now: 20_000).last == .send([Change("new", nil)]))
    }

    @Test("refuses what exceeds a limit, keeps the old value, and lets it shrink")
    func limits() {
        var machine = settled(["a": [0]])
        let tooLarge = filler(KeyValueStoreLimits.valueBytesMax + 1)
        #expect(machine.valueSet(tooLarge, forKey: "a", now: 1_000) == [.announce(.quotaViolation, keys: ["a"])])
        #expect(machine.contents["a"] == [0])
        #expect(machine.valueSet(filler(KeyValueStoreLimits.valueBytesMax), forKey: "a", now: 1_000) == [])
        #expect(
            machine.valueSet(filler(2_000), forKey: "b", now: 1_001) == [.announce(.quotaViolation, keys: ["b"])])
        #expect(machine.valueSet([1], forKey: "a", now: 1_002) == [])
        for index in 1..<KeyValueStoreLimits.keysMax {
            let actions = machine.valueSet([1], forKey: "k\(index)", now: 1_003)
            #expect(actions == [])
        }
        #expect(machine.valueSet([1], forKey: "more", now: 1_004) == [.announce(.quotaViolation, keys: ["more"])])
        #expect(machine.valueSet(nil, forKey: "k1", now: 1_005) == [])
        #expect(machine.valueSet([1], forKey: "more", now: 1_006) == [])
    }

    @Test("takes back its latest writes where the devices exceed a limit together")
    func sharedLimit() {
        var machine = settled()
        _ = machine.valueSet(filler(600_000), forKey: "old", now: 1_000)
        _ = machine.valueSet(filler(300_000), forKey: "new", now: 1_001)
        _ = machine.pushed(run: 0, now: 1_002)
        let actions = machine.pageFetched(
            [Change("theirs", filler(300_000))], token: [2], moreComing: false, run: 0, now: 1_003)
        #expect(
            actions == [
                .announce(.serverChange, keys: ["theirs"]), .announce(.quotaViolation, keys: ["new"]),
            ])
        #expect(machine.contents["old"] != nil)
        #expect(machine.contents["new"] == nil)
    }

    @Test("takes no more from a server than it can hold, and says so")
    func flood() {
        var machine = settled()
        _ = machine.pushed(run: 0, now: 1_000)
        let page = (0..<KeyValueStoreLimits.fetchedKeysMax + 2).map { Change("k\($0)", [1]) }
        let actions = machine.pageFetched(page, token: [2], moreComing: false, run: 0, now: 1_001)
        #expect(machine.contents.values.count == KeyValueStoreLimits.fetchedKeysMax)
        guard case .announce(.quotaViolation, let keys)? = actions.last else {
            Issue.record("the rest was not told")
            return
        }
        #expect(keys == ["k4096", "k4097"])
    }

    @Test("takes back what the server has no room for")
    func serverFull() {
        var machine = settled(["a": [0]])
        _ = machine.valueSet([1], forKey: "a", now: 1_000)
        _ = machine.timePassed(now: 2_000)
        #expect(machine.sent(["a": .full], run: 0, now: 2_001) == [.announce(.quotaViolation, keys: ["a"])])
        #expect(machine.contents["a"] == [0])
    }

    @Test("tries again after growing pauses, or when the server says, and loses nothing")
    func failures() {
        var machine = settled()
        _ = machine.valueSet([1], forKey: "a", now: 1_000)
        _ = machine.timePassed(now: 1_500)
        #expect(machine.failed(.transient(retryAfterMilliseconds: 30_000), run: 0, now: 1_501) == [])
        #expect(machine.timePassed(now: 31_500).filter { $0 != .persist } == [])
        #expect(machine.timePassed(now: 33_000) == [.fetch(token: [1])], "it may have missed something")
        #expect(
            machine.pageFetched([], token: [1], moreComing: false, run: 0, now: 33_001)
                == [.send([Change("a", [1])])])
        var now: UInt64 = 40_000
        var pauses: [UInt64] = []
        for _ in 0..<12 {
            _ = machine.failed(.transient(retryAfterMilliseconds: 0), run: 0, now: now)
            let next = machine.deadlineMilliseconds ?? 0
            pauses.append(next - now)
            now = next
            #expect(machine.timePassed(now: now).contains(.fetch(token: [1])))
        }
        #expect((pauses.first ?? .max) <= 1_001)
        #expect((150_000...300_001).contains(pauses.last ?? 0))
        #expect(machine.contents["a"] == [1])
    }

    @Test("fetches everything when its token has expired or the zone is gone, and drops what is not there")
    func expiry() {
        for failure in [Machine.Failure.tokenExpired, .zoneMissing] {
            var machine = settled(["a": [0], "b": [0]])
            _ = machine.valueSet([1], forKey: "mine", now: 1_000)
            _ = machine.pushed(run: 0, now: 1_001)
            _ = machine.failed(failure, run: 0, now: 1_002)
            var actions = machine.timePassed(now: 10_000).filter { $0 != .persist }
            if failure == .zoneMissing {
                #expect(actions == [.prepare])
                actions = machine.prepared(run: 0, now: 10_001)
            }
            #expect(actions == [.fetch(token: nil)])
            let end = machine.pageFetched(
                [Change("b", [2])], token: [7], moreComing: false, run: 0, now: 10_002)
            #expect(end.first == .announce(.serverChange, keys: ["a", "b"]))
            #expect(end.last == .send([Change("mine", [1])]))
        }
    }

    @Test("does nothing for a refused account until it is taken again")
    func refused() {
        var machine = settled()
        _ = machine.valueSet([1], forKey: "a", now: 1_000)
        _ = machine.timePassed(now: 1_500)
        #expect(machine.failed(.account, run: 0, now: 1_501) == [])
        #expect(machine.timePassed(now: 1_000_000) == [])
        #expect(machine.deadlineMilliseconds == nil)
        #expect(machine.circumstancesChanged(now: 1_000_001) == [.fetch(token: [1])])
    }

    @Test("changes with the account, and ignores what comes for the one before")
    func accountChange() {
        var machine = settled(["a": [0], "same": [1]])
        _ = machine.pushed(run: 0, now: 1_000)
        var other = KeyValueStoreContents()
        other.values = ["b": [2], "same": [1]]
        other.hasFetched = true
        other.token = [8]
        let actions = machine.accountChanged(to: other, syncs: true, now: 1_001)
        #expect(actions == [.announce(.accountChange, keys: ["a", "b"]), .prepare])
        let late = machine.pageFetched([Change("a", [9])], token: [2], moreComing: false, run: 0, now: 1_002)
        #expect(late == [])
        #expect(machine.contents["a"] == nil)
        #expect(machine.contents.token == [8])
        let without = machine.accountChanged(to: KeyValueStoreContents(), syncs: false, now: 1_003)
        #expect(without == [.announce(.accountChange, keys: ["b", "same"])])
        #expect(machine.valueSet([5], forKey: "local", now: 2_000).filter { $0 != .persist } == [])
        #expect(machine.timePassed(now: 100_000).filter { $0 != .persist } == [])
        #expect(machine.deadlineMilliseconds == nil)
    }

    @Test("uploads in requests that the server takes")
    func batches() {
        var machine = settled()
        for index in 0..<450 { _ = machine.valueSet([1], forKey: "k\(index)", now: 1_000) }
        var sizes: [Int] = []
        var now: UInt64 = 2_000
        while case .send(let changes)? = machine.timePassed(now: now).last {
            sizes.append(changes.count)
            let outcomes = changes.map { ($0.key, Machine.Outcome.saved) }
            _ = machine.sent(Dictionary(uniqueKeysWithValues: outcomes), run: 0, now: now)
            now += 10_000
        }
        #expect(sizes == [400, 50])
    }
}
