/// What is left of indexes that nobody uses any more: a large one is a million allocations, which are freed in steps.
final class IndexRemains {
    @exclusivity(unchecked) private var trees: [PostingTree] = []
    @exclusivity(unchecked) private var tables: [TermTable] = []

    /// About what it costs to free a branch or a part, in ``IndexUpdate``'s units.
    private static let pieceUnits = 64

    var isEmpty: Bool { trees.isEmpty && tables.isEmpty }

    func add(_ tree: PostingTree) { trees.append(tree) }

    func add(_ table: TermTable) { tables.append(table) }

    /// Frees about so many units' worth; returns the work.
    func clear(_ units: Int) -> Int {
        var left = units
        while left > 0, let last = trees.indices.last {
            if !trees[last].dropBranch() { trees.removeLast() }
            left -= IndexRemains.pieceUnits
        }
        while left > 0, let last = tables.last {
            if !last.dropPart() { tables.removeLast() }
            left -= IndexRemains.pieceUnits
        }
        return units - left
    }
}
