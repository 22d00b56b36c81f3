/// The links that an owner gives away for what a ring is of, one for many among them.
struct WantedLinks: Sendable {
    /// Whether the one for many opens the keys by itself: where all who have it may take part.
    var isOpen = false
    /// Those for one guest each, by the ids of their invitations.
    var guests: Set<[UInt8]> = []
    /// Those that are good no more, by the same.
    var ended: Set<[UInt8]> = []
}
