/// What is wrong with a predicate's text, and where.
struct PredicateFormatError: Error, Equatable, Sendable {
    /// What is wrong and what was expected.
    let problem: String
    /// Where, in UTF-8 bytes from the start of the text.
    let offset: Int
    /// The text around the place on one line.
    let excerpt: String
    /// Characters of the excerpt before the place.
    let caretColumn: Int
    /// Characters of the text before the place, and one.
    let characterNumber: Int

    /// Bytes of the text that are shown on each side of the place.
    private static let excerptBytes = 48

    init(_ problem: String, at offset: Int, in text: [UInt8]) {
        self.problem = problem
        self.offset = offset
        let before = Self.line(Self.whole(text, from: max(0, offset - Self.excerptBytes), to: offset))
        let behind = Self.line(Self.whole(text, from: offset, to: min(text.count, offset + Self.excerptBytes)))
        let isCut = offset > Self.excerptBytes
        let start = (isCut ? "…" : "") + before
        excerpt = start + behind + (offset + Self.excerptBytes < text.count ? "…" : "")
        caretColumn = start.count
        characterNumber = String(decoding: text[..<offset], as: UTF8.self).count + 1
    }

    /// The bytes of a range as text, without what is left of a character that the range cuts.
    private static func whole(_ text: [UInt8], from start: Int, to end: Int) -> String {
        var start = start
        var end = end
        while start < end, text[start] & 0xC0 == 0x80 { start += 1 }
        while end > start, end < text.count, text[end] & 0xC0 == 0x80 { end -= 1 }
        return String(decoding: text[start..<end], as: UTF8.self)
    }

    private static func line(_ text: String) -> String {
        String(text.map { $0.isNewline || $0 == "\t" ? " " : $0 })
    }
}

extension PredicateFormatError: CustomStringConvertible {
    /// The place, the problem, and below them the text with a caret under the place.
    var description: String {
        """
        the predicate's format is wrong at character \(characterNumber): \(problem)
            \(excerpt)
            \(String(repeating: " ", count: caretColumn))^
        """
    }
}
