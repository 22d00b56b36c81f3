/// The links that an owner gives away for what a ring is of, beside the one for many.
struct WantedLinks: Sendable {
    /// Those for one guest each, by the ids of their invitations.
    var guests: Set<[UInt8]> = []
    /// Those that are good no more, by the same.
    var ended: Set<[UInt8]> = []
}
