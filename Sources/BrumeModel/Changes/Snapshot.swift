/// The first block of a snapshot: which database it holds, and how much follows.
package struct SnapshotHeader: Equatable, Sendable {
    package var database: DatabaseID
    /// The sequence of the last commit that the snapshot includes.
    package var sequence: UInt64
    package var recordCount: UInt64
    package var tombstoneCount: UInt64
    package var zoneCount: UInt64
    /// Tokens of the database's feed below it have expired.
    package var zoneFeedFloor: ChangePosition
    /// Oldest first; empty in snapshots from before runs were told apart.
    package var runs: [DatabaseRun]
    /// Former subscribers who left up to this commit are not in the snapshot.
    package var formerSubscriberFloor: UInt64
    /// What quotas count. Snapshots of earlier versions have 0, whatever they hold.
    package var quotaBytes: UInt64
    /// Tokens of the feed of other users' zones below it have expired.
    package var sharedZoneFloor: ChangePosition

    package init(
        database: DatabaseID, sequence: UInt64, recordCount: UInt64 = 0, tombstoneCount: UInt64 = 0,
        zoneCount: UInt64 = 0, zoneFeedFloor: ChangePosition = .start, runs: [DatabaseRun] = [],
        formerSubscriberFloor: UInt64 = 0, quotaBytes: UInt64 = 0, sharedZoneFloor: ChangePosition = .start
    ) {
        self.database = database
        self.sequence = sequence
        self.recordCount = recordCount
        self.tombstoneCount = tombstoneCount
        self.zoneCount = zoneCount
        self.zoneFeedFloor = zoneFeedFloor
        self.runs = runs
        self.formerSubscriberFloor = formerSubscriberFloor
        self.quotaBytes = quotaBytes
        self.sharedZoneFloor = sharedZoneFloor
    }
}

/// A zone that exists, named by its incarnation; 0 is the default zone.
package struct SnapshotZone: Equatable, Sendable {
    package var zone: UInt64
    package var name: String
    /// Where the last change in the zone stands.
    package var lastChange: ChangePosition
    /// Tokens below it have expired.
    package var floor: ChangePosition
    /// The zone's client tokens, the least recently changed first.
    package var clientTokens: [ClientToken]
    /// The deletion of the zone that had the name before; nil when there was none, or the feed does not report it.
    package var earlierDeletion: EarlierDeletion?

    package init(
        zone: UInt64, name: String, lastChange: ChangePosition, floor: ChangePosition, clientTokens: [ClientToken] = [],
        earlierDeletion: EarlierDeletion? = nil
    ) {
        self.zone = zone
        self.name = name
        self.lastChange = lastChange
        self.floor = floor
        self.clientTokens = clientTokens
        self.earlierDeletion = earlierDeletion
    }
}

/// A record and its place in its zone's feed.
package struct SnapshotRecord: Equatable, Sendable {
    package var zone: UInt64
    package var position: ChangePosition
    /// The position of the change that created the record.
    package var created: ChangePosition
    /// The encoded `brume.v1.Record`.
    package var record: [UInt8]
    /// The number of the shared tree that it is in; 0 for none.
    package var tree: UInt32
    /// Where it came into the tree; ``ChangePosition/start`` where its creation or the tree's beginning says it.
    package var entered: ChangePosition

    /// - Parameter created: The position of the record's creation; nil when the record has not changed since.
    package init(
        zone: UInt64, position: ChangePosition, created: ChangePosition? = nil, record: [UInt8], tree: UInt32 = 0,
        entered: ChangePosition = .start
    ) {
        self.tree = tree
        self.entered = entered
        self.zone = zone
        self.position = position
        self.created = created ?? position
        self.record = record
    }
}

/// A deleted record that feeds still report.
package struct SnapshotTombstone: Equatable, Sendable {
    package var zone: UInt64
    package var position: ChangePosition
    package var name: String
    package var type: String

    package init(zone: UInt64, position: ChangePosition, name: String, type: String) {
        self.zone = zone
        self.position = position
        self.name = name
        self.type = type
    }
}

/// A deleted zone that the database's feed still reports.
package struct SnapshotDeletedZone: Equatable, Sendable {
    package var position: ChangePosition
    package var name: String
    package var reason: ZoneDeletionReason

    package init(position: ChangePosition, name: String, reason: ZoneDeletionReason) {
        self.position = position
        self.name = name
        self.reason = reason
    }
}

/// A remembered operation: its id, and what a retry is answered from.
package struct SnapshotOperation: Equatable, Sendable {
    package var id: [UInt8]
    /// An ``OperationOutcome`` as the store encodes it.
    package var outcome: [UInt8]
    /// The digest of its request; nil for an operation from before digests were kept.
    package var digest: OperationDigest?
    /// The user who sent it, in a public database; empty in a private one.
    package var user: String

    package init(id: [UInt8], outcome: [UInt8], digest: OperationDigest? = nil, user: String = "") {
        self.id = id
        self.outcome = outcome
        self.digest = digest
        self.user = user
    }
}

/// A user of a public database who no longer has a subscription, and the commit that removed the last one.
package struct SnapshotFormerSubscriber: Equatable, Sendable {
    package var user: String
    package var sequence: UInt64

    package init(user: String, sequence: UInt64) {
        self.user = user
        self.sequence = sequence
    }
}

/// A zone of another user that came or went in the shared database of a private database's owner.
package struct SnapshotSharedZone: Equatable, Sendable {
    package var zone: SharedZone
    /// The position of that change.
    package var position: ChangePosition
    package var isEnded: Bool
    /// The position at which an earlier part in a zone of the name ended; ``ChangePosition/start`` if there was none.
    package var earlierEnd: ChangePosition

    package init(
        zone: SharedZone, position: ChangePosition, isEnded: Bool, earlierEnd: ChangePosition = .start
    ) {
        self.zone = zone
        self.position = position
        self.isEnded = isEnded
        self.earlierEnd = earlierEnd
    }
}

/// The records that a share covers.
package struct SnapshotTree: Equatable, Sendable {
    package var zone: UInt64
    package var number: UInt32
    /// The name of the share's record.
    package var share: String
    package var since: ChangePosition
    /// Tokens below it have expired.
    package var departureFloor: ChangePosition
    package var isEnded: Bool

    package init(
        zone: UInt64, number: UInt32, share: String, since: ChangePosition, departureFloor: ChangePosition,
        isEnded: Bool
    ) {
        self.zone = zone
        self.number = number
        self.share = share
        self.since = since
        self.departureFloor = departureFloor
        self.isEnded = isEnded
    }
}

/// A user with whom trees of a zone are shared.
package struct SnapshotTreeMember: Equatable, Sendable {
    package struct EndedPart: Equatable, Sendable {
        package var tree: UInt32
        package var acceptance: ChangePosition
        package var end: ChangePosition

        package init(tree: UInt32, acceptance: ChangePosition, end: ChangePosition) {
            self.tree = tree
            self.acceptance = acceptance
            self.end = end
        }
    }

    package var zone: UInt64
    package var user: String
    package var start: ChangePosition
    /// Tokens below it have expired.
    package var floor: ChangePosition
    package var ended: [EndedPart]

    package init(zone: UInt64, user: String, start: ChangePosition, floor: ChangePosition, ended: [EndedPart]) {
        self.zone = zone
        self.user = user
        self.start = start
        self.floor = floor
        self.ended = ended
    }
}

/// A record that left a shared tree.
package struct SnapshotDeparture: Equatable, Sendable {
    package var zone: UInt64
    package var tree: UInt32
    package var position: ChangePosition
    package var entered: ChangePosition
    package var name: String
    package var type: String

    package init(
        zone: UInt64, tree: UInt32, position: ChangePosition, entered: ChangePosition, name: String, type: String
    ) {
        self.zone = zone
        self.tree = tree
        self.position = position
        self.entered = entered
        self.name = name
        self.type = type
    }
}

/// An entry of a ring.
package struct SnapshotRingEntry: Equatable, Sendable {
    /// The zone's incarnation.
    package var zone: UInt64
    /// Empty for the zone's own ring.
    package var root: String
    package var entry: SharedBytes

    package init(zone: UInt64, root: String, entry: SharedBytes) {
        self.zone = zone
        self.root = root
        self.entry = entry
    }
}

/// A statement of a user beside the rings of a zone that somebody else owns.
package struct SnapshotRingStatement: Equatable, Sendable {
    /// The zone's incarnation.
    package var zone: UInt64
    package var user: String
    /// Which of the user's chains it is of, from 1.
    package var chain: UInt32
    package var statement: SharedBytes

    package init(zone: UInt64, user: String, chain: UInt32, statement: SharedBytes) {
        self.zone = zone
        self.user = user
        self.chain = chain
        self.statement = statement
    }
}

/// The chain of a user's keys, where it is not the one that began last.
package struct SnapshotRingChain: Equatable, Sendable {
    package var zone: UInt64
    package var user: String
    package var chain: UInt32

    package init(zone: UInt64, user: String, chain: UInt32) {
        self.zone = zone
        self.user = user
        self.chain = chain
    }
}

/// The users with statements beside the rings of a zone whom no entry of these has named.
package struct SnapshotRingUsers: Equatable, Sendable {
    package var zone: UInt64
    package var users: [String]

    package init(zone: UInt64, users: [String]) {
        self.zone = zone
        self.users = users
    }
}

/// A user who asks to be taken into a ring.
package struct SnapshotRingGuest: Equatable, Sendable {
    package var zone: UInt64
    /// Empty for the zone's own ring.
    package var root: String
    package var guest: RingGuest

    package init(zone: UInt64, root: String, guest: RingGuest) {
        self.zone = zone
        self.root = root
        self.guest = guest
    }
}

/// A later block of a snapshot: any part of the database's content, in the order of feeds.
package struct SnapshotBlock: Equatable, Sendable {
    package var zones: [SnapshotZone]
    package var records: [SnapshotRecord]
    package var tombstones: [SnapshotTombstone]
    package var deletedZones: [SnapshotDeletedZone]
    package var subscriptions: [Subscription]
    package var operations: [SnapshotOperation]
    package var formerSubscribers: [SnapshotFormerSubscriber]
    /// In the order of their positions, also from block to block.
    package var sharedZones: [SnapshotSharedZone]
    package var askedZones: [AskedZone]
    package var trees: [SnapshotTree]
    package var treeMembers: [SnapshotTreeMember]
    /// Those of one tree stand in the order of their positions, also from block to block.
    package var departures: [SnapshotDeparture]
    /// In the order of their numbers, from 1, also from block to block.
    package var statements: [SharedBytes]
    package var replacedStatements: [ReplacedStatements]
    /// Those of one ring stand in the order of their numbers, from 1, also from block to block.
    package var ringEntries: [SnapshotRingEntry]
    /// In the order in which they were kept, also from block to block.
    package var ringStatements: [SnapshotRingStatement]
    package var ringChains: [SnapshotRingChain]
    package var ringGuests: [SnapshotRingGuest]
    package var ringUsersUnnamed: [SnapshotRingUsers]

    package init(
        zones: [SnapshotZone] = [], records: [SnapshotRecord] = [], tombstones: [SnapshotTombstone] = [],
        deletedZones: [SnapshotDeletedZone] = [], subscriptions: [Subscription] = [],
        operations: [SnapshotOperation] = [], formerSubscribers: [SnapshotFormerSubscriber] = [],
        sharedZones: [SnapshotSharedZone] = [], askedZones: [AskedZone] = [], trees: [SnapshotTree] = [],
        treeMembers: [SnapshotTreeMember] = [], departures: [SnapshotDeparture] = [], statements: [SharedBytes] = [],
        replacedStatements: [ReplacedStatements] = [], ringEntries: [SnapshotRingEntry] = [],
        ringStatements: [SnapshotRingStatement] = [], ringChains: [SnapshotRingChain] = [],
        ringGuests: [SnapshotRingGuest] = [], ringUsersUnnamed: [SnapshotRingUsers] = []
    ) {
        self.zones = zones
        self.records = records
        self.tombstones = tombstones
        self.deletedZones = deletedZones
        self.subscriptions = subscriptions
        self.operations = operations
        self.formerSubscribers = formerSubscribers
        self.sharedZones = sharedZones
        self.askedZones = askedZones
        self.trees = trees
        self.treeMembers = treeMembers
        self.departures = departures
        self.statements = statements
        self.replacedStatements = replacedStatements
        self.ringEntries = ringEntries
        self.ringStatements = ringStatements
        self.ringChains = ringChains
        self.ringGuests = ringGuests
        self.ringUsersUnnamed = ringUsersUnnamed
    }
}
