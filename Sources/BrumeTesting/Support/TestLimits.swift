/// The kit's own limits, each with its reason.
enum TestLimits {
    /// Servers that run at a time in this process: each has five threads and some 25 descriptors.
    static let serversMax = 128

    /// How long the start of one more waits for one of them to stop: longer than a test of an app takes.
    static let slotTimeout = Duration.seconds(120)

    /// Devices of one server that have not gone: each has a connection of its own.
    static let devicesMax = 1_000

    /// Rules of one script that have not fired yet: each call is held against each.
    static let rulesMax = 1_000

    /// Calls that a server remembers: the oldest ones go when there are more, a tenth at a time.
    static let loggedCallsMax = 10_000

    /// Events that a delegate remembers, in the same way.
    static let eventsMax = 10_000

    /// Bytes of records that pages of changes may keep for the last one, which still fits into a frame with them.
    static let withheldBytesMax = 256 * 1024

    /// How often a clock is turned for an engine that does not come to rest: more pauses than any that ends needs.
    static let idleTurnsMax = 100

    /// Items that an error names: enough to see which they are.
    static let namedItemsMax = 10

    /// Records that are put into a database with one request: fewer than a request may have, as each may be large.
    static let seededRecordsPerRequest = 100

    /// How old a folder is before it can be one that a process left behind: its owner has locked it long ago.
    static let staleFolderSeconds: Double = 60

    /// How long a stop waits for calls in flight. What a script holds is let go before.
    static let drainMilliseconds: UInt64 = 2_000

    /// A new segment is written whole before the server is ready; this one is there at once, and holds the largest
    /// request.
    static let journalSegmentBytes = 4 * 1024 * 1024

    /// How long a spawned server may take until it serves, and until it has stopped.
    static let processSeconds: Double = 60
}
