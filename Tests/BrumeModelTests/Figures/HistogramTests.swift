import BrumeRandom
import BrumeModel
import Testing

@Suite("Histograms")
struct HistogramTests {
    @Test(
        "percentiles are exact to one percent of the sorted values'", arguments: [10, 1_000, 1_000_000, 40_000_000_000])
    func percentiles(scale: UInt64) {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(seed: seed)
        var histogram = Histogram()
        var values: [UInt64] = []
        for _ in 0..<5_000 {
            // Many small ones and a long tail, as latencies are.
            let value = scale / UInt64.random(in: 1...400, using: &random) + UInt64.random(in: 0...9, using: &random)
            values.append(value)
            histogram.record(value)
        }
        values.sort()
        for fraction in [0.0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 1] {
            let exact = values[max(0, Int((fraction * 5_000).rounded(.up)) - 1)]
            let found = histogram.percentile(fraction)
            #expect(
                found >= exact && Double(found) <= Double(exact) * 1.01 + 0.5,
                "seed \(seed), \(fraction): \(found) for \(exact)")
        }
        #expect(histogram.count == 5_000)
        #expect(histogram.sum == values.reduce(0, +))
        #expect(histogram.maximum == values.last)
    }

    @Test("every value is in the bucket whose bounds hold it, and the buckets leave no gap")
    func buckets() {
        var next: UInt64 = 0
        for bucket in 0..<Histogram.bucketCount {
            let (low, high) = (Histogram.lowerBound(ofBucket: bucket), Histogram.upperBound(ofBucket: bucket))
            #expect(low == next && high >= low)
            #expect(Histogram.bucket(of: low) == bucket && Histogram.bucket(of: high) == bucket)
            #expect((high - low) * 128 <= max(low, 127))
            next = high + 1
        }
        #expect(next - 1 == Histogram.largestValue)
    }

    @Test("merged histograms are the one of all values, and what is taken from it again leaves the other")
    func mergingAndTaking() {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(seed: seed)
        var first = Histogram()
        var second = Histogram()
        var both = Histogram()
        for index in 0..<2_000 {
            let value = UInt64.random(in: 0...(1 << UInt64.random(in: 0...40, using: &random)), using: &random)
            if index < 700 { first.record(value) } else { second.record(value) }
            both.record(value)
        }
        var merged = first
        merged.merge(second)
        #expect(merged == both, "seed \(seed)")
        let rest = both.since(first)
        #expect(rest.buckets == second.buckets && rest.sum == second.sum && rest.count == second.count, "seed \(seed)")
        #expect(Double(rest.maximum) <= Double(second.maximum) * 1.01 && rest.maximum >= second.maximum)
        #expect(both.since(both) == Histogram())
        #expect(first.since(both) == first, "one that began anew counts whole")
    }

    @Test("no values give zeroes, and the largest value has a bucket")
    func edges() {
        var histogram = Histogram()
        #expect(histogram.percentile(0.99) == 0 && histogram.mean == 0 && histogram.buckets.isEmpty)
        #expect(histogram.count(atMost: 5) == 0)
        histogram.record(.max)
        histogram.record(0)
        #expect(histogram.percentile(0.5) == 0)
        #expect(histogram.count == 2 && histogram.maximum == .max)
    }

    @Test("a bound counts what is at most as large")
    func bounds() {
        var histogram = Histogram()
        for value in 1...100 { histogram.record(UInt64(value), count: 2) }
        #expect(histogram.count(atMost: 0) == 0)
        #expect(histogram.count(atMost: 40) == 80)
        #expect(histogram.count(atMost: 100) == 200)
        #expect(histogram.count(atMost: .max) == 200)
    }

    @Test("a histogram comes back from its buckets, and from nothing that is none")
    func description() throws {
        var histogram = Histogram()
        for value in [0, 7, 7, 900, 1_000_000, 5_000_000_000] as [UInt64] { histogram.record(value) }
        let buckets = histogram.buckets
        #expect(Histogram(buckets: buckets, sum: histogram.sum, maximum: histogram.maximum) == histogram)
        #expect(Histogram(buckets: [], sum: 0, maximum: 0) == Histogram())
        func refused(_ buckets: [Histogram.Bucket], maximum: UInt64 = 7) -> Bool {
            Histogram(buckets: buckets, sum: 1, maximum: maximum) == nil
        }
        #expect(refused([.init(index: 7, count: 0)]), "empty")
        #expect(refused([.init(index: 7, count: 1), .init(index: 7, count: 1)]), "twice")
        #expect(refused([.init(index: 8, count: 1), .init(index: 7, count: 1)]), "out of order")
        #expect(refused([.init(index: -1, count: 1)]) && refused([.init(index: Histogram.bucketCount, count: 1)]))
        #expect(refused([.init(index: 6, count: .max), .init(index: 7, count: 1)]), "more than there can be")
        #expect(refused([.init(index: 7, count: 1)], maximum: 8), "another maximum")
    }
}
