import Testing

@testable import BrumeStore

@Suite("Words of a text")
struct WordBreakerTests {
    private func words(_ text: String) -> [String] {
        let breaker = WordBreaker()
        var words: [String] = []
        var text = text
        text.withUTF8 { bytes in
            breaker.forEachWord(in: UnsafeRawBufferPointer(bytes)) { words.append(String(decoding: $0, as: UTF8.self)) }
        }
        return words
    }

    @Test(
        "texts are cut and folded",
        arguments: [
            ("", []),
            ("Hello, World!", ["hello", "world"]),
            ("The quick brown fox is in a box", ["quick", "brown", "fox", "box"]),
            ("can't stop; won't", ["can't", "stop", "won't"]),
            ("can’t", ["can't"]),
            ("'quoted' \"words\" (here)", ["quoted", "words", "here"]),
            ("3.14 and 1,000 v1.2.3", ["3.14", "1,000", "v1.2.3"]),
            ("write to bob@example.com:now", ["write", "bob", "example.com", "now"]),
            ("snake_case __ kebab-case", ["snake_case", "kebab", "case"]),
            ("end.", ["end"]),
            ("..a..b..", ["b"]),
            ("Äpfel ÜBER Straße", ["apfel", "uber", "strasse"]),
            ("Crème brûlée", ["creme", "brulee"]),
            ("Cre\u{300}me", ["creme"]),
            ("ﬁne Ｗｉｄｅ", ["fine", "wide"]),
            ("İstanbul", ["istanbul"]),
            ("Ελλάδα ΟΔΟΣ", ["ελλαδα", "οδοσ"]),
            ("Привет, мир! Ёлка", ["привет", "мир", "елка"]),
            ("שָׁלוֹם עולם", ["שלום", "עולם"]),
            ("مُحَمَّد كتاب", ["محمد", "كتاب"]),
            ("한국어 검색", ["한국어", "검색"]),
            ("ガラス", ["ガラス"]),
            ("हिन्दी में", ["हिन्दी", "में"]),
            ("日本語,abc", ["日本語", "abc"]),
            ("naïve’s", ["naive's"]),
            ("🙂 smile 🙂", ["smile"]),
        ] as [(String, [String])])
    func table(text: String, expected: [String]) {
        #expect(words(text) == expected)
    }

    @Test("scripts without spaces are cut by ICU's dictionaries")
    func dictionaries() {
        #expect(words("สวัสดีชาวโลก").contains("โลก"))
        #expect(words("我喜欢学习中文").count > 2)
        #expect(words("我喜欢学习中文").joined() == "我喜欢学习中文")
    }

    @Test("a word is the same alone and in a text of another script")
    func mixtures() {
        for word in ["can't", "3.14", "example.com", "snake_case", "x1"] {
            #expect(words("日本 " + word + " é") == [words("日本"), [word], ["e"]].flatMap { $0 })
        }
    }

    @Test("of a very long word the beginning counts, and a large text is read whole")
    func longTexts() {
        #expect(words(String(repeating: "x", count: 1000)) == [String(repeating: "x", count: 64)])
        #expect(words(String(repeating: "é", count: 1000)) == [String(repeating: "e", count: 64)])
        #expect(words(String(repeating: "ﷺ", count: 64)).count == 1)
        #expect(words(String(repeating: "été ", count: 100_000)).count == 100_000)
        #expect(words(String(repeating: "été\u{2003}", count: 50_000)).count == 50_000)
    }

    @Test("NUL and other controls are no part of a word")
    func controls() {
        #expect(words("a1\u{0}b1\u{7f}c1") == ["a1", "b1", "c1"])
    }

    @Test(
        "a word's number is its SipHash-1-3",
        arguments: [
            // Python's hash() of these bytes under PYTHONHASHSEED=0, whose key is zero.
            (Array("a".utf8), 4_644_417_185_603_328_019), (Array("apple".utf8), 16_442_744_530_373_774_916),
            (Array("exactly8".utf8), 11_425_867_106_151_708_047),
            (Array("elevenbytes".utf8), 12_717_918_229_170_782_306),
            (Array("sixteen bytes 16".utf8), 15_974_580_645_583_279_710),
            (Array(0..<64), 8_493_894_268_803_903_686),
        ] as [([UInt8], UInt64)])
    func hash(word: [UInt8], hash: UInt64) {
        #expect(word.withUnsafeBytes { WordHash.hash($0, 0, 0) } == hash)
        #expect(word.withUnsafeBytes { WordHash.of($0) } == word.withUnsafeBytes { WordHash.of($0) })
    }

    @Test("a long text has the same words in parts, and a part ends where no word goes over it")
    func parts() {
        let breaker = WordBreaker()
        func words(_ text: UnsafeRawBufferPointer) -> [String] {
            var words: [String] = []
            breaker.forEachWord(in: text) { words.append(String(decoding: $0, as: UTF8.self)) }
            return words
        }
        func parts(of text: [UInt8]) -> [[UInt8]] {
            var parts: [[UInt8]] = []
            text.withUnsafeBytes { bytes in
                var start = 0
                while start < bytes.count {
                    let end = WordBreaker.partEnd(of: bytes, from: start)
                    parts.append(Array(bytes[start..<end]))
                    start = end
                }
            }
            return parts
        }
        let spaced = Array((0..<20_000).map { "wörd\($0) can't 3.14" }.joined(separator: " ").utf8)
        #expect(parts(of: spaced).count > 50)
        #expect(parts(of: spaced).flatMap { $0.withUnsafeBytes { words($0) } } == spaced.withUnsafeBytes { words($0) })
        // Scripts that write no spaces: behind punctuation, where there is some.
        let sentences = Array(String(repeating: "日本語のテキストです。", count: 2_000).utf8)
        #expect(
            parts(of: sentences).flatMap { $0.withUnsafeBytes { words($0) } } == sentences.withUnsafeBytes { words($0) }
        )
        for text in [
            sentences, Array(String(repeating: "日", count: 50_000).utf8), Array(repeating: 0x61, count: 100_000),
        ] {
            let parts = parts(of: text)
            #expect(parts.allSatisfy { $0.count <= WordBreaker.partBytes && !$0.isEmpty })
            #expect(parts.allSatisfy { String(validating: $0, as: UTF8.self) != nil })
            #expect(Array(parts.joined()) == text)
        }
    }
}
