import BrumeLock
import BrumeSystem
import Testing

@testable import BrumeServer
@testable import BrumeService

@Suite("Work in lanes", .timeLimit(.minutes(1)))
struct LaneQueueTests {
    private typealias Queue = LaneQueue<String>
    private let ada = ClientShare.Key.account("ada")
    private let bob = ClientShare.Key.account("bob")

    @Test("is done one piece of a lane after the other, and of several lanes at a time")
    func lanes() {
        var queue = Queue()
        let (one, two) = (queue.makeLane(), queue.makeLane())
        for work in ["1a", "1b", "1c"] { queue.append(work, in: one, of: ada) }
        queue.append("2a", in: two, of: ada)
        let (first, second) = (queue.next(), queue.next())
        #expect(first?.work == "1a" && second?.work == "2a" && queue.count == 2)
        #expect(queue.next()?.work == nil)
        queue.ended(two)
        #expect(queue.next()?.work == nil)
        queue.ended(one)
        #expect(queue.next()?.work == "1b")
        // What comes while the lane is busy waits for its end.
        queue.append("1d", in: one, of: ada)
        #expect(queue.next()?.work == nil)
        for expected in ["1c", "1d"] {
            queue.ended(one)
            #expect(queue.next()?.work == expected)
        }
        queue.ended(one)
        #expect(queue.count == 0)
    }

    @Test("keeps nobody waiting for more than one piece of another account, however many lanes that has")
    func accounts() {
        var queue = Queue()
        for number in 0..<100 { queue.append("a\(number)", in: queue.makeLane(), of: ada) }
        let lane = queue.makeLane()
        for work in ["b0", "b1"] { queue.append(work, in: lane, of: bob) }
        var done: [String] = []
        for _ in 0..<4 {
            guard let next = queue.next() else { break }
            done.append(next.work)
            queue.ended(next.lane)
        }
        #expect(done == ["a0", "b0", "a1", "b1"])
    }

    @Test("is all done, each lane's in its order, by whatever threads", arguments: 1...4)
    func threads(count: Int) {
        let threads = DiskThreads(count: count)
        let done = Recorder()
        let lanes = (0..<10).map { _ in threads.makeLane() }
        threads.start()
        for number in 0..<1000 {
            let lane = number % 10
            threads.add({ done.note(lane, number) }, in: lanes[lane], of: lane < 5 ? ada : bob)
        }
        threads.stop()
        for lane in 0..<10 { #expect(done[lane] == Array(stride(from: lane, to: 1000, by: 10))) }
    }

    @Test("is not left over when its turn comes after the thread has gone that was woken for it")
    func lateTurns() {
        let threads = DiskThreads(count: 2)
        threads.start()
        for _ in 0..<200 {
            let (lane, other) = (threads.makeLane(), threads.makeLane())
            let (gate, otherIsDone, secondIsDone) = (Semaphore(), Semaphore(), Semaphore())
            threads.add({ gate.wait() }, in: lane, of: ada)
            threads.add({ secondIsDone.post() }, in: lane, of: ada)
            threads.add({ otherIsDone.post() }, in: other, of: ada)
            otherIsDone.wait()
            gate.post()
            guard secondIsDone.wait(milliseconds: 30_000) else {
                Issue.record("the second piece of a lane was not done")
                break
            }
        }
        threads.stop()
    }

    @Test("is done by whoever steps, where there are no threads, and by the end at the latest")
    func stepping() {
        let threads = DiskThreads(count: 0)
        let done = Recorder()
        let lane = threads.makeLane()
        for number in 0..<3 { threads.add({ done.note(0, number) }, in: lane, of: ada) }
        #expect(done[0] == [])
        #expect(threads.step() && done[0] == [0])
        threads.stop()
        #expect(done[0] == [0, 1, 2] && !threads.step())
    }
}

/// What threads did, by lane.
private final class Recorder: Sendable {
    private let numbers = Lock<[Int: [Int]]>([:])

    subscript(lane: Int) -> [Int] { numbers.withLock { $0[lane] ?? [] } }

    func note(_ lane: Int, _ number: Int) { numbers.withLock { $0[lane, default: []].append(number) } }
}
