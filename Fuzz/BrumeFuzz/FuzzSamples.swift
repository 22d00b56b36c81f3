internal import BrumeModel
internal import BrumeRecord
internal import BrumeStore
internal import BrumeTestKit

/// Values with something in every place, for the corpus to start with.
enum FuzzSamples {
    static let database = DatabaseID(
        container: "iCloud.fuzz", environment: .development, scope: .private, owner: "_u")
    static let zone = ZoneID(name: "Notes", owner: "__defaultOwner__")
    static let operationID = [UInt8](1...16)

    private static let plainValues: [FieldValue] = [
        .string("a\0b é"), .int64(.min), .double(-0.0), .bytes([0, 255]), .date(-1.5),
        .location(Location(latitude: 48.2, longitude: 16.37)),
        .reference(Reference(recordName: "r1", deletesSelf: true)), .strings(["", "b"]), .int64s([0, .max]),
        .doubles([1.5]), .bytesList([[], [1]]), .dates([0]), .locations([Location(latitude: 0, longitude: 0)]),
        .references([Reference(recordName: "r1", deletesSelf: true)]), .emptyList,
    ]

    private static let assets: [FieldValue] = {
        let (one, other) = (RecordSamples.asset(1, byteCount: 5), RecordSamples.asset(2, byteCount: 136))
        return [
            .asset(one), .assets([one, other]), EncryptedSamples.asset(one), EncryptedSamples.assets([one, other]),
        ]
    }()

    static let values = plainValues + EncryptedSamples.kinds.map { EncryptedSamples.value($0) } + assets

    static var modifyRequest: ModifyRecordsRequest<DecodedFields> {
        var fields: DecodedFields = [:]
        for (index, value) in values.enumerated() { fields["field_\(index)"] = value }
        fields.updateValue(nil, forKey: "gone")
        return ModifyRecordsRequest(
            database: .private, savePolicy: .allKeys, isAtomic: false, operationID: operationID,
            zones: [
                ZoneModification(
                    zone: zone,
                    saves: [
                        RecordSave(name: "a", type: "Note", changeTag: "1-1", parent: .set("p"), fields: fields),
                        RecordSave(name: "b", type: "Note", parent: .removed, fields: [:]),
                    ], deletions: ["c"])
            ])
    }

    /// With every kind of term, key and sort descriptor.
    static var queryRequest: QueryRequest {
        let reference = FieldValue.reference(Reference(recordName: "__defaultOwner__", deletesSelf: false))
        let predicate = Predicate.and([
            .or([.constant(true), .not(.comparison(.field("title"), .beginsWith, .string("é")))]), .and([]),
            .between(.creationDate, .date(-1.5), .date(2)), .isIn(.field("n"), [.int64(1), .double(0.5), .bytes([0])]),
            .anyElement(.field("tags"), .equal, .string("x")), .anyElementIsIn(.field("tags"), [.string("y")]),
            .text("two words", .allWords), .comparison(.creatorUserRecordID, .notEqual, reference),
            .distance(.field("place"), latitude: 48.2, longitude: 16.4, metres: 100, isInclusive: true),
        ])
        return QueryRequest(
            database: .private, zone: zone,
            query: Query(
                recordType: "Note", predicate: predicate,
                sortDescriptors: [
                    QuerySort(key: .field("title"), isAscending: false),
                    QuerySort(key: .field("place"), relativeTo: .init(latitude: 1, longitude: 2)),
                    QuerySort(key: .modificationDate),
                ]), cursor: [1, 2, 3], resultsLimit: 7, desiredKeys: ["k"])
    }

    static var record: [UInt8] { record("r1", sequence: 2) }

    private static func record(_ name: String, sequence: UInt64) -> [UInt8] {
        StoredRecord.encode(
            SystemFields(
                name: name, type: "Note", changeTag: ChangeTag(number: sequence).text, creator: "_u",
                createdMilliseconds: 1_700_000_000_000,
                modifier: "_u", modifiedMilliseconds: -1, parent: nil),
            fields: values.enumerated().map { StoredRecord.encodeField(key: "field_\($0.offset)", value: $0.element) })
    }

    static let error = ServiceError(.zoneNotFound, "no such zone; é", retryAfterMilliseconds: 7)

    static let subscriptions = [
        Subscription(id: "all\0é", kind: .zone(zone, recordType: "Note"), notificationInfo: NotificationInfo()),
        Subscription(id: "db", kind: .database(recordType: "")),
    ]

    /// The first zone that is made, by the first commit.
    private static let incarnation = ChangePosition(sequence: 1, index: 0).rawValue

    /// The three commits of a small database, encoded.
    static func journalEntry(_ sequence: Int) -> [UInt8] {
        let changes: [Change] =
            switch sequence {
            case 1: [.zoneCreation(zone: incarnation, name: zone.name)]
            case 2:
                [
                    .recordPut(zone: incarnation, record: SharedBytes(record("r1", sequence: 2))),
                    .recordPut(zone: 0, record: SharedBytes(record("r2", sequence: 2))),
                    .subscriptionPut(subscriptions[0]),
                ]
            default:
                [
                    .recordPut(zone: incarnation, record: SharedBytes(record("r3", sequence: 3))),
                    .recordDeletion(zone: incarnation, name: "r1", type: "Note"),
                    .subscriptionDeletion(id: subscriptions[0].id, owner: ""),
                ]
            }
        var bytes: [UInt8] = []
        StoreCoder.encodeJournalEntry(
            JournalEntry(
                database: database, sequence: UInt64(sequence), committedMilliseconds: 1, changes: changes,
                operationID: operationID, operationOutcome: [1, 2]), into: &bytes)
        return bytes
    }

    static var firstBlock: SnapshotBlock {
        SnapshotBlock(
            zones: [
                SnapshotZone(zone: 0, name: Names.defaultZone, lastChange: .start, floor: .start),
                SnapshotZone(
                    zone: incarnation, name: zone.name, lastChange: ChangePosition(sequence: 3, index: 1), floor: .start
                ),
            ],
            deletedZones: [
                SnapshotDeletedZone(position: ChangePosition(sequence: 2, index: 9), name: "Old", reason: .purged)
            ], subscriptions: subscriptions, operations: [SnapshotOperation(id: operationID, outcome: [1])])
    }

    static var secondBlock: SnapshotBlock {
        SnapshotBlock(
            records: [
                SnapshotRecord(
                    zone: incarnation, position: ChangePosition(sequence: 2, index: 0),
                    record: record("r1", sequence: 2))
            ],
            tombstones: [
                SnapshotTombstone(
                    zone: incarnation, position: ChangePosition(sequence: 3, index: 1), name: "gone", type: "Note")
            ])
    }
}
