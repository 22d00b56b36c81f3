/// Searches in sorted lists without duplicates that begin where the last one ended.
package enum SortedSearch {
    /// Finds the first element at or after `start` that does not stand before what is sought.
    ///
    /// - Parameters:
    ///   - count: Of the list.
    ///   - start: All elements before it stand before what is sought.
    ///   - order: How the element at an index compares with what is sought: negative before it, 0 the same.
    /// - Returns: Its index, or `count`; and whether it is what was sought.
    /// - Complexity: One comparison where it is the first one, otherwise about 2 log2 of its distance from `start`:
    ///   looking up all elements of a list one after the other costs as much as a walk, looking up a few does not.
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
