internal import BrumeModel
internal import BrumeRecord

/// Counts the `deleteSelf` references that point to the names to which a batch's saves add some.
struct TargetCounts {
    private struct Key: Hashable {
        let name: String
        let user: UserKey
    }

    /// What one save does to the references to one name.
    private struct Difference {
        let target: Int
        let before: Int
        let after: Int

        var growth: Int { after - before }
    }

    private let saves: [ReferenceSettlement.Save]
    private var targets: [Key: Int] = [:]
    /// References in the zone before the batch.
    private var totals: [Int] = []
    /// By save; empty for those that change no references.
    private var differences: [[Difference]]
    /// How much the last answer looked at.
    private(set) var visits = 0

    /// - Parameter member: The part of a caller who does not own the zone: what they don't see does not count.
    init(zone: ZoneState, saves: [ReferenceSettlement.Save], member: ZoneMember? = nil) {
        self.saves = saves
        differences = [[Difference]](repeating: [], count: saves.count)
        guard saves.contains(where: \.staged.changesCascades) else { return }
        for (index, save) in saves.enumerated() where save.staged.changesCascades {
            guard let change = save.change else { continue }
            var counts: [String: (before: Int, after: Int)] = [:]
            for target in change.from.targets { counts[target, default: (0, 0)].before += 1 }
            for target in change.to.targets { counts[target, default: (0, 0)].after += 1 }
            differences[index].reserveCapacity(counts.count)
            for (name, count) in counts {
                let key = Key(name: name, user: save.user)
                let target: Int
                if let known = targets[key] {
                    target = known
                } else {
                    target = totals.count
                    targets[key] = target
                    let referrers = zone.references.referrers(of: name)
                    if let member {
                        totals.append(
                            referrers.entries.reduce(0) { count, entry in
                                zone.isVisible(entry.slot, to: member) ? count + Int(entry.count) : count
                            })
                    } else {
                        totals.append(referrers.count(by: save.user))
                    }
                }
                differences[index].append(Difference(target: target, before: count.before, after: count.after))
            }
        }
    }

    /// Saves that would make more than ``Limits/cascadeReferencesPerTarget`` references to a name, in the order of the
    /// request.
    mutating func savesOverLimit(graph: ReferenceGraph, stands: [Bool]) -> [Int] {
        if totals.isEmpty { return [] }
        var counts = totals
        visits = 2 * totals.count
        for (index, differences) in differences.enumerated() where stands[index] {
            let falls = graph.hasFallen(save: index)
            for difference in differences {
                counts[difference.target] -= falls ? difference.before : max(0, -difference.growth)
            }
        }
        let over = savesOverLimit(counts: counts, graph: graph, stands: stands)
        if over.isEmpty { return [] }
        // Records that fall make room, too. They are looked at only where it may matter.
        for node in graph.fallen {
            if let save = graph.save(of: node), stands[save], saves[save].staged.changesCascades { continue }
            guard let user = graph.user(of: node) else { continue }
            let cascades = graph.cascades(of: node)
            visits += 2 * cascades.targets.count
            for name in cascades.targets {
                if let target = targets[Key(name: name, user: user)] { counts[target] -= 1 }
            }
        }
        return savesOverLimit(counts: counts, graph: graph, stands: stands)
    }

    private func savesOverLimit(counts: [Int], graph: ReferenceGraph, stands: [Bool]) -> [Int] {
        var counts = counts
        var over: [Int] = []
        for (index, differences) in differences.enumerated() where stands[index] && !differences.isEmpty {
            if graph.hasFallen(save: index) { continue }
            let grows = differences.filter { $0.growth > 0 }
            if grows.contains(where: { counts[$0.target] + $0.growth > Limits.cascadeReferencesPerTarget }) {
                over.append(index)
            } else {
                for difference in grows { counts[difference.target] += difference.growth }
            }
        }
        return over
    }
}
