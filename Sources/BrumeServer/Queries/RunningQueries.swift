/// The queries of a loop that wait for their next slice: first in, first out.
struct RunningQueries {
    private var queue: [RunningQuery?] = []
    private var first = 0
    /// Whether a turn of the loop is to go on with them.
    var isScheduled = false

    var count: Int { queue.count - first }

    var isEmpty: Bool { count == 0 }

    mutating func append(_ query: RunningQuery) { queue.append(query) }

    mutating func popFirst() -> RunningQuery? {
        guard !isEmpty else { return nil }
        defer {
            queue[first] = nil
            first += 1
            if first * 2 > queue.count {
                queue.removeFirst(first)
                first = 0
            }
        }
        return queue[first]
    }
}
