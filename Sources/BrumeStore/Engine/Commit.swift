package import BrumeModel

/// An engine's answer, and what has to become durable before the answer may be given.
package struct Decision<Answer: Sendable>: Sendable {
    package var answer: Answer
    /// Nil when nothing changed.
    package var commit: Commit?

    package init(answer: Answer, commit: Commit?) {
        self.answer = answer
        self.commit = commit
    }
}

/// One commit that the engine has applied: what the journal keeps, and what pushes and followers need to know of it.
///
/// An operation's id and outcome are set in `entry` by the caller before the entry is appended; see
/// ``Database/remember(operation:_:digest:user:)``.
package struct Commit: Sendable {
    package var entry: JournalEntry
    /// The zones in the order in which the commit touched them, each once.
    package var zones: [TouchedZone]
    /// The query subscriptions that it fires.
    package var matches = CommitMatches()
    /// Zone subscriptions that were deleted with their zones.
    package var endedHints: [KeptSubscription] = []

    package var sequence: UInt64 { entry.sequence }
}

/// What a commit did to one zone.
package struct TouchedZone: Equatable, Sendable {
    /// The owner is empty, which means the database's own.
    package var zone: ZoneID
    /// The zone's incarnation; 0 is the default zone.
    package var incarnation: UInt64
    /// The types of the records that changed or went, each once. Empty for a deleted zone.
    package var recordTypes: [String]
    package var isNew: Bool
    package var isDeleted: Bool
    /// What it did to the trees of records that are shared; nil where the zone is shared as a whole, if at all.
    package var trees: [TouchedTree]?

    package var isNewOrDeleted: Bool { isNew || isDeleted }
}

/// What a commit changed for some of the users with whom records of a zone are shared.
package struct TouchedTree: Equatable, Sendable {
    package var users: Set<String>
    /// The types of the records that changed, came or went; nil where these users see more than before, or less.
    package var recordTypes: Set<String>?

    /// The types for each user whom a commit concerns, in the order of the users' names.
    package static func typesByUser(_ trees: [TouchedTree]) -> [(user: String, types: Set<String>?)] {
        // Usually there is one.
        if trees.count == 1 { return trees[0].users.sorted().map { ($0, trees[0].recordTypes) } }
        var types: [String: Set<String>?] = [:]
        for tree in trees {
            for user in tree.users {
                let known = types[user] ?? .some([])
                types[user] = .some(known.flatMap { known in tree.recordTypes.map { known.union($0) } })
            }
        }
        return types.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}

/// The caller of a request. The server has authenticated them; the engine knows only what its own rules need.
package struct Caller: Sendable {
    /// The user record name; empty for a caller without an account.
    package var user: String
    /// Whether a private database is the caller's own.
    package var isOwner: Bool
    /// What the schema grants in the public database. Nil where no schema exists: everybody may read and create
    /// records, and only the creator of a record may change it.
    package var access: PublicAccess?
    /// The id of the caller's device; empty where it does not matter.
    package var device: [UInt8]

    package init(user: String, isOwner: Bool, access: PublicAccess? = nil, device: [UInt8] = []) {
        self.user = user
        self.isOwner = isOwner
        self.access = access
        self.device = device
    }

    package var isAnonymous: Bool { user.isEmpty }
}
