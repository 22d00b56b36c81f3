import BrumeModel
import BrumeProtocol
import BrumeTestKit

/// Bodies of the data folder with something in every place.
enum StoreSamples {
    static let privateDatabase = DatabaseID(
        container: "iCloud.com.example", environment: .production, scope: .private, owner: RecordSamples.userName)

    static var journalEntry: JournalEntry {
        JournalEntry(
            database: privateDatabase, sequence: .max, committedMilliseconds: -1,
            changes: [
                .recordPut(zone: 5, record: RecordSamples.storedRecord),
                .recordDeletion(zone: 5, name: "gone", type: "Note"), .zoneCreation(zone: 6, name: "New"),
                .zoneDeletion(zone: 4, name: "Old", reason: .purged), .subscriptionPut(MessageSamples.subscriptions[0]),
                .subscriptionDeletion(id: "a\0b", owner: ""),
                .sharedZoneAsked(AskedZone(owner: RecordSamples.userName, incarnation: .max)),
                .sharedZoneAnswered(AskedZone(owner: RecordSamples.userName, incarnation: 0)),
                .sharedZonePut(sharedZone), .sharedZoneEnd(sharedZone.id),
                .statement(number: .max, SharedBytes([0, 1, 255])),
                .statementsReplaced(replacedStatements), .statementsEnd,
                .ringEntry(zone: 7, root: "list", number: .max, SharedBytes([0, 3, 255])), .ringsEnd(zone: 8),
                .ringStatement(
                    zone: 7, user: RecordSamples.userName, number: .max, chain: 4, SharedBytes([0, 4, 255])),
                .ringChain(zone: .max, user: RecordSamples.userName, chain: .max),
                .ringGuest(zone: 7, root: "list", guest),
                .ringGuest(zone: 7, root: "", RingGuest(user: RecordSamples.userName, statementHash: [1])),
                .ringGuestEnd(zone: 7, root: "list", user: RecordSamples.userName),
                .ringUsersUnnamed(zone: .max, users: [RecordSamples.userName, "_b"]),
                .ringUsersNamed(zone: 7, users: []), .ringUsersEnd(zone: 7, users: [RecordSamples.userName]),
            ], operationID: MessageSamples.operationID, operationOutcome: [0, 1, 2],
            operationDigest: OperationDigest(front: 0x0102_0304_0506_0708, back: .max), operationUser: "_ada",
            run: 0xFEDC_BA98,
            clientToken: ClientTokenPut(
                token: ClientToken(device: MessageSamples.operationID, bytes: [0, 9]), zones: [5, 300]))
    }

    static let replacedStatements = ReplacedStatements(
        firstHash: (0..<32).map { $0 }, lastHash: [UInt8](repeating: 255, count: 32))!

    static let guest = RingGuest(
        user: RecordSamples.userName, statementHash: (0..<32).map { $0 },
        invitationID: [UInt8](repeating: 7, count: 16), proof: [UInt8](repeating: 255, count: 64))

    static let header = SnapshotHeader(
        database: privateDatabase, sequence: 9, recordCount: 1, tombstoneCount: 2, zoneCount: .max,
        zoneFeedFloor: ChangePosition(sequence: 3, index: 1), runs: [DatabaseRun(firstSequence: 1, id: 7)],
        formerSubscriberFloor: 5, quotaBytes: 6, sharedZoneFloor: ChangePosition(sequence: 4, index: 2))

    private static let sharedZone = SharedZone(
        id: ZoneID(name: "Theirs", owner: RecordSamples.userName), incarnation: 1 << 40,
        start: ChangePosition(sequence: 5, index: 0))

    static var block: SnapshotBlock {
        SnapshotBlock(
            zones: [
                SnapshotZone(
                    zone: 5, name: "Notes", lastChange: ChangePosition(sequence: 9, index: 1),
                    floor: ChangePosition(sequence: 2, index: 0),
                    clientTokens: [
                        ClientToken(device: MessageSamples.operationID, bytes: [0, 9]),
                        ClientToken(device: [], bytes: []),
                    ],
                    earlierDeletion: EarlierDeletion(position: ChangePosition(sequence: 1, index: 3), reason: .purged))
            ],
            records: [
                SnapshotRecord(
                    zone: 5, position: ChangePosition(sequence: 9, index: 1), record: RecordSamples.recordBytes)
            ],
            tombstones: [
                SnapshotTombstone(zone: 5, position: ChangePosition(sequence: 8, index: 0), name: "gone", type: "Note")
            ],
            deletedZones: [
                SnapshotDeletedZone(
                    position: ChangePosition(sequence: 7, index: 0), name: "Old", reason: .encryptedDataReset)
            ], subscriptions: MessageSamples.subscriptions,
            operations: [
                SnapshotOperation(id: MessageSamples.operationID, outcome: []),
                SnapshotOperation(
                    id: [1], outcome: [2], digest: OperationDigest(front: 1, back: 2), user: RecordSamples.userName),
            ],
            sharedZones: [
                SnapshotSharedZone(zone: sharedZone, position: ChangePosition(sequence: 6, index: 1), isEnded: false),
                SnapshotSharedZone(
                    zone: SharedZone(
                        id: ZoneID(name: "Gone", owner: RecordSamples.userName), incarnation: 0, start: .start),
                    position: ChangePosition(rawValue: .max), isEnded: true),
            ],
            askedZones: [
                AskedZone(owner: RecordSamples.userName, incarnation: 0),
                AskedZone(owner: RecordSamples.userName, incarnation: 1 << 40 | 7),
            ], statements: [SharedBytes([0, 9]), SharedBytes([255])], replacedStatements: [replacedStatements],
            ringEntries: [
                SnapshotRingEntry(zone: 5, root: "", entry: SharedBytes([1])),
                SnapshotRingEntry(zone: .max, root: "list", entry: SharedBytes([0, 2])),
            ],
            ringStatements: [
                SnapshotRingStatement(zone: 5, user: RecordSamples.userName, chain: 2, statement: SharedBytes([0, 5]))
            ],
            ringChains: [SnapshotRingChain(zone: .max, user: RecordSamples.userName, chain: 3)],
            ringGuests: [SnapshotRingGuest(zone: 5, root: "list", guest: guest)],
            ringUsersUnnamed: [SnapshotRingUsers(zone: .max, users: [RecordSamples.userName, "_b"])])
    }
}
