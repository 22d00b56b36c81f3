internal import BrumeLoad
internal import Testing

@Suite("A load is measured")
struct LoadFiguresTests {
    @Test("percentiles are exact to one percent", arguments: [UInt64(1), 99, 1_000, 123_456, 1_000_000_000])
    func percentiles(scale: UInt64) {
        var histogram = LatencyHistogram()
        for value in 1...1000 { histogram.record(nanoseconds: UInt64(value) * scale) }
        for fraction in [0.01, 0.5, 0.95, 0.99, 1] {
            let expected = Double(fraction * 1000) * Double(scale)
            let found = Double(histogram.percentile(fraction))
            #expect(found >= expected * 0.999 && found <= expected * 1.01, "\(fraction): \(found) for \(expected)")
        }
        #expect(histogram.maximumNanoseconds == 1000 * scale)
    }

    @Test("merged histograms are one histogram of all samples")
    func merging() {
        var left = LatencyHistogram()
        var right = LatencyHistogram()
        var both = LatencyHistogram()
        for value in 0..<500 {
            left.record(nanoseconds: UInt64(value * 7))
            right.record(nanoseconds: UInt64(value * value))
            both.record(nanoseconds: UInt64(value * 7))
            both.record(nanoseconds: UInt64(value * value))
        }
        left.merge(right)
        #expect(left.count == both.count)
        for fraction in [0.1, 0.5, 0.9, 0.999] { #expect(left.percentile(fraction) == both.percentile(fraction)) }
    }

    @Test("no samples give zeroes, and the longest time has a bucket")
    func edges() {
        var histogram = LatencyHistogram()
        #expect(histogram.percentile(0.99) == 0)
        histogram.record(nanoseconds: .max)
        histogram.record(nanoseconds: 0)
        #expect(histogram.percentile(0.5) == 0)
        #expect(histogram.count == 2)
    }

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
