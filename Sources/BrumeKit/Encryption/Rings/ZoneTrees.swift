/// Which records of a zone are below which, as far as this device has seen: what is encrypted in a record takes the key
/// of its tree, and a tree goes by the name of its root.
struct ZoneTrees: Sendable {
    /// Records that are kept in mind; then it begins anew, and parents are fetched again.
    private static let recordsMax = 20_000
    /// Records from one to its root: as many as are looked at before a record is taken for the root.
    static let depthMax = 64

    /// The parent of each record that was seen; nil for a root.
    private var parents: [String: String?] = [:]

    mutating func learn(_ record: String, parent: String?) {
        if parents.count >= Self.recordsMax, parents[record] == nil { parents = [:] }
        parents[record] = .some(parent)
    }

    enum Walk: Equatable {
        case root(String)
        /// The parent of this record is not known.
        case unknown(String)
    }

    /// Goes from a record to its root.
    ///
    /// - Parameter parent: The record's own parent.
    func root(of record: String, parent: String?) -> Walk {
        guard let parent else { return .root(record) }
        var name = parent
        for _ in 0..<Self.depthMax {
            guard let next = parents[name] else { return .unknown(name) }
            guard let next else { return .root(name) }
            name = next
        }
        return .root(name)
    }
}
