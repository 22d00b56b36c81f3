package import BrumeModel
internal import BrumeProtocol

/// Requests, answers and figures with something in every place, for tests of all messages.
package enum MessageSamples {
    package static let zone = ZoneID(name: "Notes", owner: "__defaultOwner__")

    package static let operationID = [UInt8](1...16)

    package static let ringRequest = FetchRingRequest(
        zone: ZoneID(name: "notes", owner: RecordSamples.userName), root: "list-1", after: 300)
    package static let ring = RingPage(
        entries: [SharedBytes([0, 9]), SharedBytes([255])], last: 300,
        guests: [
            RingGuest(
                user: RecordSamples.userName, statementHash: [UInt8](repeating: 7, count: Limits.ringEntryHashBytes),
                invitationID: operationID, proof: [UInt8](repeating: 8, count: Limits.ringProofBytes), mayWrite: true),
            RingGuest(user: RecordSamples.userName, statementHash: []),
        ], departed: [RecordSamples.userName, "_0"], renewed: ["_1"])
    package static let joinRequest = JoinRingRequest(
        zone: ringRequest.zone, root: "list-1", statements: [SharedBytes([1, 2]), SharedBytes([3])],
        invitationID: operationID, proof: [UInt8](repeating: 9, count: Limits.ringProofBytes))
    package static let ringStatementsRequest = FetchRingStatementsRequest(
        zone: ringRequest.zone, user: RecordSamples.userName, after: 300)
    package static let ringRootsRequest = FindRingRootsRequest(
        zone: ringRequest.zone, treeIDs: [operationID, operationID.reversed()])
    package static let misplacedRequest = ListMisplacedRecordsRequest(zone: ringRequest.zone, start: 300)
    package static let misplaced = MisplacedRecordsPage(names: ["a", "\u{e9}"], next: 301)
    package static let statements = StatementsPage(statements: [SharedBytes([0, 9]), SharedBytes([255])], last: 300)

    package static let enrolments = [
        RelayedEnrolment(id: operationID, messages: [[0, 9], [255]], millisecondsLeft: 599_999),
        RelayedEnrolment(id: operationID.reversed(), messages: [[7]], millisecondsLeft: 1),
    ]

    package static let stamp = EncryptedSamples.stamp()

    package static var modifyRequest: ModifyRecordsRequest<DecodedFields> {
        var fields: DecodedFields = RecordSamples.fields
        fields.updateValue(nil, forKey: "gone")
        var request = ModifyRecordsRequest(
            database: .private, savePolicy: .allKeys, isAtomic: false, operationID: operationID,
            zones: [
                ZoneModification(
                    zone: zone,
                    saves: [
                        RecordSave(
                            name: "a", type: "Note", changeTag: "1-1", parent: .set("p"), stamp: stamp, fields: fields),
                        RecordSave(name: "b", type: "Note", parent: .removed, replacesEncrypted: true, fields: [:]),
                        RecordSave(name: RecordSamples.userName, type: "Users", fields: [:]),
                    ], deletions: ["c", "d"]),
                ZoneModification(zone: .defaultZone, deletions: ["a"]),
            ], clientToken: [0, 1, 0xFF])
        request.zones[0].ringEntryHash = [UInt8](repeating: 5, count: Limits.ringEntryHashBytes)
        return request
    }

    package static var errorWithRecord: ServiceError {
        ServiceError(
            .serverRecordChanged, "someone else was faster; merge and save again", retryAfterMilliseconds: 7,
            serverRecord: RecordSamples.recordBytes)
    }

    package static let error = ServiceError(
        .zoneNotFound, "no such zone; é", retryAfterMilliseconds: .max, detail: .encryptedDataReset)

    package static var notificationInfo: NotificationInfo {
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

    package static var subscriptions: [Subscription] {
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

extension MessageSamples {
    /// Figures with a different number in each place.
    package static var figures: ServerFigures {
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
        figures.assets.transfers = Int(number())
        figures.assets.uploads = number()
        figures.assets.uploadedBytes = number()
        figures.assets.downloads = number()
        figures.assets.downloadedBytes = number()
        figures.assets.removedFiles = number()
        figures.assets.namedBytes = number()
        figures.assets.pendingBytes = number()
        figures.assets.unneededBytes = number()
        figures.memory.databaseBytes = Int(number())
        figures.memory.backlogBytes = Int(number())
        figures.memory.heldAnswerBytes = Int(number())
        figures.memory.waitingCallBytes = Int(number())
        figures.memory.undurableBytes = Int(number())
        figures.memory.residentBytes = Int(number())
        return figures
    }
}
