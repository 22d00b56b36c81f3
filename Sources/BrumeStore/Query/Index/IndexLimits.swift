/// How much of a record the indexes of a zone take in, how much they do at once, and how much may wait. Tests make it
/// small.
struct IndexLimits {
    /// The most elements of a list.
    var elements = StoreLimits.indexedElements
    /// The most words of a record.
    var words = StoreLimits.indexedWords
    /// Bytes of a record, older and newer version together, up to which indexes take its change over at once.
    var promptBytes = StoreLimits.promptIndexBytes
    /// Units of work on indexes, about a microsecond each, that are done within one commit.
    var promptUnits = StoreLimits.promptIndexUnits
    /// The bytes of record versions that may be pending before large changes have to wait.
    var pendingBytes = StoreLimits.pendingIndexBytes
    /// How many bytes beyond them may be pending for small requests of those who have little waiting.
    var reserveBytes = StoreLimits.pendingIndexReserveBytes
    /// The bytes of record versions that a small request changes at most.
    var smallBytes = StoreLimits.smallIndexBytes
    /// The number of changes that may be pending before large changes have to wait.
    var pendingChanges = StoreLimits.pendingIndexChanges
}
