/// Which of many intervals hold a number: a static tree over those that stood there when it was made, and a short list of
/// those that came since.
struct IntervalIndex {
    private struct Interval {
        let lower: UInt64
        let upper: UInt64
        var posting: SubscriptionPosting
    }

    /// By their lower ends. The middle of each part is the root of its tree.
    private var sorted: [Interval] = []
    /// For each root the highest upper end in its tree.
    private var highest: [UInt64] = []
    private var recent: [Interval] = []
    private var removedCount = 0

    var isEmpty: Bool { sorted.count == removedCount && recent.isEmpty }

    mutating func insert(_ posting: SubscriptionPosting, _ range: ClosedRange<UInt64>) {
        recent.append(Interval(lower: range.lowerBound, upper: range.upperBound, posting: posting))
        if recent.count > 32 + sorted.count / 8 { rebuild() }
    }

    mutating func remove(_ slot: Int32, _ range: ClosedRange<UInt64>) {
        let isSame = { (interval: Interval) in
            interval.posting.slot == slot && interval.lower == range.lowerBound && interval.upper == range.upperBound
        }
        if let index = recent.firstIndex(where: isSame) {
            recent.swapAt(index, recent.count - 1)
            recent.removeLast()
            return
        }
        var low = 0
        var high = sorted.count
        while low < high {
            let middle = (low + high) / 2
            if sorted[middle].lower < range.lowerBound { low = middle + 1 } else { high = middle }
        }
        while low < sorted.count, sorted[low].lower == range.lowerBound {
            if isSame(sorted[low]) {
                sorted[low].posting = .none
                removedCount += 1
                break
            }
            low += 1
        }
        if removedCount > sorted.count / 2 { rebuild() }
    }

    /// Gives the postings of all intervals that hold the number.
    func forEach(around number: UInt64, _ body: (SubscriptionPosting) -> Void) {
        visit(0, sorted.count, number, body)
        for interval in recent where interval.lower <= number && number <= interval.upper { body(interval.posting) }
    }

    private func visit(_ low: Int, _ high: Int, _ number: UInt64, _ body: (SubscriptionPosting) -> Void) {
        if low >= high { return }
        let middle = (low + high) / 2
        if highest[middle] < number { return }
        visit(low, middle, number, body)
        if sorted[middle].lower > number { return }
        // Of a removed one no reason is wanted.
        if sorted[middle].upper >= number { body(sorted[middle].posting) }
        visit(middle + 1, high, number, body)
    }

    private mutating func rebuild() {
        sorted = sorted.filter { $0.posting.slot >= 0 } + recent
        recent = []
        removedCount = 0
        sorted.sort { $0.lower < $1.lower }
        highest = Array(repeating: 0, count: sorted.count)
        _ = fillHighest(0, sorted.count)
    }

    private mutating func fillHighest(_ low: Int, _ high: Int) -> UInt64 {
        if low >= high { return 0 }
        let middle = (low + high) / 2
        let left = fillHighest(low, middle)
        let right = fillHighest(middle + 1, high)
        highest[middle] = max(left, right, sorted[middle].upper)
        return highest[middle]
    }
}
