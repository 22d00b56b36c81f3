internal import BrumeModel

/// Bounds of what the SDK reads and keeps of an account's keys.
enum KeyLimits {
    /// Statements of an account: as many as a chain may have, four times what a server takes.
    static let statementsMax = 4 * Limits.statementsPerAccount
    /// Bytes of all statements of an account, in the same proportion: more is no answer of an honest server.
    static let statementBytesMax = 4 * Limits.statementBytesPerAccount
    /// Bytes of a file of the key folder: all statements, each with its length, and the rest.
    static let fileBytesMax = statementBytesMax + 4 * statementsMax + 1024
    /// Bytes of a statement's hash.
    static let hashBytes = 32
    /// Devices of an account, as the format has it.
    static let devicesMax = 64
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
