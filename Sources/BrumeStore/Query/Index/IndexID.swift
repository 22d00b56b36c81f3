internal import BrumeModel

/// What an index covers: records of one type, in one zone.
struct IndexID: Hashable {
    enum Kind: Hashable {
        /// All of them.
        case all
        /// By the order of a value: comparisons of numbers and dates, ranges, prefixes, sorting.
        case order(QueryKey)
        /// By a text, bytes or reference as a whole.
        case equality(QueryKey)
        /// By the elements of a list.
        case members(QueryKey)
        /// By words.
        case words(SearchableFields)
        /// By the place on Earth.
        case places(QueryKey)
    }

    /// Empty for all types.
    var recordType: String
    var kind: Kind

    /// Whether the index has the records of a type.
    func covers(_ type: String) -> Bool { recordType.isEmpty || recordType == type }

    /// The name of the index in a plan.
    var name: String {
        switch kind {
        case .all: recordType.isEmpty ? "of all records" : "of \(recordType)"
        case .order(let key): "\(recordType).\(key.name) by order"
        case .equality(let key): "\(recordType).\(key.name) by value"
        case .members(let key): "\(recordType).\(key.name) by element"
        case .words: "of \(recordType) by word"
        case .places(let key): "\(recordType).\(key.name) by place"
        }
    }
}
