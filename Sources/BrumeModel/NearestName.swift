/// Suggests the existing name that was probably meant by one that does not exist.
package enum NearestName {
    /// The candidate with the fewest typing errors between it and `name`, or nil when none is near.
    package static func find(_ name: String, among candidates: [String]) -> String? {
        let limit = max(1, name.count / 3 + 1)
        var best: (name: String, distance: Int)?
        for candidate in candidates {
            if name.count >= 3, candidate.hasPrefix(name) { return candidate }
            let distance = distance(from: name, to: candidate)
            if distance <= limit, distance < best?.distance ?? Int.max { best = (candidate, distance) }
        }
        return best?.name
    }

    /// How many letters must be added, removed, changed or swapped with their neighbour.
    package static func distance(from: String, to: String) -> Int {
        let source = Array(from.utf8.prefix(64))
        let target = Array(to.utf8.prefix(64))
        var beforePrevious: [Int] = []
        var previous = Array(0...target.count)
        for row in 0..<source.count {
            var current = [row + 1]
            for column in 0..<target.count {
                var cost = min(
                    previous[column + 1] + 1, current[column] + 1,
                    previous[column] + (source[row] == target[column] ? 0 : 1))
                if row > 0, column > 0, source[row] == target[column - 1], source[row - 1] == target[column] {
                    cost = min(cost, beforePrevious[column - 1] + 1)
                }
                current.append(cost)
            }
            beforePrevious = previous
            previous = current
        }
        return previous[target.count]
    }
}
