/// Searches of a sorted list without duplicates, each of which begins where the last one ended.
package enum SortedSearch {
    /// Finds the first element at or after `start` that does not come before the sought one.
    ///
    /// - Parameters:
    ///   - count: The number of elements in the list.
    ///   - start: An index before which all elements come before the sought one.
    ///   - order: Compares the element at an index with the sought one: negative when it comes before, 0 when equal.
    /// - Returns: Its index, or `count`; and whether it is the sought element.
    /// - Complexity: One comparison where it is the first one, otherwise about 2 log2 of its distance from `start`:
    ///   looking up all elements of a list in order costs as much as a walk, looking up a few costs less.
    @inline(__always)
    package static func firstIndex(
        from start: Int, count: Int, order: (Int) -> Int
    ) -> (index: Int, isEqual: Bool) {
        var (low, high, step) = (start, start, 1)
        while high < count {
            let order = order(high)
            if order == 0 { return (high, true) }
            if order > 0 { break }
            low = high + 1
            high += step
            step *= 2
        }
        high = min(high, count)
        while low < high {
            let middle = (low + high) / 2
            let order = order(middle)
            if order == 0 { return (middle, true) }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return (low, false)
    }
}
