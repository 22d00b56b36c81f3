/// Which of many intervals hold a number: a static tree over those that existed when it was made, and a short list of
/// those that came since.
struct IntervalIndex {
    /// An interval of a subscription, by which it is found again.
    private struct Key: Hashable {
        let lower: UInt64
        let upper: UInt64
        let slot: Int32

        static func < (left: Key, right: Key) -> Bool {
            (left.lower, left.upper, left.slot) < (right.lower, right.upper, right.slot)
        }
    }

    private struct Interval {
        let key: Key
        let posting: SubscriptionPosting
        var isRemoved = false
    }

    /// By their keys, the lower ends first. The middle of each part is the root of its tree.
    private var sorted: [Interval] = []
    /// For each root the highest upper end in its tree.
    private var highest: [UInt64] = []
    /// In an order that is the same in every run.
    private var recent: [Interval] = []
    private var recentPlaces: [Key: Int] = [:]
    private var removedCount = 0

    var isEmpty: Bool { sorted.count == removedCount && recent.isEmpty }

    /// - Parameter range: One that the subscription is not filed under already.
    mutating func insert(_ posting: SubscriptionPosting, _ range: ClosedRange<UInt64>) {
        let key = Key(lower: range.lowerBound, upper: range.upperBound, slot: posting.slot)
        recentPlaces[key] = recent.count
        recent.append(Interval(key: key, posting: posting))
        if recent.count > 32 + sorted.count / 8 { rebuild() }
    }

    mutating func remove(_ slot: Int32, _ range: ClosedRange<UInt64>) {
        let key = Key(lower: range.lowerBound, upper: range.upperBound, slot: slot)
        if let place = recentPlaces.removeValue(forKey: key) {
            let last = recent.removeLast()
            if place < recent.count {
                recent[place] = last
                recentPlaces[last.key] = place
            }
            return
        }
        var low = 0
        var high = sorted.count
        while low < high {
            let middle = (low + high) / 2
            if sorted[middle].key < key { low = middle + 1 } else { high = middle }
        }
        guard low < sorted.count, sorted[low].key == key, !sorted[low].isRemoved else { return }
        sorted[low].isRemoved = true
        removedCount += 1
        if removedCount > sorted.count / 2 { rebuild() }
    }

    /// Calls `body` with the postings of all intervals that hold the number.
    func forEach(around number: UInt64, _ body: (SubscriptionPosting) -> Void) {
        visit(0, sorted.count, number, body)
        for interval in recent where interval.key.lower <= number && number <= interval.key.upper {
            body(interval.posting)
        }
    }

    private func visit(_ low: Int, _ high: Int, _ number: UInt64, _ body: (SubscriptionPosting) -> Void) {
        if low >= high { return }
        let middle = (low + high) / 2
        if highest[middle] < number { return }
        visit(low, middle, number, body)
        if sorted[middle].key.lower > number { return }
        if sorted[middle].key.upper >= number, !sorted[middle].isRemoved { body(sorted[middle].posting) }
        visit(middle + 1, high, number, body)
    }

    private mutating func rebuild() {
        sorted.removeAll(where: \.isRemoved)
        sorted += recent
        recent = []
        recentPlaces = [:]
        removedCount = 0
        sorted.sort { $0.key < $1.key }
        highest = Array(repeating: 0, count: sorted.count)
        _ = fillHighest(0, sorted.count)
    }

    private mutating func fillHighest(_ low: Int, _ high: Int) -> UInt64 {
        if low >= high { return 0 }
        let middle = (low + high) / 2
        let left = fillHighest(low, middle)
        let right = fillHighest(middle + 1, high)
        highest[middle] = max(left, right, sorted[middle].key.upper)
        return highest[middle]
    }
}
