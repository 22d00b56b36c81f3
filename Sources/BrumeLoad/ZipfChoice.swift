internal import Glibc

/// Chooses one of several things by Zipf's law: the k-th with a probability proportional to 1 / k to the power of the
/// skew.
package struct ZipfChoice: Sendable {
    /// The cumulative probabilities, ending with 1.
    private let cumulated: [Double]

    /// - Parameter skew: 0 chooses all equally often; 1 the second half as often as the first.
    package init(count: Int, skew: Double) {
        precondition(count > 0, "there is something to choose from")
        var sum = 0.0
        let sums = (1...count).map { rank in
            sum += pow(Double(rank), -skew)
            return sum
        }
        cumulated = sums.map { $0 / sum }
    }

    /// The index that `random` chooses.
    package func index(for random: UInt64) -> Int {
        let point = Double(random >> 11) / Double(UInt64(1) << 53)
        var low = 0
        var high = cumulated.count - 1
        while low < high {
            let middle = (low + high) / 2
            if cumulated[middle] > point { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
