internal import BrumeRecord

/// The texts of a record that searches look into, part by part: its texts and the elements of its lists of texts.
///
/// A part is short, so that cutting it into words is a small piece of work, whoever wrote the text. No word crosses its
/// end: it ends where no word can (see ``WordBreaker/partEnd(of:from:)``). Indexes and evaluators read texts through
/// this alone, so that both find the same words. Points into the record: valid as long as its bytes are.
struct SearchableText {
    private var fields: StoredRecordReader
    private var list: StoredList?
    private var text = UnsafeRawBufferPointer(start: nil, count: 0)
    private var position = 0
    private let searchableFields: SearchableFields

    init(of record: UnsafeRawBufferPointer, _ searchableFields: SearchableFields) {
        fields = StoredRecordReader(record)
        self.searchableFields = searchableFields
    }

    /// The next part, or nil at the end.
    mutating func next() -> UnsafeRawBufferPointer? {
        // An empty text is a part of its own: a list may have half a million of them.
        if position >= text.count {
            guard let next = nextText() else { return nil }
            (text, position) = (next, 0)
        }
        let end = WordBreaker.partEnd(of: text, from: position)
        defer { position = end }
        return UnsafeRawBufferPointer(rebasing: text[position..<end])
    }

    private mutating func nextText() -> UnsafeRawBufferPointer? {
        while true {
            if case .string(let element) = list?.next() { return element }
            list = nil
            guard let element = fields.next() else { return nil }
            guard case .field(let key, let field) = element else { continue }
            if case .only(let names) = searchableFields, !names.contains(String(decoding: key, as: UTF8.self)) {
                continue
            }
            switch StoredRecordReader.value(ofField: field) {
            case .scalar(.string(let text)): return text
            case .list(let elements): list = elements
            default: break
            }
        }
    }

    /// Calls `body` with the hash of each word (``WordHash``), as often as the word occurs.
    static func forEachWord(
        in record: UnsafeRawBufferPointer, _ searchableFields: SearchableFields, _ breaker: WordBreaker,
        _ body: (UInt64) -> Void
    ) {
        var reader = SearchableText(of: record, searchableFields)
        while let part = reader.next() { breaker.forEachWord(in: part) { body(WordHash.of($0)) } }
    }
}
