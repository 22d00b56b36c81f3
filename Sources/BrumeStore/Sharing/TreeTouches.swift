internal import BrumeModel

/// For whom the commit in hand changes something of a zone's trees, until it is told.
struct TreeTouches: Sendable {
    /// The types of the records with which it changed trees, by number.
    private var types: [UInt32: Set<String>] = [:]
    /// The trees whose share it changed for those alone who manage it, by number.
    private var quiet: Set<UInt32> = []
    /// Users who see more or less with it.
    private var users: Set<String> = []

    /// A tree changed by a record of a type.
    mutating func note(_ number: UInt32, _ type: String) { types[number, default: []].insert(type) }

    /// A tree's share changed for those alone who manage it.
    mutating func noteQuietly(_ number: UInt32) { quiet.insert(number) }

    /// A user sees more or less.
    mutating func note(_ user: String) { users.insert(user) }

    /// What was noted, for those who take part now.
    mutating func take(
        _ trees: [UInt32: SharedTree], isManager: (_ user: String, _ number: UInt32) -> Bool
    ) -> [TouchedTree] {
        defer { self = TreeTouches() }
        var touched = types.sorted { $0.key < $1.key }.compactMap { number, types in
            trees[number].map { TouchedTree(users: $0.users, recordTypes: types) }
        }
        for number in quiet.sorted() {
            guard let users = trees[number]?.users else { continue }
            let managers = users.filter { isManager($0, number) }
            if !managers.isEmpty { touched.append(TouchedTree(users: managers, recordTypes: [Names.shareType])) }
        }
        if !users.isEmpty { touched.append(TouchedTree(users: users, recordTypes: nil)) }
        return touched
    }
}
