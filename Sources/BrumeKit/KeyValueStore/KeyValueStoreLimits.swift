/// The limits of a key-value store, each with its reason.
enum KeyValueStoreLimits {
    /// CloudKit's: keys in a store, bytes of a key in UTF-8, and bytes of all keys and values together.
    static let keysMax = 1_024
    static let keyBytesMax = 64
    static let bytesMax = 1_000_000

    /// Bytes of one value as it is stored. CloudKit's 1 MB is also the limit of the record that holds it, whose own
    /// fields need some room.
    static let valueBytesMax = 998_000

    /// Lists and dictionaries inside of each other: what is read from a server must not exhaust the stack.
    static let nestingMax = 64

    /// What is taken from the server: more than one store may hold, since several devices fill it at one time while
    /// they are offline. What is beyond it is not taken, and told as a quota violation.
    static let fetchedKeysMax = 4 * keysMax
    static let fetchedBytesMax = 8 * bytesMax

    /// Bytes of one upload, and items in it: the server's limits for a request, less what surrounds the values.
    static let uploadBytesMax = 1_500_000
    static let uploadItemsMax = 400

    /// How long the first change waits for others, and how far uploads are apart: an app may set a key with every
    /// keystroke.
    static let uploadPauseMilliseconds: UInt64 = 500
    static let uploadIntervalMilliseconds: UInt64 = 2_000

    /// How long a change waits until it is written to the disk together with those that follow.
    static let persistPauseMilliseconds: UInt64 = 200

    /// Pauses after a failure that passes by itself, and after one that needs somebody to mend it.
    static let retryNanosecondsMin: UInt64 = 1_000_000_000
    static let retryNanosecondsMax: UInt64 = 300_000_000_000
    static let mendingMilliseconds: UInt64 = 300_000

    /// Bytes of the file that a store is kept in: the fetched ones, and writes that wait, with room for keys.
    static let fileBytesMax = 32 * 1024 * 1024
}
