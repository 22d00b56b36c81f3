internal import BrumeModel

/// What a device's stream has to tell of the shared database: that something changed there, once however often it did.
struct SharedNews {
    /// Something that happened.
    struct Change {
        /// Types of the records that changed; nil for any, and where zones came or went.
        var types: Set<String>?
        /// Whether the device may have missed something, and fetches in any case.
        var isMissed = false
        var committedMilliseconds: Int64 = 0
        /// The place behind it.
        var place: StreamPosition.Place
    }

    /// More types than these are as good as any.
    private static let typesLimit = 16

    private var change: Change?
    /// What is being told, and the subscriptions that it was not told for yet. A name for each, and no event: a stream
    /// without credit holds next to nothing.
    private var telling: (change: Change, subscriptions: ArraySlice<String>)?

    /// Notes a change, together with those that were not told yet.
    mutating func note(_ new: Change) {
        guard var known = change else { return change = new }
        if let types = known.types, let more = new.types {
            let all = types.union(more)
            known.types = all.count > Self.typesLimit ? nil : all
        } else {
            known.types = nil
        }
        known.isMissed = known.isMissed || new.isMissed
        known.committedMilliseconds = new.committedMilliseconds
        known.place = new.place
        change = known
    }

    /// What to tell next, for which subscription; nil if there is nothing.
    ///
    /// The place behind a change comes with its last event alone: a stream that ends before that has not told all.
    ///
    /// - Parameter subscriptions: The ids of those that a change is told for; an empty one for the device itself.
    mutating func next(
        _ subscriptions: (Change) -> [String]
    ) -> (change: Change, subscription: String, place: StreamPosition.Place?)? {
        if telling == nil, let change {
            self.change = nil
            telling = (change, subscriptions(change)[...])
        }
        guard let change = telling?.change, let id = telling?.subscriptions.popFirst() else {
            telling = nil
            return nil
        }
        let isLast = telling!.subscriptions.isEmpty
        if isLast { telling = nil }
        return (change, id, isLast ? change.place : nil)
    }
}
