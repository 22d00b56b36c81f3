internal import BrumeModel

/// Bounds of what the SDK reads and keeps of an account's keys.
enum KeyLimits {
    /// Statements of an account: as many as a chain may have, four times what a server takes.
    static let statementsMax = 4 * Limits.statementsPerAccount
    /// Bytes of all statements of an account, in the same proportion: more is no answer of an honest server.
    static let statementBytesMax = 4 * Limits.statementBytesPerAccount
    /// Bytes of a file of the key folder: all statements, each with its length, and the rest.
    static let fileBytesMax = statementBytesMax + 4 * statementsMax + 1024
    /// Bytes of the file of another account: all its statements, each with its length, and the rest.
    static let personFileBytesMax = statementBytesMax + 4 * statementsMax + 64
    /// Bytes of a statement's hash.
    static let hashBytes = 32
    /// Devices of an account, as the format has it.
    static let devicesMax = 64
    /// Entries of a ring, as the format has it.
    static let ringEntriesMax = 16_384
    /// Keys of a zone of which each is made for a shared tree's ring: the rest are for devices and members who go.
    static let zoneKeysForTreesMax: UInt32 = 12_288
    /// Bytes of all entries of a ring, as the format has it.
    static let ringBytesMax = 64 * 1024 * 1024
    /// Branches of a ring that the owner ended, which a device keeps.
    static let ringBranchesMax = 16
    /// Bytes of the file of a share's root: a record name has 255.
    static let shareRootFileBytesMax = 1024
    /// Members of a ring's entry, as the format has it.
    static let ringMembersMax = 128
    /// Links in a ring's entry, as the format has it.
    static let ringInvitationsMax = 32
    /// What an app has decided about a ring's members at different times, and no entry says yet.
    static let ringRemovalsMax = 8
    /// Those whom such a decision names: more than a share has participants.
    static let ringStayingMax = 256
    /// Others whose statements are asked for in one look at a ring: all whom a ring has ever named, for a device that
    /// comes late. Twice as many as a server keeps beside the rings of a zone.
    static let peopleMax = 2 * Limits.ringUsersPerZone
    /// Bytes of all of these as they come: what a server keeps. In memory they take some five times as much.
    static let peopleBytesMax = Limits.ringStatementBytesPerZone
    /// Lives of a zone that a device keeps in mind, as the format has it.
    static let zoneLivesMax = 4096
    /// Bytes of a ring's file: entries of some branches, each with its length, and the ids of the zone's lives.
    static let ringFileBytesMax = 2 * ringBytesMax + 4 * ringEntriesMax * ringBranchesMax + 16 * zoneLivesMax + 1024
    /// How often the statements are looked at within one operation. Each time but the first another device was faster,
    /// or the server changed its mind.
    static let roundsMax = 8
    /// How often an operation begins anew because another process wrote to the folder.
    static let attemptsMax = 8
    /// How long another process may hold the folder's lock, which it needs for a few writes: this many times the pause
    /// between two attempts.
    static let lockAttemptsMax = 1_000
    static let lockPauseMilliseconds = 10
}
