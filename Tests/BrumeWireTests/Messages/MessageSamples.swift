import BrumeModel
import BrumeWire

/// Values of every kind and every extreme, for tests of all messages.
enum MessageSamples {
    static let values: [FieldValue] = [
        .string(""), .string("a\0b"), .string("é 🍎\n"), .string(String(repeating: "x", count: 300)),
        .int64(.min), .int64(.max), .int64(0), .int64(-1), .double(-0.0), .double(.greatestFiniteMagnitude),
        .double(.infinity), .double(.leastNonzeroMagnitude), .bytes([]), .bytes([0, 1, 255]), .date(0), .date(-0.0),
        .date(-62_135_769_600), .date(1e15), .location(Location(latitude: -90, longitude: 180)),
        .location(
            Location(
                latitude: 48.2, longitude: 16.37, altitude: 171.5, horizontalAccuracy: 5, verticalAccuracy: 3,
                course: 359.9, speed: 1.25, timestamp: 8e8)),
        .reference(Reference(recordName: "target", deletesSelf: true)),
        .reference(Reference(recordName: userName, deletesSelf: false)), .strings(["", "a\0", "b"]),
        .int64s([.min, 0, .max]), .doubles([-0.0, 1.5]), .bytesList([[], [1]]), .dates([0, -1.5]),
        .locations([Location(latitude: 0, longitude: 0), Location(latitude: 1, longitude: 2)]),
        .references([Reference(recordName: "a", deletesSelf: false), Reference(recordName: "b", deletesSelf: true)]),
        .emptyList,
    ]

    static let userName = "_0123456789abcdef0123456789abcdef"

    static var fields: [String: FieldValue] {
        Dictionary(uniqueKeysWithValues: values.enumerated().map { ("field_\($0.offset)", $0.element) })
    }

    static let system = SystemFields(
        name: "record-1", type: "Note", changeTag: "1-2x", creator: userName, createdMilliseconds: 1_700_000_000_000,
        modifier: userName, modifiedMilliseconds: -1, parent: "parent-1")

    static var encodedFields: [EncodedField] {
        fields.sorted { $0.key < $1.key }.map { StoredRecord.encodeField(key: $0.key, value: $0.value) }
    }

    static var recordBytes: [UInt8] { StoredRecord.encode(system, fields: encodedFields) }
    static var storedRecord: SharedBytes { SharedBytes(recordBytes) }

    static var record: Record { Record(system: system, fields: fields) }

    static let zone = ZoneID(name: "Notes", owner: "__defaultOwner__")

    static let operationID = [UInt8](1...16)

    static var modifyRequest: ModifyRecordsRequest<DecodedFields> {
        var fields: DecodedFields = Self.fields
        fields.updateValue(nil, forKey: "gone")
        return ModifyRecordsRequest(
            database: .private, savePolicy: .allKeys, isAtomic: false, operationID: operationID,
            zones: [
                ZoneModification(
                    zone: zone,
                    saves: [
                        RecordSave(name: "a", type: "Note", changeTag: "1-1", parent: .set("p"), fields: fields),
                        RecordSave(name: "b", type: "Note", parent: .removed, fields: [:]),
                        RecordSave(name: userName, type: "Users", fields: [:]),
                    ], deletions: ["c", "d"]),
                ZoneModification(zone: .defaultZone, deletions: ["a"]),
            ], clientToken: [0, 1, 0xFF])
    }

    static var errorWithRecord: ServiceError {
        ServiceError(
            .serverRecordChanged, "someone else was faster; merge and save again", retryAfterMilliseconds: 7,
            serverRecord: recordBytes)
    }

    static let error = ServiceError(
        .zoneNotFound, "no such zone; é", retryAfterMilliseconds: .max, detail: .encryptedDataReset)

    static var notificationInfo: NotificationInfo {
        var info = NotificationInfo()
        info.alertBody = "a\0b"
        info.alertLocalizationKey = "k1"
        info.alertLocalizationArgs = ["x", ""]
        info.title = "t"
        info.titleLocalizationKey = "k2"
        info.titleLocalizationArgs = ["y"]
        info.subtitle = "s"
        info.subtitleLocalizationKey = "k3"
        info.subtitleLocalizationArgs = ["z"]
        info.alertActionLocalizationKey = "k4"
        info.alertLaunchImage = "image"
        info.soundName = "ping"
        info.desiredKeys = ["one", "two", "three"]
        info.shouldBadge = true
        info.shouldSendContentAvailable = true
        info.shouldSendMutableContent = true
        info.category = "c"
        info.collapseIDKey = "i"
        return info
    }

    static var subscriptions: [Subscription] {
        [
            Subscription(
                id: "all\0é", kind: .zone(zone, recordType: "Note"), notificationInfo: notificationInfo),
            Subscription(id: "db", kind: .database(recordType: "")),
            Subscription(
                id: "query",
                kind: .query(
                    QuerySubscription(
                        recordType: "Note",
                        predicate: .and([
                            .comparison(.field("title"), .beginsWith, .string("B\0")),
                            .not(
                                .isIn(
                                    .parent, [.reference(Reference(recordName: "up", deletesSelf: false))])
                            ),
                        ]), options: [.update, .once], zone: zone))),
        ]
    }
}

extension Array<UInt8> {
    /// The value that a decoder makes of these bytes.
    func decoded<Value, Failure: Error>(
        _ decode: (UnsafeRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        // A copy of exactly this size, so that a checker of memory sees a read behind its end.
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
        defer { copy.deallocate() }
        copy.copyBytes(from: self)
        return try decode(UnsafeRawBufferPointer(copy))
    }
}

extension MessageSamples {
    /// Another number in each place.
    static var figures: ServerFigures {
        var next: UInt64 = 0
        func number() -> UInt64 {
            next += 1
            return next * 1_000_003
        }
        func histogram() -> Histogram {
            var histogram = Histogram()
            for shift in 0..<20 { histogram.record(number() << UInt64(shift)) }
            return histogram
        }
        var figures = ServerFigures()
        figures.health = HealthStatus(
            isServing: false, uptimeMilliseconds: number(), isDiskFull: true, isDamageFound: true)
        figures.loops = 3
        figures.cpuNanoseconds = number()
        for method in Method.names.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            var method = MethodFigures(method: method.rawValue, name: method.name)
            method.ended = number()
            method.cancelled = number()
            method.failures = [.zoneNotFound: number(), .internalError: number()]
            method.latencyNanoseconds = histogram()
            figures.methods.append(method)
        }
        figures.refusedCalls = number()
        figures.openCalls = Int(number())
        figures.itemFailures = [.serverRecordChanged: number(), ErrorCode(rawValue: -7): number()]
        figures.commits = number()
        figures.changes = number()
        figures.connections.open = Int(number())
        figures.connections.accepted = number()
        figures.connections.welcomed = number()
        figures.connections.refused = number()
        figures.push.streams = Int(number())
        figures.push.sent = number()
        figures.push.published = number()
        figures.push.lagNanoseconds = histogram()
        figures.push.missed = number()
        figures.push.backlogEvents = Int(number())
        figures.journal.syncNanoseconds = histogram()
        figures.journal.batchEntries = histogram()
        figures.journal.batchBytes = histogram()
        figures.journal.segments = 5
        figures.databases.loaded = Int(number())
        figures.databases.loading = Int(number())
        figures.databases.loads = number()
        figures.databases.drops = number()
        figures.databases.runningQueries = Int(number())
        figures.databases.snapshots = number()
        figures.databases.snapshotBytes = number()
        figures.memory.databaseBytes = Int(number())
        figures.memory.backlogBytes = Int(number())
        figures.memory.heldAnswerBytes = Int(number())
        figures.memory.waitingCallBytes = Int(number())
        figures.memory.undurableBytes = Int(number())
        figures.memory.residentBytes = Int(number())
        return figures
    }
}
