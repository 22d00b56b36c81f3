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
            ], operationID: MessageSamples.operationID, operationOutcome: [0, 1, 2],
            operationDigest: OperationDigest(front: 0x0102_0304_0506_0708, back: .max), operationUser: "_ada",
            run: 0xFEDC_BA98,
            clientToken: ClientTokenPut(
                token: ClientToken(device: MessageSamples.operationID, bytes: [0, 9]), zones: [5, 300]))
    }

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
            ])
    }
}
