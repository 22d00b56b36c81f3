/// A folded word as a number: what the index keeps of it, and what records are searched for.
///
/// SipHash-1-3, as Swift's own hash is, with a random key in every process: that two words of a zone collide in 64 bits
/// is as likely as a fault of the memory, and nobody can look for such words beforehand. A search takes equal numbers
/// for equal words. It is written out here because the words of a million records are a hundred million, and Swift's,
/// which is called part by part, takes three times as long for one.
enum WordHash {
    private static let key = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))

    static func of(_ word: UnsafeRawBufferPointer) -> UInt64 { hash(word, key.0, key.1) }

    static func hash(_ word: UnsafeRawBufferPointer, _ key0: UInt64, _ key1: UInt64) -> UInt64 {
        var state = State(key0, key1)
        var offset = 0
        while word.count - offset >= 8 {
            state.take(UInt64(littleEndian: word.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
            offset += 8
        }
        var last = UInt64(truncatingIfNeeded: word.count) << 56
        var shift: UInt64 = 0
        while offset < word.count {
            last |= UInt64(word[offset]) << shift
            shift += 8
            offset += 1
        }
        state.take(last)
        return state.finish()
    }

    private struct State {
        private var a, b, c, d: UInt64

        @inline(__always)
        init(_ key0: UInt64, _ key1: UInt64) {
            a = key0 ^ 0x736f_6d65_7073_6575
            b = key1 ^ 0x646f_7261_6e64_6f6d
            c = key0 ^ 0x6c79_6765_6e65_7261
            d = key1 ^ 0x7465_6462_7974_6573
        }

        @inline(__always)
        private mutating func round() {
            a = a &+ b
            b = (b << 13 | b >> 51) ^ a
            a = a << 32 | a >> 32
            c = c &+ d
            d = (d << 16 | d >> 48) ^ c
            a = a &+ d
            d = (d << 21 | d >> 43) ^ a
            c = c &+ b
            b = (b << 17 | b >> 47) ^ c
            c = c << 32 | c >> 32
        }

        @inline(__always)
        mutating func take(_ word: UInt64) {
            d ^= word
            round()
            a ^= word
        }

        @inline(__always)
        mutating func finish() -> UInt64 {
            c ^= 0xFF
            round()
            round()
            round()
            return a ^ b ^ c ^ d
        }
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
