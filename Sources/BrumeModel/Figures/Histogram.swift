/// Counts values in buckets whose width is at most 1/128 of their value: a percentile is exact to under one percent, at
/// a cost of one increment a value and 36 KiB, whatever the number of values. An empty one takes no room.
///
/// Log-linear, like HdrHistogram: a bucket is the position of a value's highest bit and the 7 bits after it; values
/// below 128 have a bucket each. All histograms have the same buckets, so merging two histograms, and subtracting an
/// earlier state of one from a later state, lose nothing.
package struct Histogram: Sendable {
    private static let fractionBits = 7
    /// 2^42 nanoseconds are over an hour: longer than any call may take. Larger values count as the largest.
    private static let maximumBits = 42
    package static let largestValue = UInt64(1) << maximumBits - 1
    package static let bucketCount = bucket(of: largestValue) + 1

    /// By bucket; empty while there are no values.
    private var counts: [UInt64] = []
    package private(set) var count: UInt64 = 0
    package private(set) var sum: UInt64 = 0
    package private(set) var maximum: UInt64 = 0

    package init() {}

    package mutating func record(_ value: UInt64) { record(value, count: 1) }

    /// Records a value several times.
    package mutating func record(_ value: UInt64, count added: UInt64) {
        if counts.isEmpty { counts = Array(repeating: 0, count: Self.bucketCount) }
        counts[Self.bucket(of: min(value, Self.largestValue))] &+= added
        count &+= added
        sum &+= value &* added
        maximum = max(maximum, value)
    }

    /// Adds all values of another one.
    package mutating func merge(_ other: Histogram) {
        if other.counts.isEmpty { return }
        if counts.isEmpty {
            self = other
            return
        }
        for index in counts.indices { counts[index] &+= other.counts[index] }
        count &+= other.count
        sum &+= other.sum
        maximum = max(maximum, other.maximum)
    }

    /// The values recorded since `earlier`, a former state of this histogram. Their maximum is exact to one percent.
    ///
    /// Returns all values when the histogram started over in between.
    package func since(_ earlier: Histogram) -> Histogram {
        guard !earlier.counts.isEmpty, !counts.isEmpty, count >= earlier.count, sum >= earlier.sum else { return self }
        var difference = Histogram()
        difference.counts = Array(repeating: 0, count: Self.bucketCount)
        for index in counts.indices {
            guard counts[index] >= earlier.counts[index] else { return self }
            let added = counts[index] - earlier.counts[index]
            if added == 0 { continue }
            difference.counts[index] = added
            difference.count += added
            difference.maximum = min(maximum, Self.upperBound(ofBucket: index))
        }
        difference.sum = sum - earlier.sum
        return difference.count == 0 ? Histogram() : difference
    }

    /// The mean, or 0 without values.
    package var mean: UInt64 { count == 0 ? 0 : sum / count }

    /// The value that `fraction` of all values don't exceed, or 0 without values.
    package func percentile(_ fraction: Double) -> UInt64 {
        guard count > 0 else { return 0 }
        let rank = max(1, UInt64((fraction * Double(count)).rounded(.up)))
        var seen: UInt64 = 0
        for (bucket, count) in counts.enumerated() {
            seen += count
            if seen >= rank { return min(Self.upperBound(ofBucket: bucket), maximum) }
        }
        return maximum
    }

    /// The number of values that are at most `bound`. Values in the bound's own bucket count only when the bound is the
    /// largest value of that bucket.
    package func count(atMost bound: UInt64) -> UInt64 {
        if bound >= maximum { return count }
        var sum: UInt64 = 0
        for (bucket, count) in counts.enumerated() {
            if Self.upperBound(ofBucket: bucket) > bound { break }
            sum += count
        }
        return sum
    }

    // MARK: Buckets

    /// A bucket that holds values.
    package struct Bucket: Equatable, Sendable {
        package var index: Int
        package var count: UInt64

        package init(index: Int, count: UInt64) {
            self.index = index
            self.count = count
        }
    }

    /// The buckets that hold values, in order.
    package var buckets: [Bucket] {
        counts.enumerated().compactMap { $0.element == 0 ? nil : Bucket(index: $0.offset, count: $0.element) }
    }

    /// The histogram that another one's ``buckets``, ``sum`` and ``maximum`` describe. Returns nil when a bucket does
    /// not exist, is out of order or empty, or when the counts overflow.
    package init?(buckets: [Bucket], sum: UInt64, maximum: UInt64) {
        if buckets.isEmpty { return }
        counts = Array(repeating: 0, count: Self.bucketCount)
        var last = -1
        for bucket in buckets {
            guard bucket.index > last, bucket.index < Self.bucketCount, bucket.count > 0 else { return nil }
            let (total, overflow) = count.addingReportingOverflow(bucket.count)
            if overflow { return nil }
            count = total
            counts[bucket.index] = bucket.count
            last = bucket.index
        }
        guard Self.bucket(of: min(maximum, Self.largestValue)) == last else { return nil }
        self.sum = sum
        self.maximum = maximum
    }

    /// The bucket of a value up to ``largestValue``.
    package static func bucket(of value: UInt64) -> Int {
        guard value >= 1 << fractionBits else { return Int(value) }
        let highest = 63 - value.leadingZeroBitCount
        let shift = highest - fractionBits
        return (shift + 1) << fractionBits + Int(value >> UInt64(shift)) - 1 << fractionBits
    }

    /// The smallest value of a bucket.
    package static func lowerBound(ofBucket bucket: Int) -> UInt64 {
        bucket == 0 ? 0 : upperBound(ofBucket: bucket - 1) + 1
    }

    /// The largest value of a bucket.
    package static func upperBound(ofBucket bucket: Int) -> UInt64 {
        guard bucket >= 1 << fractionBits else { return UInt64(bucket) }
        let shift = bucket >> fractionBits - 1
        let fraction = UInt64(bucket & (1 << fractionBits - 1) | 1 << fractionBits)
        return (fraction + 1) << UInt64(shift) - 1
    }
}

extension Histogram: Equatable {
    package static func == (left: Histogram, right: Histogram) -> Bool {
        left.count == right.count && left.sum == right.sum && left.maximum == right.maximum
            && left.buckets == right.buckets
    }
}
