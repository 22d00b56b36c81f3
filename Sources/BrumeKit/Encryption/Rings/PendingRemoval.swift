/// What an app has decided about those with whom it shares something, until an entry of this device's says the same.
struct PendingRemoval: Equatable, Sendable {
    enum Users: Equatable, Sendable {
        /// Nobody stays but these and the owner: a server may show later whom another device has let in by then.
        case staying(Set<String>)
        /// These go. A device that does not know the ring may be let in much later, and one in another's zone makes the
        /// entry with its next save there, which may be as late: neither must take out those who came meanwhile.
        case going(Set<String>)
    }

    /// Random: two of the same content are two.
    let id: UInt64
    /// By their user record names.
    var users: Users
    /// The ids of links for one guest that end.
    var endedLinks: Set<[UInt8]> = []
    /// Whether a link that opens the keys by itself ends.
    var closesLink = false

    /// Whether somebody goes by it.
    func takesOut(_ user: String) -> Bool {
        switch users {
        case .staying(let users): !users.contains(user)
        case .going(let users): users.contains(user)
        }
    }

    /// Both at once: who is out by either is out.
    fileprivate func and(_ other: PendingRemoval) -> PendingRemoval {
        let both: Users =
            switch (users, other.users) {
            case (.staying(let users), .staying(let others)): .staying(users.intersection(others))
            case (.staying(let stay), .going(let go)), (.going(let go), .staying(let stay)):
                .staying(stay.subtracting(go))
            case (.going(let users), .going(let others)):
                .going(Set(users.union(others).sorted().prefix(KeyLimits.ringStayingMax)))
            }
        return PendingRemoval(
            id: .random(in: 0 ... .max), users: both,
            endedLinks: Set(endedLinks.union(other.endedLinks).prefix(KeyLimits.ringInvitationsMax)),
            closesLink: closesLink || other.closesLink)
    }
}

extension PendingRemoval {
    /// - Parameter isAtOnce: Whether this device makes the entry soon: it knows the ring, which is of its own account.
    init(id: UInt64, _ departures: Departures, isAtOnce: Bool) {
        func bounded(_ users: Set<String>) -> Set<String> { Set(users.sorted().prefix(KeyLimits.ringStayingMax)) }
        self.init(
            id: id, users: isAtOnce ? .staying(bounded(departures.staying)) : .going(bounded(departures.named)),
            endedLinks: Set(departures.endedLinks.prefix(KeyLimits.ringInvitationsMax)),
            closesLink: departures.closesLink)
    }
}

extension KeptRing {
    /// Whether the app has somebody go, and no entry of this device's says so yet.
    func isToGo(_ user: String) -> Bool { removals.contains { $0.takesOut(user) } }

    /// Keeps a removal in mind. Of too many the oldest become one, which nothing takes back any more.
    mutating func note(_ removal: PendingRemoval) {
        removals.append(removal)
        guard removals.count > KeyLimits.ringRemovalsMax else { return }
        let oldest = removals.removeFirst()
        removals[0] = oldest.and(removals[0])
    }
}
