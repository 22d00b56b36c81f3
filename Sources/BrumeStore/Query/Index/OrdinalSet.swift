/// A set of a zone's records, by their numbers: a bit each. A class, so that steps of a query hand it on without a
/// copy.
final class OrdinalSet {
    private let wordCount: Int
    /// Allocated when the first number is added: most plans that consider a set do without it.
    private var words: UnsafeMutablePointer<UInt64>?

    /// - Parameter count: The end of the numbers: all are below it.
    init(count: Int) {
        wordCount = (count + 63) / 64
    }

    deinit { words?.deallocate() }

    /// Does nothing for a record that came later.
    func insert(_ ordinal: UInt32) {
        let word = Int(ordinal / 64)
        guard word < wordCount else { return }
        if words == nil {
            words = .allocate(capacity: wordCount)
            words!.initialize(repeating: 0, count: wordCount)
        }
        words![word] |= 1 << UInt64(ordinal % 64)
    }

    func contains(_ ordinal: UInt32) -> Bool {
        let word = Int(ordinal / 64)
        guard let words, word < wordCount else { return false }
        return words[word] >> UInt64(ordinal % 64) & 1 == 1
    }
}
