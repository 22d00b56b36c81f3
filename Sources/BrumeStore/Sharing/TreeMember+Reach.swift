internal import BrumeModel

/// How far back a user with whom trees are shared can be told what happened.
extension TreeMember {
    /// The position of the last thing that the user can have been told of.
    func head(_ trees: SharedTrees) -> ChangePosition {
        var head = max(start, floor, ended.last?.end ?? .start)
        for (number, part) in parts {
            head = max(head, part.acceptance, trees.trees[number]?.head ?? .start)
            if part.isManager, let quiet = trees.trees[number]?.quietShare { head = max(head, quiet.changed) }
        }
        return head
    }

    /// Whether deletions behind a position are all known that the user is to be told of.
    ///
    /// - Parameter isInBlock: Whether some of what stands as a block at the position was not told.
    func reaches(back position: ChangePosition, isInBlock: Bool, _ trees: SharedTrees) -> Bool {
        if position < floor || position == floor && isInBlock { return false }
        for (number, part) in parts {
            if max(position, part.acceptance) < trees.trees[number]?.departureFloor ?? .start { return false }
        }
        return ended.allSatisfy { part in
            part.end < position || part.end == position && !isInBlock
                || max(position, part.acceptance) >= trees.trees[part.tree]?.departureFloor ?? .start
        }
    }
}
