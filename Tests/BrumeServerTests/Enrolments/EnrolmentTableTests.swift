import BrumeModel
import Testing

@testable import BrumeService

@Suite("Enrolments of a loop")
struct EnrolmentTableTests {
    private var scene = EnrolmentScene()

    @Test("go on step by step; the same message again changes nothing, and none takes the place of another")
    mutating func order() throws {
        for step in 1...4 {
            for _ in 0..<2 { try scene.post(7, step: step, [UInt8(step)]) }
            #expect(scene.refusal(7, step: step, [99])?.code == .serverRecordChanged)
            #expect(scene.fetched() == [.init(7, (1...step).map { [UInt8($0)] }, millisecondsLeft: 600_000)])
        }
        for step in 1...4 { try scene.post(7, step: step, [UInt8(step)]) }
        #expect(scene.fetched().map(\.messages) == [[[1], [2], [3], [4]]])
    }

    @Test("leave out no step, and begin with the first")
    mutating func skipping() throws {
        for step in 2...4 { #expect(scene.refusal(7, step: step)?.code == .unknownItem) }
        try scene.post(7)
        for step in 3...4 { #expect(scene.refusal(7, step: step)?.code == .invalidArguments) }
        try scene.post(7, step: 2)
        #expect(scene.refusal(7, step: 4)?.code == .invalidArguments)
        #expect(scene.fetched().map(\.messages.count) == [2])
    }

    @Test("live ten minutes from the first message on, whatever follows")
    mutating func tenMinutes() throws {
        try scene.post(7)
        scene.now += 599_999
        try scene.post(7, step: 2)
        try scene.post(7)
        #expect(scene.fetched() == [.init(7, [[1], [1]], millisecondsLeft: 1)])
        scene.now += 1
        #expect(scene.fetched().isEmpty && scene.refusal(7, step: 3)?.code == .unknownItem)
        try scene.post(7)
        #expect(scene.fetched() == [.init(7, [[1]], millisecondsLeft: 600_000)])
    }

    @Test("are told the oldest first, one or all, and to their own account's devices in their own container alone")
    mutating func fetching() throws {
        for id in [9, 3, 7] as [UInt8] {
            try scene.post(id, [id])
            scene.now += 1_000
        }
        #expect(
            scene.fetched() == [
                .init(9, [[9]], millisecondsLeft: 597_000), .init(3, [[3]], millisecondsLeft: 598_000),
                .init(7, [[7]], millisecondsLeft: 599_000),
            ])
        #expect(scene.fetched(only: 3) == [.init(3, [[3]], millisecondsLeft: 598_000)])
        #expect(scene.fetched(only: 4).isEmpty)
        for stranger in [scene.caller("b"), scene.caller("a", container: "two")] {
            #expect(scene.fetched(by: stranger).isEmpty && scene.fetched(only: 3, by: stranger).isEmpty)
            #expect(scene.refusal(3, step: 2, by: stranger)?.code == .unknownItem)
            scene.end(3, by: stranger)
            try scene.post(3, [44], by: stranger)
            #expect(scene.fetched(by: stranger).map(\.messages) == [[[44]]])
        }
        #expect(scene.fetched(only: 3).map(\.messages) == [[[3]]])
    }

    @Test("that were ended are over, and a first message that is late does not begin them again in their ten minutes")
    mutating func ending() throws {
        try scene.post(7)
        try scene.post(8)
        scene.end(7)
        scene.end(7)
        scene.end(6)
        #expect(scene.fetched().map(\.id) == [EnrolmentScene.id(8)])
        for step in 1...2 { #expect(scene.refusal(7, step: step)?.code == .unknownItem) }
        scene.now += 599_999
        #expect(scene.refusal(7)?.code == .unknownItem)
        scene.now += 1
        try scene.post(7)
        #expect(scene.fetched().map(\.id) == [EnrolmentScene.id(7)])
    }

    // MARK: Limits

    @Test("of one database are four at once: a fifth waits until the oldest is over, or one is ended")
    mutating func fourOfDatabase() throws {
        for id in 1...4 as ClosedRange<UInt8> {
            try scene.post(id)
            scene.now += 60_000
        }
        let refusal = scene.refusal(5)
        #expect(refusal?.code == .requestRateLimited && refusal?.retryAfterMilliseconds == 360_000)
        try scene.post(1, step: 2)
        try scene.post(4)
        try scene.post(5, by: scene.caller("a", container: "two"))
        try scene.post(5, by: scene.caller("b"))
        scene.end(2)
        try scene.post(5)
        #expect(scene.refusal(6)?.retryAfterMilliseconds == 360_000)
        scene.now += 359_999
        #expect(scene.refusal(6)?.retryAfterMilliseconds == 1)
        scene.now += 1
        try scene.post(6)
    }

    @Test("of one account are sixteen at once, in whatever containers, and take nothing from others")
    mutating func sixteenOfAccount() throws {
        for number in 0..<16 as Range<UInt8> {
            try scene.post(number, by: scene.caller("a", container: "c\(number / 2)"))
            scene.now += 1_000
        }
        let new = scene.caller("a", container: "new")
        let refusal = scene.refusal(99, by: new)
        #expect(refusal?.code == .requestRateLimited && refusal?.retryAfterMilliseconds == 584_000)
        try scene.post(99, by: scene.caller("b"))
        scene.end(3, by: scene.caller("a", container: "c1"))
        try scene.post(99, by: new)
        #expect(scene.refusal(98, by: new)?.retryAfterMilliseconds == 584_000)
        scene.now += 584_000
        try scene.post(98, by: new)
    }

    @Test("of all accounts have a limit, which gives way when one ends or time passes")
    mutating func allOfLoop() throws {
        scene = EnrolmentScene { $0.open = 20 }
        for number in 0..<20 { try scene.post(1, by: scene.caller("user-\(number)")) }
        let refusal = scene.refusal(1, by: scene.caller("late"))
        #expect(refusal?.code == .requestRateLimited && refusal?.retryAfterMilliseconds == 10_000)
        try scene.post(1, step: 2, by: scene.caller("user-3"))
        scene.end(1, by: scene.caller("user-3"))
        try scene.post(1, by: scene.caller("late"))
        #expect(scene.refusal(1, by: scene.caller("later"))?.code == .requestRateLimited)
        scene.now += 600_000
        // Each call removes only some of those that have expired.
        for number in 20..<40 { try scene.post(1, by: scene.caller("user-\(number)")) }
        #expect(scene.table.openCount == 20)
        #expect(scene.refusal(1, by: scene.caller("later"))?.code == .requestRateLimited)
    }

    @Test("that an account begins and ends again and again have a limit as well, and so have those of all accounts")
    mutating func traces() throws {
        scene = EnrolmentScene { ($0.tracesPerAccount, $0.traces) = (10, 30) }
        for id in 0..<10 as Range<UInt8> {
            try scene.post(id)
            scene.end(id)
            scene.now += 1_000
        }
        let refusal = scene.refusal(10)
        #expect(refusal?.code == .requestRateLimited && refusal?.retryAfterMilliseconds == 590_000)
        for (account, count) in [("b", 10), ("c", 10)] {
            for id in 0..<count {
                try scene.post(UInt8(id), by: scene.caller(account))
                scene.end(UInt8(id), by: scene.caller(account))
            }
        }
        #expect(scene.refusal(1, by: scene.caller("d"))?.retryAfterMilliseconds == 10_000)
        #expect(scene.table.traceCount == 30 && scene.table.openCount == 0)
        scene.now += 590_000
        try scene.post(10)
        #expect(scene.refusal(11)?.code == .requestRateLimited)
    }

    @Test("leave nothing behind when they and their wrong codes have expired, also where their accounts don't call")
    mutating func memory() throws {
        for number in 0..<100 {
            for id in 1...3 as ClosedRange<UInt8> { try scene.post(id, by: scene.caller("user-\(number)")) }
            scene.end(1, by: scene.caller("user-\(number)"))
            scene.end(2, wrongCode: true, by: scene.caller("user-\(number)"))
        }
        #expect(scene.table.openCount == 100 && scene.table.traceCount == 400)
        scene.now += 600_000
        _ = scene.fetched(by: scene.caller("reader"))
        #expect(scene.table.traceCount > 300, "a call does not remove all at once")
        for _ in 0..<50 { _ = scene.fetched(by: scene.caller("reader")) }
        #expect(scene.table.openCount == 0 && scene.table.traceCount == 100)
        scene.now += 3_000_000
        for _ in 0..<50 { _ = scene.fetched(by: scene.caller("reader")) }
        #expect(scene.table.traceCount == 0 && scene.table.testOnly_accountCount == 0)
    }

    // MARK: Wrong codes

    @Test("stop for an account's container when a wrong code was typed three times within an hour")
    mutating func wrongCodes() throws {
        for id in 1...3 as ClosedRange<UInt8> {
            try scene.post(id)
            scene.end(id, wrongCode: true)
            scene.now += 600_000
        }
        let refusal = scene.refusal(4)
        #expect(refusal?.code == .requestRateLimited && refusal?.retryAfterMilliseconds == 1_800_000)
        #expect(refusal?.message.contains("recovery code") == true)
        try scene.post(4, by: scene.caller("a", container: "two"))
        try scene.post(4, by: scene.caller("b"))
        scene.now += 1_799_999
        #expect(scene.refusal(4)?.retryAfterMilliseconds == 1)
        scene.now += 1
        // The hour slides: with the next one there are three again.
        try scene.post(4)
        scene.end(4, wrongCode: true)
        #expect(scene.refusal(5)?.retryAfterMilliseconds == 600_000)
    }

    @Test("count a wrong code once, and none where nothing was open")
    mutating func countingWrongCodes() throws {
        for _ in 0..<5 { scene.end(9, wrongCode: true) }
        try scene.post(1)
        for _ in 0..<5 { scene.end(1, wrongCode: true) }
        try scene.post(2)
        scene.now += 600_000
        scene.end(2, wrongCode: true)
        for id in 3...6 as ClosedRange<UInt8> {
            try scene.post(id)
            scene.end(id)
        }
        try scene.post(7)
        scene.end(7, wrongCode: true)
        try scene.post(8)
        scene.end(8, wrongCode: true)
        #expect(scene.refusal(9)?.code == .requestRateLimited)
    }

    @Test("that were open when the third wrong code was typed go on, and one more of them stops others for longer")
    mutating func openAtTheThird() throws {
        for id in 1...4 as ClosedRange<UInt8> { try scene.post(id) }
        for id in 1...3 as ClosedRange<UInt8> {
            scene.end(id, wrongCode: true)
            scene.now += 100_000
        }
        for step in 1...4 { try scene.post(4, step: step) }
        scene.end(4, wrongCode: true)
        #expect(scene.refusal(5)?.retryAfterMilliseconds == 3_400_000)
        scene.now += 3_399_999
        #expect(scene.refusal(5)?.retryAfterMilliseconds == 1)
        scene.now += 1
        try scene.post(5)
    }

    // MARK: Tokens

    @Test("end with the token of whoever began them, and others go on")
    mutating func revokedTokens() throws {
        let (first, second) = (scene.caller("a", token: 1), scene.caller("a", token: 2))
        try scene.post(1, by: first)
        try scene.post(2, by: second)
        try scene.post(1, step: 2, by: second)
        try scene.post(1, by: scene.caller("b", token: 3))
        scene.table.endAll(ofTokens: [[1], [9]])
        #expect(scene.fetched(by: first).map(\.id) == [EnrolmentScene.id(2)])
        #expect(scene.refusal(1, by: second)?.code == .unknownItem)
        #expect(scene.fetched(by: scene.caller("b")).count == 1 && scene.table.openCount == 2)
    }
}
