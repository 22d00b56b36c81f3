/// What the hubs and streams of one shard count together. Belongs to the shard's loop.
final class PushFigures {
    /// Events that were sent to devices.
    var sent: UInt64 = 0
    /// Events that were made.
    var published: UInt64 = 0
    /// How often a device was told to fetch instead.
    var missed: UInt64 = 0
    /// Events that are kept now, and their bytes.
    var backlogEvents = 0
    var backlogBytes = 0
}
