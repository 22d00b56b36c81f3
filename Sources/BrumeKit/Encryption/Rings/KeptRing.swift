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
    /// reading what is saved there: nothing is encrypted with it before a person has decided.
    var wasDeletedHere = false
    /// Members who are to go, by their user record names: the app takes them out of what is shared, and no entry
    /// without them stands yet. Nothing is encrypted with the ring's newest key before.
    var goers: Set<String> = []
    /// The open link by which the account came to another's zone: what it opens is read until the account is a member.
    var link: LinkSecret?
}
