internal import BrumeWire

/// The words of a record's searchable fields: of its texts and its lists of texts.
enum RecordText {
    /// Gives the hash of each word (``WordHash``), as often as it stands there.
    static func forEachWord(
        in record: UnsafeRawBufferPointer, _ searchableFields: SearchableFields, _ breaker: WordBreaker,
        _ body: (UInt64) -> Void
    ) {
        var reader = StoredRecordReader(record)
        while let element = reader.next() {
            guard case .field(let key, let field) = element else { continue }
            if case .only(let names) = searchableFields, !names.contains(String(decoding: key, as: UTF8.self)) {
                continue
            }
            switch StoredRecordReader.value(ofField: field) {
            case .scalar(.string(let text)):
                breaker.forEachWord(in: text) { body(WordHash.of($0)) }
            case .list(var list):
                while case .string(let text) = list.next() {
                    breaker.forEachWord(in: text) { body(WordHash.of($0)) }
                }
            default: break
            }
        }
    }
}
