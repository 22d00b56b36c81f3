import BrumeModel
import BrumeRandom
@testable import BrumeStore
import Testing

@Suite("Whether a record may become the root of a share")
struct ShareTreeTests {
    private static func refusals(
        _ newRoots: Set<String>, roots: Set<String> = [], parents: [String: String], steps: Int = ShareTree.stepLimit
    ) -> [String: ErrorCode] {
        var tree = ShareTree(roots: roots, steps: steps) { parents[$0] }
        return tree.refusals(of: newRoots).mapValues(\.code)
    }

    /// list > item > note, and another list.
    private static let parents = ["item": "list", "note": "item"]

    @Test("a root, what is below one and what is above one can't be shared again, and everything else can")
    func rules() {
        #expect(Self.refusals(["item"], parents: Self.parents).isEmpty)
        #expect(Self.refusals(["item"], roots: ["item"], parents: Self.parents) == ["item": .alreadyShared])
        #expect(Self.refusals(["note"], roots: ["list"], parents: Self.parents) == ["note": .alreadyShared])
        #expect(Self.refusals(["list"], roots: ["note"], parents: Self.parents) == ["list": .alreadyShared])
        #expect(Self.refusals(["other"], roots: ["note"], parents: Self.parents).isEmpty)
        #expect(
            Self.refusals(["list", "note", "other"], parents: Self.parents)
                == ["list": .alreadyShared, "note": .alreadyShared], "neither of two in one batch")
    }

    @Test("cycles of parents end a walk, and a root in one does not stand below itself")
    func cycles() {
        let parents = ["a": "b", "b": "c", "c": "a", "below": "b"]
        #expect(Self.refusals(["a"], parents: parents).isEmpty)
        #expect(Self.refusals(["a"], roots: ["c"], parents: parents) == ["a": .alreadyShared])
        #expect(Self.refusals(["a", "below"], parents: parents).count == 2)
        #expect(Self.refusals(["below"], parents: parents).isEmpty)
    }

    @Test("what would take too long to find out is refused, and each record costs once however many stand below it")
    func costs() {
        var parents: [String: String] = [:]
        for number in 0..<1_000 { parents["\(number)"] = "\(number + 1)" }
        #expect(Self.refusals(["0"], parents: parents, steps: 1_000).isEmpty)
        #expect(Self.refusals(["0"], parents: parents, steps: 999) == ["0": .limitExceeded])
        let many = Set((0..<100).map { "leaf\($0)" })
        for leaf in many { parents[leaf] = "0" }
        #expect(Self.refusals(many, parents: parents, steps: 1_100).isEmpty)
    }

    @Test("chance agrees with a search through all ancestors")
    func chance() {
        var refused = 0
        for seed in 0..<3_000 as Range<UInt64> {
            var random = SeededGenerator(seed: seed)
            let names = (0..<Int.random(in: 2...12, using: &random)).map { "r\($0)" }
            var parents: [String: String] = [:]
            for name in names where !random.oneIn(4) { parents[name] = random.pick(names) }
            let roots = Set(names.filter { _ in random.oneIn(5) })
            let newRoots = Set(names.filter { _ in random.oneIn(4) })
            func ancestors(_ name: String) -> Set<String> {
                var (found, current) = (Set<String>(), name)
                while let next = parents[current], found.insert(next).inserted { current = next }
                return found.subtracting([name])
            }
            let all = roots.union(newRoots)
            let expected = newRoots.filter { root in
                roots.contains(root) || !ancestors(root).isDisjoint(with: all)
                    || all.contains { $0 != root && ancestors($0).contains(root) }
            }
            #expect(Set(Self.refusals(newRoots, roots: roots, parents: parents).keys) == expected, "seed \(seed)")
            refused += expected.count
        }
        #expect(refused > 1_000)
    }
}
