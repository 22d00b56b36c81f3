/// The store's own limits, each with its reason. What clients share is in `Limits`.
package enum StoreLimits {
    /// Bytes of the snapshots that a start reads whole before it serves, all together: a quarter of a second at the
    /// speed of the checksum. With more the start would keep clients waiting, and they are read after it.
    package static let startCheckBytes: UInt64 = 256 * 1024 * 1024

    /// The number of those files: opening one costs more than reading a small one.
    package static let startCheckFiles = 10_000

    /// Bytes a second that are read after the start, a small file counted as ``checkedFileBytesMin``: a tenth of what
    /// one core checks, so that the loops don't notice.
    package static let backgroundCheckBytesPerSecond: UInt64 = 32 * 1024 * 1024

    /// Bytes that are read at a time then: what the snapshots' thread may be kept for, some milliseconds.
    package static let backgroundCheckSliceBytes: UInt64 = 1024 * 1024

    /// What a small file counts at least: opening it is a seek.
    package static let checkedFileBytesMin: UInt64 = 4096

    /// Bytes of memory that the databases may take that a verification holds at a time. One database is always held,
    /// however large it is.
    package static let verificationBytes = 128 * 1024 * 1024

    /// Bytes of a file's content that a block of a backup file holds: large enough for its header to cost nothing.
    package static let backupBlockBytes = 1024 * 1024

    /// Files in one backup file: a reader keeps their names in memory.
    package static let backupFiles = 16_000_000

    /// Bytes of a journal's file in a backup file. Segments are read whole, so a small backup file that would expand to
    /// a huge one is refused; the largest segment that a server may be told to make is half as large.
    package static let backupSegmentBytes: UInt64 = 2 * 1024 * 1024 * 1024

    /// Bytes of the list of a folder's files: names of 16 million of them, as many as a backup file holds.
    package static let manifestBytes: UInt64 = 2 * 1024 * 1024 * 1024

    /// Bytes of a file in a backup file that is neither journal nor snapshot: the account file has the largest.
    package static let backupOtherBytes: UInt64 = 256 * 1024 * 1024

    /// Assets that are missing or damaged, of which a verification tells one by one: it counts the others.
    package static let assetProblems = 100

    /// Bytes of a schema file: two texts of the largest size and the members of their roles, with room.
    package static let schemaFileBytes: UInt64 = 64 * 1024 * 1024

    /// Fields, and references of whatever kind, that one request may have the loop look at to find those that delete
    /// their record: two records of a megabyte that hold nothing else. At some 15 nanoseconds each, 5 milliseconds.
    package static let referenceStepsPerRequest = 300_000

    /// Records and references that a batch may be looked at for again, because its items undo each other: some 5
    /// milliseconds.
    package static let referenceVisitsPerRequest = 200_000

    /// Bytes of other users' records that go with those that a request deletes in a public database; the rest keep a
    /// reference to nothing. What goes counts towards what indexes have to take over, and nobody else's records may
    /// keep a user from deleting their own.
    package static let othersCascadeBytes = 16 * 1024 * 1024

    /// The numbers of a database's commits are below it: half of those that change positions have room for. A million
    /// commits a second take three months to come near, so a file that names a later one is damaged, and a server that
    /// opened it would soon have no number for the next.
    static let commitSequenceLimit: UInt64 = 1 << 43

    /// The numbers of a journal's segments and batches are below it, for the same reason.
    static let journalNumberLimit: UInt64 = 1 << 62

    /// Elements of a list that an index takes in of one record. A record of 1 MB may have 300,000, each an entry of
    /// some 22 bytes that costs a microsecond to make and another one to take out. A record with more is found by
    /// looking at it.
    package static let indexedElements = 8_192

    /// Words that an index takes in of one record: those of a text of 100,000 letters, a third of which are different
    /// ones.
    package static let indexedWords = 16_384

    /// Bytes of a record, older and newer version together, up to which a commit updates the indexes at once. A record
    /// of so many bytes has two thousand elements at most: some two milliseconds at worst, usually some microseconds.
    package static let promptIndexBytes = 4 * 1024

    /// Microseconds of work on indexes, about, that one commit does at once, before what else it changes has to wait.
    package static let promptIndexUnits = 2_000

    /// Bytes of records whose changes the indexes of a database have not taken over, above which a commit that would
    /// add much is refused: seconds of work at worst, and both versions are kept for as long. One zone's part of a
    /// request in a public database may change no more than that; in a private one the zone's indexes go instead.
    package static let pendingIndexBytes = 64 * 1024 * 1024

    /// Bytes beyond them, for requests of those who have little waiting: one request of somebody else may leave as much
    /// as there is room for.
    package static let pendingIndexReserveBytes = 64 * 1024 * 1024

    /// What counts as little: of a request, and of all that an account has waiting.
    package static let smallIndexBytes = 1024 * 1024

    /// The same for their number: each query looks at them one by one.
    package static let pendingIndexChanges = 16_384

    /// The most that a snapshot's header is believed to count towards a quota: a petabyte, so that sums over an
    /// account's databases stay numbers.
    static let quotaBytesOfSnapshot: UInt64 = 1 << 50

    /// Bytes of a file beside the store's that is checked with a folder: some hundred thousand accounts.
    package static let otherFileBytes = 256 * 1024 * 1024

    /// Bytes of an asset: a larger file is damaged, since nobody could have stored it. The checksums of such a one take
    /// 256 KiB of memory.
    package static let assetBytes: UInt64 = 64 * 1024 * 1024 * 1024

    /// Seconds that an asset is kept which no record names: a day, in which a save may still name it, and an operator
    /// may stop what deleted its records.
    package static let assetGraceSeconds: UInt32 = 24 * 60 * 60

    /// Bytes of an upload after which it is made durable: what a client may have to send again after a crash, a quarter
    /// of a second of a fast network. Each time costs three syncs.
    package static let uploadCheckpointBytes: UInt64 = 32 * 1024 * 1024

    /// Bytes of stored shares that one commit changes for users who leave them, and at most one share more: each is
    /// read twice and written, some 10 nanoseconds a byte each time.
    static let shareBytesLeftPerCommit = 512 * 1024

    /// Parts of a user in shared trees of a zone that ended while others stayed. Of older ones their devices are not
    /// told: they start over.
    static let endedPartsPerMember = 64

    /// Shared trees of a zone that ended, and whose records are still told as deleted.
    static let endedTreesPerZone = 1_000

    /// Entries of shared trees' feeds that one page looks at, before it ends with what it has.
    static let treeEntriesPerPage = 20_000

    /// Records and deletions up to which one page completes a commit that moved many: as many as a batch with what
    /// falls with it may have.
    static let treeItemsPerPage = 5_000

    /// Trees that are made ready for shares at a time.
    package static let preparedTreesPerDatabase = 4

    /// Records that may come into shared trees or leave them with what one request moves, or ends to share: they move
    /// in one piece, of some ten milliseconds. What it shares may be more where that was made ready:
    /// ``TreePreparation``.
    package static let movedRecordsPerRequest = 10_000

    /// Records and fields that one look for misplaced records goes over: some milliseconds.
    package static let encryptedRecordSteps = 10_000
}
