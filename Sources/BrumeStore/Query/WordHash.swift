/// A folded word as a number: what the index keeps of it, and what records are searched for.
///
/// Swift's own hash, whose key is random in every process: that two words of a zone meet in 64 bits is as likely as a fault of the
/// memory, and nobody can look for such words beforehand. A search takes equal numbers for equal words.
enum WordHash {
    static func of(_ word: UnsafeRawBufferPointer) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(bytes: word)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    /// The words of a text, each once, sorted.
    static func words(of text: String, _ breaker: WordBreaker) -> [UInt64] {
        var text = text
        return text.withUTF8 { text in
            var hashes: [UInt64] = []
            breaker.forEachWord(in: UnsafeRawBufferPointer(text)) { hashes.append(of($0)) }
            hashes.sort()
            var unique: [UInt64] = []
            for hash in hashes where unique.last != hash { unique.append(hash) }
            return unique
        }
    }
}
