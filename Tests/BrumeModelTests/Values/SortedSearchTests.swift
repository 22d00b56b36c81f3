import BrumeModel
import Testing

@Suite("Searches in sorted lists")
struct SortedSearchTests {
    /// Looks all up, one after the other, and counts the comparisons.
    private static func find(_ sought: [Int], in list: [Int]) -> (found: [Int], comparisons: Int) {
        var (found, comparisons, next) = ([Int](), 0, 0)
        for value in sought {
            let place = SortedSearch.firstIndex(from: next, count: list.count) { index in
                comparisons += 1
                return list[index] - value
            }
            #expect(place.index == list.firstIndex { $0 >= value } ?? list.count)
            next = place.index
            if place.isEqual {
                found.append(value)
                next += 1
            }
        }
        return (found, comparisons)
    }

    @Test("what is in the list is found, and of what is not, where it would stand", arguments: 0..<40)
    func finds(size: Int) {
        for _ in 0..<20 {
            let list = (0..<60).shuffled().prefix(size).sorted()
            let sought = (0..<60).shuffled().prefix(20).sorted()
            #expect(Self.find(sought, in: list).found == sought.filter(list.contains))
        }
    }

    @Test("a few elements of a long list are found without a walk over it, and all of them with one comparison each")
    func comparisons() {
        let list = Array(0..<6_000)
        #expect(Self.find([5_990], in: list).comparisons <= 2 * 13)
        #expect(Self.find([10, 3_000, 5_990, 7_000], in: list).comparisons <= 4 * 2 * 13)
        #expect(Self.find(list, in: list).comparisons == list.count)
        // Every other one: less than twice as many as a walk.
        let even = stride(from: 0, to: 6_000, by: 2)
        #expect(Self.find(Array(even), in: list).comparisons <= 2 * list.count)
    }
}
