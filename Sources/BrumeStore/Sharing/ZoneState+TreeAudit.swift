internal import BrumeModel

/// What trees are found to be when everything is looked at: for tests and checks.
extension ZoneState {
    /// What is wrong with the trees, in words; nil when they are as the records say.
    var problemWithTrees: String? {
        if trees.isUnsettled { return "a commit is not settled" }
        if trees.isEmpty && sharing.roots.isEmpty { return nil }
        var members: [UInt32: [Feed.Entry]] = [:]
        var covers: [Int32: UInt32] = [:]
        for slot in 0..<Int32(slots.count) {
            let number = trees.numbers[slot]
            if slots.isDeleted(slot) {
                if trees.trees[number] != nil { return "a deleted record is in a tree" }
                continue
            }
            let cover = searchedCover(of: slot, &covers)
            if trees.cover(of: slot) != cover {
                return "\(slots[slot].name) is in tree \(trees.cover(of: slot)), and not in \(cover)"
            }
            guard let tree = trees.trees[number] else { continue }
            let place = tree.place(of: slot, changed: slots.position(of: slot))
            members[number, default: []].append(Feed.Entry(position: place, slot: slot))
        }
        var departureCount = 0
        for (number, tree) in trees.trees {
            let share = tree.isEnded ? nil : liveSlot(of: tree.share)
            let quiet = share.flatMap { slot in
                slots[slot].share.flatMap { QuietShare($0, at: slot, changed: slots.position(of: slot)) }
            }
            if tree.quietShare != quiet { return "\(tree.share) is shown at another place" }
            let expected = Feed(unordered: members[number] ?? [])
            if tree.count != expected.count {
                return "\(tree.share) has \(tree.count) members, and not \(expected.count)"
            }
            let current = tree.feed.entries().filter { entry in
                trees.numbers[entry.slot] == number && !slots.isDeleted(entry.slot)
                    && tree.place(of: entry.slot, changed: slots.position(of: entry.slot)) == entry.position
            }
            if current != Array(expected.entries()) { return "the feed of \(tree.share) is not that of its members" }
            if zip(tree.departures, tree.departures.dropFirst()).contains(where: { $0.position >= $1.position }) {
                return "departures from \(tree.share) are out of order"
            }
            if let stray = tree.entered.keys.first(where: { trees.numbers[$0] != number }) {
                return "\(slots[stray].name) came into \(tree.share), and is not there"
            }
            departureCount += tree.departures.count
        }
        return departureCount == trees.departureCount ? nil : "the number of departures is another"
    }

    /// The number of the tree that covers a record, found upward from parent to parent.
    private func searchedCover(of slot: Int32, _ known: inout [Int32: UInt32]) -> UInt32 {
        var passed: [Int32] = []
        var current = slot
        var found: UInt32 = 0
        while true {
            if let number = known[current] {
                found = number
                break
            }
            // A circle that comes here again ends.
            known[current] = 0
            passed.append(current)
            let kinship = kinship(of: current)
            if let number = trees.numberOfShare[kinship.share] {
                found = number
                break
            }
            guard !kinship.parent.isEmpty, let parent = liveSlot(of: kinship.parent) else { break }
            current = parent
        }
        for slot in passed { known[slot] = found }
        return found
    }
}
