internal import BrumeModel

/// The commits of one database, in their order, and how far clients have seen it.
extension CommitHistory {
    /// A change in a feed: of a record in its zone's, of a zone in its database's.
    struct Touch {
        var position: UInt64
        var name: String
        var isDeleted: Bool
        var tag: String
        /// The tag for those who take part and don't manage what changed.
        var shownTag = ""
        /// Whether it is a change of a share that those alone are told of who manage it.
        var isQuiet = false
        var sequence: UInt64 { position >> 20 }
        /// As those are told of it who take part and don't manage what changed.
        var asShown: Touch {
            Touch(position: position, name: name, isDeleted: isDeleted, tag: shownTag, shownTag: shownTag)
        }
    }

    struct Timeline {
        /// By sequence; the first one is the empty database.
        var states: [State] = [State()]
        /// By sequence; which operation's commit it is, and what it touched.
        var commits: [Commit] = [Commit()]
        var zoneTouches: [UInt64: [Touch]] = [:]
        var databaseTouches: [Touch] = []
        var sequenceOfOperation: [[UInt8]: UInt64] = [:]
        /// The commit that wrote the versions with a change tag.
        var sequenceOfTag: [String: UInt64] = [:]
        /// The last commit that some client has seen something of.
        var seen: UInt64 = 0
        /// Counts restores of backups; the last one went back to this commit.
        var era = 0
        var restoredAt: UInt64 = 0

        var last: UInt64 { UInt64(states.count - 1) }
    }

    struct Commit {
        var operation: [UInt8] = []
        /// What the operation did, as the journal has it.
        var outcome: [UInt8] = []
        /// The pushes that it has to make for each owner of subscriptions; in a private database the owner's name is
        /// empty.
        var pushes: [String: Set<PushLog.Push>] = [:]
        /// The device that asked for it.
        var origin: [UInt8] = []
        /// Zones in which it changed records.
        var zones: Set<String> = []
        /// Counts all commits of the simulation, so that two of one sequence, before and after a restore, are told
        /// apart.
        var number = 0
    }

    /// How far clients had seen a database when a request was sent.
    struct Sight {
        fileprivate var era: Int
        fileprivate var sequence: UInt64
    }

    /// Taken when a request is sent: its answer shows nothing from before ``Timeline/start(of:)``.
    func sight(of id: DatabaseID) -> Sight { Sight(era: timelines[id]!.era, sequence: timelines[id]!.seen) }
}

extension CommitHistory.Timeline {
    /// The first commit whose state an answer may show to a request that was sent then.
    func start(of sight: CommitHistory.Sight) -> UInt64 { isOfThisEra(sight) ? sight.sequence : restoredAt }

    /// Whether no backup was restored since.
    func isOfThisEra(_ sight: CommitHistory.Sight) -> Bool { sight.era == era }
}
