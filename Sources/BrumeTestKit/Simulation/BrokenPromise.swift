/// A promise that the simulation can break on purpose, on the disk, on the way between client and server, in what the
/// server is told or in what the operator does: to prove that its validators notice.
package enum BrokenPromise: String, CaseIterable, Sendable {
    /// A sync of the journal returns before anything is on the disk.
    case acknowledgesBeforeSync
    /// Pushes and reads leave before the sync; answers to writes wait for it.
    case publishesBeforeDurable
    /// A page of changes leaves out a deletion.
    case skipsTombstones
    /// A save is done whatever tag it carries.
    case ignoresTags
    /// An atomic batch is done as far as it can be.
    case ignoresAtomicity
    /// A fetch shows one of its zones as the fetch before did.
    case mixesReads
    /// "Fetch from your token" does not arrive.
    case dropsEventsOnOverflow
    /// A push of a query subscription does not arrive.
    case dropsQueryEvents
    /// A page of a query leaves out a match.
    case losesMatches
    /// A page of a query shows a match of the page before again.
    case repeatsMatches
    /// A query is answered with what another account's query found.
    case showsOthersMatches
    /// A query does not see the last commits that were acknowledged.
    case queriesThePast
    /// An operation that comes a second time is taken for a new one.
    case forgetsOperationIDs
    /// A start treats the last whole batch of the journal as torn.
    case cutsGoodTails
    /// A start cuts the journal at what it can't read.
    case repairsByCutting
    /// Names are never synced.
    case skipsDirectorySync
    /// A full disk says that all is well.
    case swallowsFullDisk
    /// A write is refused without a time to come back.
    case hidesRetryTime
    /// Tokens expire before they must.
    case expiresGoodTokens
    /// History has no limit.
    case keepsAllHistory
    /// What waits for devices that are away has no limit.
    case keepsAllEvents
    /// Segments of the journal stay when snapshots hold what is in them.
    case keepsSegments
    /// A server that ended stays in memory.
    case keepsEndedServers
    /// A deletion leaves the count of stored bytes as it was.
    case miscountsDeletions
    /// All runs of the server have one name, so that a restored folder goes on as if nothing had been lost.
    case reusesRuns
    /// A backup copies the snapshots that exist, and asks for none.
    case backsUpOldSnapshots
    /// The files of all assets go, also of those that records name.
    case losesAssets
    /// A record may name any asset that somebody uploaded.
    case ignoresReceipts
    /// A zone whose assets are encrypted takes plain ones.
    case takesPlainAssets
    /// What is encrypted goes by saves that do not say that their device has the keys.
    case takesEncrypted
    /// A page of an account's statements leaves out the last one.
    case hidesStatements
    /// Saves go on under the keys of rings of which a member takes part no more, or has other keys.
    case ignoresMembers
    /// Whoever joins a ring may bring anybody's statements as their own.
    case takesForeignStatements
    /// A guest of a ring may say of any link that they had it.
    case takesAnyProof
    /// A ring's entry may be boxed to keys of members that were replaced.
    case takesOldKeys
    /// A ring's entry may be of a member who only reads, or takes part no more.
    case takesReadersEntries
    /// Values of a zone's key come into its shared trees.
    case takesZoneKeys
    /// A page of a ring leaves out somebody who asks to be taken in.
    case hidesGuests
    /// A list of the records that are to be encrypted anew leaves out one of them.
    case hidesMisplaced
    /// A start forgets who asks to be taken into rings.
    case forgetsGuests
    /// A fetch of enrolments shows what the one before did.
    case showsOldEnrolments
    /// Sessions of a revoked token go on.
    case keepsRevokedSessions
    /// An operator's act is in no audit log.
    case actsWithoutNote
}
