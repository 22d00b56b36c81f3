/// What an app has decided about those with whom it shares something, until an entry of this device's says the same.
///
/// It names those who stay, and not those who go: a server may show later whom another device has let in by then.
struct PendingRemoval: Equatable, Sendable {
    /// Random: two of the same content are two.
    let id: UInt64
    /// Those who stay at most, by their user record names. The owner does in any case.
    var staying: Set<String>
    /// The ids of links for one guest that end.
    var endedLinks: Set<[UInt8]> = []
    /// Whether a link that opens the keys by itself ends.
    var closesLink = false

    /// Both at once: who is out by either is out.
    fileprivate func and(_ other: PendingRemoval) -> PendingRemoval {
        PendingRemoval(
            id: .random(in: 0 ... .max), staying: staying.intersection(other.staying),
            endedLinks: Set(endedLinks.union(other.endedLinks).prefix(KeyLimits.ringInvitationsMax)),
            closesLink: closesLink || other.closesLink)
    }
}

extension KeptRing {
    /// Whether the app has somebody go, and no entry of this device's says so yet.
    func isToGo(_ user: String) -> Bool { removals.contains { !$0.staying.contains(user) } }

    /// Keeps a removal in mind. Of too many the oldest become one, which nothing takes back any more.
    mutating func note(_ removal: PendingRemoval) {
        removals.append(removal)
        guard removals.count > KeyLimits.ringRemovalsMax else { return }
        let oldest = removals.removeFirst()
        removals[0] = oldest.and(removals[0])
    }
}
