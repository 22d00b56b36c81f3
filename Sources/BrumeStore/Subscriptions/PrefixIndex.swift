/// Which of many prefixes a text has: a table for each length.
struct PrefixIndex {
    /// Longer prefixes are filed under their first bytes.
    static let bytesLimit = 32

    private var postings: [UInt64: SubscriptionPostings] = [:]
    /// The number of prefixes of each length.
    private var counts = [Int](repeating: 0, count: bytesLimit + 1)

    var isEmpty: Bool { postings.isEmpty }

    mutating func insert(_ posting: SubscriptionPosting, _ prefix: [UInt8]) {
        counts[prefix.count] += 1
        prefix.withUnsafeBytes { postings[SubscriptionHash.of($0), default: SubscriptionPostings()].insert(posting) }
    }

    mutating func remove(_ slot: Int32, _ prefix: [UInt8]) {
        counts[prefix.count] -= 1
        prefix.withUnsafeBytes { postings.remove(slot, under: SubscriptionHash.of($0)) }
    }

    func forEach(of text: UnsafeRawBufferPointer, _ body: (SubscriptionPosting) -> Void) {
        if text.count == 0 { return }
        for length in 1...min(text.count, Self.bytesLimit) where counts[length] > 0 {
            postings[SubscriptionHash.of(UnsafeRawBufferPointer(rebasing: text[..<length]))]?.forEach(body)
        }
    }
}
