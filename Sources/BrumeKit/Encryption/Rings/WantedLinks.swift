/// The links that an owner gives away for what a ring is of, one for many among them.
struct WantedLinks: Sendable {
    /// Whether the one for many opens the keys by itself: where all who have it may take part.
    var isOpen = false
    /// Those for one guest each that there are to be, by the ids of their invitations.
    var guests: Set<[UInt8]> = []
    /// The ids of those for one guest that may stay: all others of the owner's end.
    var staying: Set<[UInt8]> = []
    /// The ids of those whose guests were removed: whoever came by one goes.
    var removed: Set<[UInt8]> = []
    /// Whether what the ring is of is shared no more: all links end, and all guests go.
    var isEnd = false
}
