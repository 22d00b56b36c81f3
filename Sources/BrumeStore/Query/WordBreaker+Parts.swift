extension WordBreaker {
    /// Bytes of a text that are cut into words at a time. ICU takes some 100 nanoseconds a byte for scripts that write
    /// no spaces.
    static let partBytes = 4_096

    /// The end of the part of a text that begins at `start`: at most ``partBytes`` later, and where no word crosses it.
    ///
    /// Usually the part ends after a byte at which every text is cut. A text without any for so long is of a script
    /// that writes no spaces: its part ends after the last punctuation or space of other scripts in the part's second
    /// half, or else at a code point, where a word may be cut in two.
    static func partEnd(of text: UnsafeRawBufferPointer, from start: Int) -> Int {
        if text.count - start <= partBytes { return text.count }
        let limit = start + partBytes
        var end = limit
        while end > start {
            if isCut(text[end - 1]) { return end }
            end -= 1
        }
        end = limit
        while end > start + partBytes / 2 {
            if isPunctuation(text, endingAt: end) { return end }
            end -= 1
        }
        end = limit
        while end > start + 1, text[end] & 0xC0 == 0x80 { end -= 1 }
        return end
    }

    /// General punctuation and spaces (U+2000 to U+206F), those of CJK (U+3000 to U+303F), and full-width ones (U+FF00
    /// to U+FF0F): code points of three bytes.
    private static func isPunctuation(_ text: UnsafeRawBufferPointer, endingAt end: Int) -> Bool {
        guard end >= 3 else { return false }
        switch (text[end - 3], text[end - 2]) {
        case (0xE2, 0x80), (0xE2, 0x81), (0xE3, 0x80): return text[end - 1] & 0xC0 == 0x80
        case (0xEF, 0xBC): return 0x80...0x8F ~= text[end - 1]
        default: return false
        }
    }
}
