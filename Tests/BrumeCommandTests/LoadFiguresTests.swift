import BrumeRandom
internal import BrumeLoad
internal import BrumeSystem
internal import Testing

@Suite("A load is measured")
struct LoadFiguresTests {
    @Test("a mix gives operations by their weights")
    func mix() throws {
        let mix = try LoadMix("save=70,fetch=20,changes=10")
        var generator = SeededGenerator(seed: 1)
        var counts: [LoadOperation: Int] = [:]
        for _ in 0..<10_000 { counts[mix.operation(for: generator.next()), default: 0] += 1 }
        #expect((6700...7300).contains(counts[.save] ?? 0))
        #expect((1700...2300).contains(counts[.fetch] ?? 0))
        #expect((800...1200).contains(counts[.changes] ?? 0))
    }

    @Test("a bad mix is refused", arguments: ["", "save", "save=x", "write=1", "save=1,save=2", "save=0", "save=-1"])
    func badMix(text: String) {
        #expect(throws: LoadMix.Problem.self) { try LoadMix(text) }
    }

    @Test("a process's figures are found behind any name")
    func processFigures() {
        let stat = "7 (a ) b) S 1 1 1 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 1 0 100 1000 25"
        let figures = ProcessFigures(stat: stat, statm: "100 25 10 1 0 5 0", ticksPerSecond: 100, pageBytes: 4096)
        #expect(figures?.cpuNanoseconds == 2_000_000_000)
        #expect(figures?.residentBytes == 25 * 4096)
        #expect(ProcessFigures(stat: "", statm: "", ticksPerSecond: 100, pageBytes: 4096) == nil)
    }
}
