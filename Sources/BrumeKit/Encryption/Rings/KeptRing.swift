internal import BrumeEncryption

/// What a device keeps of a ring: what it has seen once it sees no less of again.
struct KeptRing: Sendable {
    /// The ring of the zone's newest life that is known.
    var known: KnownRing?
    /// All lives of the zone that were seen.
    var lives = ZoneLives()
    /// The zone was deleted, as far as is known: the next one of its name may have no ring yet.
    var isOver = false
    /// This device has deleted the zone. Where a server shows its ring again, those with whom it was shared would go on
    /// reading what is saved there: nothing is encrypted with it before a person has decided. One that nobody else ever
    /// had keys of is gone on with: another device of the account may have made the zone anew.
    var wasDeletedHere = false
    /// This device has asked the server to delete the zone: once that is gone, this device has done it.
    var deletionIsAsked = false
    /// What the app has decided about those with whom it shares, the oldest first. Nothing is encrypted with the ring's
    /// newest key before an entry of this device's says the same, which ends them.
    var removals: [PendingRemoval] = []
    /// The open link by which the account came to another's zone: what it opens is read until the account is a member.
    var link: LinkSecret?
}
