/// Sorts in steps: runs that are sorted at once, then merged two by two.
struct SlicedSort<Element> {
    private static var runCount: Int { 1024 }

    private let isBefore: (Element, Element) -> Bool
    private var runs: [[Element]] = []
    private var next: [[Element]] = []
    private var run: [Element] = []
    private var merged: [Element] = []
    private var left = 0
    private var right = 0

    init(by isBefore: @escaping (Element, Element) -> Bool) {
        self.isBefore = isBefore
    }

    mutating func add(_ element: Element) {
        run.append(element)
        if run.count == SlicedSort.runCount { endRun() }
    }

    private mutating func endRun() {
        run.sort(by: isBefore)
        runs.append(run)
        run = []
    }

    /// Moves about so many elements. Returns them all, sorted, when it is done.
    mutating func step(_ budget: Int) -> [Element]? {
        if !run.isEmpty { endRun() }
        var budget = budget
        while budget > 0 {
            if runs.count < 2 {
                if next.isEmpty { return runs.first ?? [] }
                runs = next + runs
                next = []
                continue
            }
            let (first, second) = (runs[runs.count - 2], runs[runs.count - 1])
            if merged.isEmpty { merged.reserveCapacity(first.count + second.count) }
            while budget > 0, left < first.count || right < second.count {
                if right == second.count || left < first.count && !isBefore(second[right], first[left]) {
                    merged.append(first[left])
                    left += 1
                } else {
                    merged.append(second[right])
                    right += 1
                }
                budget -= 1
            }
            if left == first.count, right == second.count {
                runs.removeLast(2)
                // From the back to the front; order of runs does not matter, elements are told apart by what they are.
                next.append(merged)
                merged = []
                (left, right) = (0, 0)
            }
        }
        return nil
    }
}
