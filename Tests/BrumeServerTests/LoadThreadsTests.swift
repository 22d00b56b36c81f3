import BrumeLock
import BrumeStore
import Glibc
import Testing

@testable import BrumeServer
@testable import BrumeService

@Suite("Threads of a load")
struct LoadThreadsTests {
    @Test("call once for each number, on as many threads, and return when all calls have")
    func eachOnce() {
        let calls = Lock<[Int: UInt]>([:])
        LoadThreads.system(count: 4).forEach(4) { index in
            // None goes on before all have begun, where each has a thread of its own.
            calls.withLock { $0[index] = UInt(pthread_self()) }
            for _ in 0..<1_000_000 where calls.withLock({ $0.count }) < 4 { sched_yield() }
        }
        let threads = calls.withLock { $0 }
        #expect(threads.keys.sorted() == [0, 1, 2, 3] && Set(threads.values).count == 4)
        #expect(threads[0] == UInt(pthread_self()))
    }
}
