import Testing

@testable import BrumeServer
@testable import BrumeService

@Suite("What waits for the disk")
struct DurabilityQueueTests {
    @Test("leaves in the order of positions, and of arrival among equal ones, when the disk has come so far")
    func order() {
        var queue = DurabilityQueue<String>()
        for (name, position) in [("c", 3), ("e", 5), ("f", 5), ("d", 3), ("b", 1)] {
            queue.insert(name, at: UInt64(position))
        }
        #expect(queue.count == 5 && queue.next(upTo: 0) == nil)
        var left: [String] = []
        while let waiter = queue.next(upTo: 4) { left.append(waiter) }
        #expect(left == ["b", "c", "d"] && queue.count == 2)
        // Behind what waits already, and in front of it.
        queue.insert("g", at: 6)
        queue.insert("a", at: 2)
        left = []
        while let waiter = queue.next(upTo: .max) { left.append(waiter) }
        #expect(left == ["a", "e", "f", "g"] && queue.count == 0)
    }
}
