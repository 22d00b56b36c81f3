/// What of hostile bytes is read at most.
enum Limits {
    /// Names of accounts, containers, zones and records have 255 bytes at most.
    static let textBytes = 1024
    /// Devices of one account: each has a box in each statement.
    static let devices = 64
    static let deviceNameBytes = 200
    static let sealedNameBytes = 256
    /// CloudKit's shares have 100 participants; a ring's entry has a box for each.
    static let members = 128
    /// Each has two public keys, which are checked when they are read.
    static let invitations = 32
    /// Earlier keys of one kind in an entry, which are as many as the times that somebody was dropped.
    static let earlierKeys = 1000
    /// Statements of an account, each of which is made when a device comes or goes.
    static let statements = 4096
    /// Entries of a ring, each of which is made when a member comes or goes.
    static let ringEntries = 16_384
    /// The last of them are the owner's: whoever makes many can't keep the owner from dropping him.
    static let ringEntriesOfOwner = 1024
    /// Bytes of a ring's signed entries, which a device keeps in memory, and the last of them, which are the owner's.
    static let ringBytes = 64 * 1024 * 1024
    static let ringBytesOfOwner = 4 * 1024 * 1024
    /// Branches of a ring that its owner ended, which a device keeps.
    static let endedBranches = 15
    /// Lives of a zone that a device keeps in mind: a server that invents others is not followed for ever.
    static let zoneLives = 4096
}
