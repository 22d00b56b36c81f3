/// What a device notes of a record that it has put below another one, with what is below it.
struct Move: Equatable, Sendable {
    /// The most trees of one record; of more the first ones are forgotten.
    static let formerTreesMax = 8

    var parent: String
    /// The ids of the trees that it left, in their order: what is below it was encrypted in them.
    private(set) var formerTreeIDs: [[UInt8]]

    init(parent: String, formerTreeIDs: [[UInt8]]) {
        self.parent = parent
        self.formerTreeIDs = Array(formerTreeIDs.suffix(Self.formerTreesMax))
    }

    /// The same of a record that has moved before, and of which what is below has not followed yet.
    func following(_ earlier: Move?) -> Move {
        guard let earlier else { return self }
        let others = earlier.formerTreeIDs.filter { !formerTreeIDs.contains($0) }
        return Move(parent: parent, formerTreeIDs: others + formerTreeIDs)
    }
}
