internal import CICU

/// Cuts texts into words and folds them, for full-text search: of records and of what is searched for alike.
///
/// Words are those of Unicode's annex 29 as CLDR's root has them, with ICU's dictionaries for scripts that write no
/// spaces (Thai, Lao, Khmer, Burmese, Chinese, Japanese). Each is folded: compatibility forms and case (NFKC_Casefold),
/// and diacritics of scripts where they only vary a letter; so "Äpfel" is "apfel" and "ﬁne" is "fine", but "が" is not
/// "か". Stop words are left out. Of a word longer than 64 UTF-16 units the first 64 count.
///
/// Text is first cut at ASCII spaces and punctuation, and pieces that are all ASCII are cut by the rules below, which
/// are those of the annex (without the address sign and the colon, where versions of ICU differ): only other pieces
/// cost ICU's time. Not thread-safe.
final class WordBreaker {
    /// CloudKit's stop words (Documentation/CloudKit.md, Queries), folded.
    static let stopWords: Set<String> = [
        "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not",
        "of", "on",
        "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will", "with",
    ]

    /// A hash table of the stop words' bytes, the first byte highest: no word is longer than 8. A word stands at the
    /// place that follows from its bytes, or after it; a free place holds 0.
    ///
    /// `nonisolated(unsafe)`: written once by Swift's lazy initialisation and only read afterwards; never freed.
    nonisolated(unsafe) private static let packedStopWords: UnsafePointer<UInt64> = {
        let places = UnsafeMutablePointer<UInt64>.allocate(capacity: 256)
        places.initialize(repeating: 0, count: 256)
        for word in stopWords {
            let packed = word.utf8.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            var place = stopWordPlace(packed)
            while places[place] != 0 { place = (place + 1) % 256 }
            places[place] = packed
        }
        return UnsafePointer(places)
    }()

    private static func stopWordPlace(_ packed: UInt64) -> Int {
        Int(truncatingIfNeeded: (packed &* 0x9E37_79B9_7F4A_7C15) >> 56)
    }

    private static func isStopWord(_ packed: UInt64) -> Bool {
        let places = packedStopWords
        var place = stopWordPlace(packed)
        while places[place] != 0 {
            if places[place] == packed { return true }
            place = (place + 1) % 256
        }
        return false
    }

    private static let longestStopWord = stopWords.reduce(0) { max($0, $1.utf8.count) }
    private static let wordUnits = Int(brume_icu_word_units)

    /// Opened for the first text that is not ASCII.
    private var iterator: OpaquePointer?
    private var units: UnsafeMutableBufferPointer<UInt16>
    /// A folded word.
    private let folded: UnsafeMutableRawBufferPointer

    init() {
        units = .init(start: nil, count: 0)
        folded = .allocate(byteCount: Int(brume_icu_folded_bytes), alignment: 8)
    }

    deinit {
        if let iterator { brume_icu_words_close(iterator) }
        units.deallocate()
        folded.deallocate()
    }

    /// Calls `body` with each word of the text, folded. The bytes are valid for the call.
    func forEachWord(in text: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) {
        let kinds = WordBreaker.kinds
        var position = 0
        while position < text.count {
            let kind = kinds[Int(text[position])]
            if kind == WordBreaker.breaks {
                position += 1
                continue
            }
            // Most pieces are one word of ASCII.
            let start = position
            var next = kind
            var length = 0
            while next > WordBreaker.underscore {
                if length < WordBreaker.wordUnits {
                    folded[length] = next
                    length += 1
                }
                position += 1
                next = position < text.count ? kinds[Int(text[position])] : WordBreaker.breaks
            }
            if next == WordBreaker.breaks {
                give(length, body)
                continue
            }
            var isASCII = true
            while position < text.count, kinds[Int(text[position])] != WordBreaker.breaks {
                if text[position] >= 0x80 { isASCII = false }
                position += 1
            }
            let piece = UnsafeRawBufferPointer(rebasing: text[start..<position])
            if isASCII { cutASCII(piece, body) } else { cut(piece, body) }
        }
    }

    // Kinds of bytes: a letter or digit is its folded self, an underscore and what else may stand within a word are
    // below them.
    private static let breaks: UInt8 = 0
    private static let underscore: UInt8 = 1

    /// By byte; never freed.
    ///
    /// `nonisolated(unsafe)`: written once by Swift's lazy initialisation and only read afterwards.
    nonisolated(unsafe) private static let kinds: UnsafePointer<UInt8> = {
        let kinds = UnsafeMutablePointer<UInt8>.allocate(capacity: 256)
        for byte in 0...UInt8.max {
            kinds[Int(byte)] =
                if isLetter(byte) { byte | 0x20 } else if isDigit(byte) { byte } else if isBreak(byte) { breaks } else {
                    underscore
                }
        }
        return UnsafePointer(kinds)
    }()

    /// Whether no word crosses the byte.
    static func isCut(_ byte: UInt8) -> Bool { kinds[Int(byte)] == breaks }

    // MARK: ASCII

    private static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- 0x61 < 26 }
    private static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }
    private static func isWordByte(_ byte: UInt8) -> Bool { isLetter(byte) || isDigit(byte) || byte == 0x5F }

    /// No word crosses such a byte, whatever stands beside it.
    private static func isBreak(_ byte: UInt8) -> Bool {
        if byte >= 0x80 || isWordByte(byte) { return false }
        switch byte {
        case UInt8(ascii: "'"), UInt8(ascii: "."), UInt8(ascii: ","), UInt8(ascii: ";"): return false
        default: return true
        }
    }

    /// Whether a word continues across this punctuation: "can't", "example.com", "3.14", "1,000".
    private static func joins(_ left: UInt8, _ middle: UInt8, _ right: UInt8) -> Bool {
        switch middle {
        case UInt8(ascii: "'"), UInt8(ascii: "."):
            isLetter(left) && isLetter(right) || isDigit(left) && isDigit(right)
        default: isDigit(left) && isDigit(right)
        }
    }

    private func cutASCII(_ piece: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) {
        var position = 0
        while position < piece.count {
            guard WordBreaker.isWordByte(piece[position]) else {
                position += 1
                continue
            }
            var length = 0
            var hasLetterOrDigit = false
            while position < piece.count {
                let byte = piece[position]
                if !WordBreaker.isWordByte(byte) {
                    guard position + 1 < piece.count,
                        WordBreaker.joins(piece[position - 1], byte, piece[position + 1])
                    else { break }
                }
                if byte != 0x5F { hasLetterOrDigit = true }
                if length < WordBreaker.wordUnits {
                    folded[length] = WordBreaker.isLetter(byte) ? byte | 0x20 : byte
                    length += 1
                }
                position += 1
            }
            if hasLetterOrDigit { give(length, body) }
        }
    }

    private func give(_ length: Int, _ body: (UnsafeRawBufferPointer) -> Void) {
        if length == 0 { return }
        if length <= WordBreaker.longestStopWord {
            var packed: UInt64 = 0
            for index in 0..<length { packed = packed << 8 | UInt64(folded[index]) }
            if WordBreaker.isStopWord(packed) { return }
        }
        body(UnsafeRawBufferPointer(rebasing: folded[..<length]))
    }

    // MARK: Other scripts

    private func cut(_ piece: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) {
        if iterator == nil { iterator = brume_icu_words_open() }
        guard let iterator else {
            preconditionFailure("ICU has no data for words; install the package libicu72 whole")
        }
        if units.count < piece.count {
            units.deallocate()
            units = .allocate(capacity: max(piece.count, 1024))
        }
        let count = brume_icu_utf16(
            piece.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(piece.count), units.baseAddress,
            Int32(units.count))
        guard count > 0, brume_icu_words_set(iterator, units.baseAddress, count) != 0 else { return }
        var start: Int32 = 0
        while true {
            let end = brume_icu_words_next(iterator)
            if end < 0 { break }
            if brume_icu_words_is_word(iterator) != 0 { fold(Int(start)..<Int(end), body) }
            start = end
        }
        if units.count > WordBreaker.keptUnits {
            units.deallocate()
            units = .init(start: nil, count: 0)
        }
    }

    /// A larger buffer is freed after its text.
    private static let keptUnits = 64 * 1024

    private func fold(_ word: Range<Int>, _ body: (UnsafeRawBufferPointer) -> Void) {
        let length = brume_icu_fold(
            units.baseAddress! + word.lowerBound, Int32(min(word.count, WordBreaker.wordUnits)),
            folded.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(folded.count))
        if length > 0 { give(Int(length), body) }
    }
}
