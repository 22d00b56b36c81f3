/// One commit of one database: what the journal keeps and what recovery applies again.
package struct JournalEntry: Equatable, Sendable {
    package var database: DatabaseID
    package var sequence: UInt64
    package var committedMilliseconds: Int64
    /// The run of the server that wrote it; 0 in entries from before runs were told apart.
    package var run: UInt32
    /// The changes in the order of the feed; record changes are numbered from 0.
    package var changes: [Change]
    /// The 16 bytes that name the operation, or empty.
    package var operationID: [UInt8]
    /// What the operation did, which a retry is answered from: an ``OperationOutcome`` as the store encodes it. Empty
    /// where nothing is remembered.
    package var operationOutcome: [UInt8]
    /// The digest of the operation's request; nil in entries from before digests were kept.
    package var operationDigest: OperationDigest?
    /// The user who sent the operation, in a public database; empty in a private one, and in entries from before each
    /// user had a share of the remembered operations.
    package var operationUser: String
    /// What the request's device gets back with the feeds of the zones that changed.
    package var clientToken: ClientTokenPut?

    package init(
        database: DatabaseID, sequence: UInt64, committedMilliseconds: Int64, changes: [Change],
        operationID: [UInt8] = [], operationOutcome: [UInt8] = [], operationDigest: OperationDigest? = nil,
        operationUser: String = "", run: UInt32 = 0, clientToken: ClientTokenPut? = nil
    ) {
        self.database = database
        self.sequence = sequence
        self.committedMilliseconds = committedMilliseconds
        self.run = run
        self.changes = changes
        self.operationID = operationID
        self.operationOutcome = operationOutcome
        self.operationDigest = operationDigest
        self.operationUser = operationUser
        self.clientToken = clientToken
    }
}

/// One step of a commit. A zone is named by its incarnation; 0 is the default zone.
package enum Change: Equatable, Sendable {
    /// The encoded `brume.v1.Record`.
    case recordPut(zone: UInt64, record: SharedBytes)
    case recordDeletion(zone: UInt64, name: String, type: String)
    case zoneCreation(zone: UInt64, name: String)
    case zoneDeletion(zone: UInt64, name: String, reason: ZoneDeletionReason)
    case subscriptionPut(Subscription)
    /// The owner is empty in a private database.
    case subscriptionDeletion(id: String, owner: String)
    // Zones of other users, in the private database of a user who takes part in them.
    case sharedZoneAsked(AskedZone)
    case sharedZoneAnswered(AskedZone)
    case sharedZonePut(SharedZone)
    case sharedZoneEnd(ZoneID)
    // What the owner of a private database says of their keys and devices (Documentation/EncryptionFormats.md, 8).
    /// The statement of that number, which follows the one before.
    case statement(number: UInt32, SharedBytes)
    /// All of them go: a first one takes their place.
    case statementsReplaced(ReplacedStatements)
    /// All of them go, and what was known of those before.
    case statementsEnd
    // Who has keys of a zone, or of a shared tree in it (Documentation/EncryptionFormats.md, 10).
    /// The ring's entry of that number, which follows the one before. The root is empty for the zone's own ring.
    case ringEntry(zone: UInt64, root: String, number: UInt32, SharedBytes)
    /// The rings of a zone go, and the zone stays.
    case ringsEnd(zone: UInt64)
    // What is known beside a zone's rings of users who do not own it.
    /// The user's next statement there, of one of their chains. A chain that it begins is the one of their keys.
    case ringStatement(zone: UInt64, user: String, number: UInt32, chain: UInt32, SharedBytes)
    /// An earlier chain of a user is the one of their keys again.
    case ringChain(zone: UInt64, user: String, chain: UInt32)
    /// A user asks to be taken into a ring, in place of what they asked before.
    case ringGuest(zone: UInt64, root: String, RingGuest)
    case ringGuestEnd(zone: UInt64, root: String, user: String)
    /// No entry of the zone's rings has named these users yet, whose first statements came before.
    case ringUsersUnnamed(zone: UInt64, users: [String])
    /// An entry has named these users, and their statements stay as long as the zone's rings.
    case ringUsersNamed(zone: UInt64, users: [String])
    /// The statements of these users go, whom no entry has named, and what they asked of the zone's rings.
    case ringUsersEnd(zone: UInt64, users: [String])
}
