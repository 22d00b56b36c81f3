import BrumeModel
import BrumeProtocol
import BrumeRecord
import BrumeTestKit
import Testing

/// Bytes from outside are refused or understood; they never crash, read past their end, or take memory without limit.
struct HostileBytesTests {
    /// Every message that a peer sends, and what reads it.
    private static func messages(_ coder: MessageCoder) -> [HostileBytes] {
        let record = RecordSamples.storedRecord
        let zone = Zone(id: MessageSamples.zone, capabilities: .custom)
        let changes = ZoneChangesPage(
            records: [record], deletions: [DeletedRecord(name: "d", type: "T")], token: [1] as [UInt8], moreComing: true
        )
        let databaseChanges = DatabaseChangesPage(
            changed: [zone.id], deletions: [.init(zone: zone.id, reason: .purged)], token: [1] as [UInt8],
            moreComing: true)
        let event = NotificationEvent(
            position: [1], notificationID: "n", subscriptionID: "s", notificationInfo: MessageSamples.notificationInfo,
            kind: .zoneChanged(zone.id), committedMilliseconds: 1)
        let hello = Hello(
            clientVersion: "v", deviceID: MessageSamples.operationID, container: "c", environment: .production,
            credentials: .account("token"))
        let account = Account(name: "a", email: "e", createdMilliseconds: 1, tokens: 1, userRecordName: "u")
        let results = [
            ZoneModificationResult(
                saves: [
                    SaveResult(outcome: .record(record)), SaveResult(outcome: .failure(MessageSamples.errorWithRecord)),
                ], deletions: [nil, MessageSamples.error])
        ]
        return [
            HostileBytes(
                coder.encodeModifyRecordsRequest(MessageSamples.modifyRequest),
                { _ = try coder.decodeModifyRecordsRequest($0) }
            ),
            HostileBytes(coder.encodeModifyRecordsResponse(results), { _ = try coder.decodeModifyRecordsResponse($0) }),
            HostileBytes(
                coder.encodeFetchRecordsRequest(
                    FetchRecordsRequest(
                        database: .public, zones: [.init(zone: .defaultZone, names: ["a"])], desiredKeys: ["k"])),
                { _ = try coder.decodeFetchRecordsRequest($0) }
            ),
            HostileBytes(
                coder.encodeFetchRecordsResponse([[.record(record), .failure(MessageSamples.error), .deferred]]),
                { _ = try coder.decodeFetchRecordsResponse($0) }
            ),
            HostileBytes(coder.encodeZoneChangesResponse(changes), { _ = try coder.decodeZoneChangesResponse($0) }),
            HostileBytes(
                coder.encodeDatabaseChangesResponse(databaseChanges),
                { _ = try coder.decodeDatabaseChangesResponse($0) }),
            HostileBytes(
                coder.encodeModifyZonesRequest(ModifyZonesRequest(database: .private, saves: [zone.id])),
                { _ = try coder.decodeModifyZonesRequest($0) }
            ),
            HostileBytes(
                coder.encodeModifyZonesResponse(
                    ModifyZonesResult(saves: [.success(zone), .failure(MessageSamples.error)], deletions: [nil])),
                { _ = try coder.decodeModifyZonesResponse($0) }
            ),
            HostileBytes(
                coder.encodeModifySubscriptionsRequest(
                    ModifySubscriptionsRequest(
                        database: .private, saves: MessageSamples.subscriptions, deletions: ["x"])),
                { _ = try coder.decodeModifySubscriptionsRequest($0) }
            ),
            HostileBytes(
                coder.encodeListSubscriptionsResponse(MessageSamples.subscriptions),
                { _ = try coder.decodeListSubscriptionsResponse($0) }
            ),
            HostileBytes(
                coder.encodeAppendStatementRequest(
                    AppendStatementRequest(
                        statement: SharedBytes([1, 2, 3]), replacedHash: [UInt8](repeating: 4, count: 32))),
                { _ = try coder.decodeAppendStatementRequest($0) }
            ),
            HostileBytes(
                coder.encodeFetchStatementsRequest(after: 300), { _ = try coder.decodeFetchStatementsRequest($0) }),
            HostileBytes(
                coder.encodeFetchStatementsResponse(MessageSamples.statements),
                { _ = try coder.decodeFetchStatementsResponse($0) }
            ),
            HostileBytes(
                coder.encodeAppendRingEntryRequest(
                    AppendRingEntryRequest(
                        zone: MessageSamples.ringRequest.zone, entry: SharedBytes([1, 2, 3]),
                        statements: [SharedBytes([4, 5])])),
                { _ = try coder.decodeAppendRingEntryRequest($0) }
            ),
            HostileBytes(
                coder.encodeFetchRingRequest(MessageSamples.ringRequest),
                { _ = try coder.decodeFetchRingRequest($0) }
            ),
            HostileBytes(
                coder.encodeFetchRingResponse(MessageSamples.ring), { _ = try coder.decodeFetchRingResponse($0) }
            ),
            HostileBytes(
                coder.encodeJoinRingRequest(MessageSamples.joinRequest), { _ = try coder.decodeJoinRingRequest($0) }
            ),
            HostileBytes(
                coder.encodeFetchRingStatementsRequest(MessageSamples.ringStatementsRequest),
                { _ = try coder.decodeFetchRingStatementsRequest($0) }
            ),
            HostileBytes(
                coder.encodeFetchRingStatementsResponse(MessageSamples.statements),
                { _ = try coder.decodeFetchRingStatementsResponse($0) }
            ),
            HostileBytes(
                coder.encodeFindRingRootsRequest(MessageSamples.ringRootsRequest),
                { _ = try coder.decodeFindRingRootsRequest($0) }
            ),
            HostileBytes(
                coder.encodeFindRingRootsResponse(["a", "b"]), { _ = try coder.decodeFindRingRootsResponse($0) }
            ),
            HostileBytes(
                coder.encodeListMisplacedRecordsRequest(MessageSamples.misplacedRequest),
                { _ = try coder.decodeListMisplacedRecordsRequest($0) }
            ),
            HostileBytes(
                coder.encodeListMisplacedRecordsResponse(MessageSamples.misplaced),
                { _ = try coder.decodeListMisplacedRecordsResponse($0) }
            ),
            HostileBytes(
                coder.encodePostEnrolmentRequest(
                    PostEnrolmentRequest(id: MessageSamples.operationID, step: 4, message: [1, 2, 3])),
                { _ = try coder.decodePostEnrolmentRequest($0) }
            ),
            HostileBytes(
                coder.encodeFetchEnrolmentsRequest(MessageSamples.operationID),
                { _ = try coder.decodeFetchEnrolmentsRequest($0) }
            ),
            HostileBytes(
                coder.encodeFetchEnrolmentsResponse(MessageSamples.enrolments),
                { _ = try coder.decodeFetchEnrolmentsResponse($0) }
            ),
            HostileBytes(
                coder.encodeEndEnrolmentRequest(
                    EndEnrolmentRequest(id: MessageSamples.operationID, isForWrongCode: true)),
                { _ = try coder.decodeEndEnrolmentRequest($0) }
            ),
            HostileBytes(EventCoder().encode(event), { _ = try coder.decodeNotificationEvent($0) }),
            HostileBytes(coder.encodeHello(hello), { _ = try coder.decodeHello($0) }),
            HostileBytes(
                coder.encodeWelcome(Welcome(serverVersion: "v", userRecordName: "u", serverEpoch: 1)),
                { _ = try coder.decodeWelcome($0) }
            ),
            HostileBytes(
                coder.encodeCall(CallHeader(method: .zonesList, requestID: "r", operationGroup: "g")),
                { _ = try coder.decodeCall($0) }
            ),
            HostileBytes(
                coder.encodeGoaway(Goaway(reason: CallStatus(code: 6, message: "m"))),
                { _ = try coder.decodeGoaway($0) }),
            HostileBytes(
                coder.encodeAddAccountResponse(account: account, token: "t"),
                { _ = try coder.decodeAddAccountResponse($0) }
            ),
            HostileBytes(coder.encodeStatsResponse(MessageSamples.figures), { _ = try coder.decodeStatsResponse($0) }),
            HostileBytes(record.array, { _ = try StoredRecord.decode($0) }),
            HostileBytes(record.array, { _ = try StoredRecord.parts(of: [UInt8]($0)) }),
        ]
    }

    @Test("a message that is cut at any byte is refused or understood")
    func truncation() throws {
        for message in Self.messages(MessageCoder()) { try message.readCutAnywhere() }
    }

    @Test("20,000 messages with random damage are refused or understood")
    func mutation() {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        let understood = HostileBytes.readDamaged(Self.messages(MessageCoder()), times: 20_000, seed: seed)
        #expect(understood < 20_000, "damage is noticed, seed \(seed)")
    }

    @Test("a message that would take more memory than the arena's limit is refused, and the memory is given back")
    func arenaLimit() throws {
        let coder = MessageCoder(arenaBytesLimit: 1024 * 1024)
        // Half a million empty saves in two bytes each.
        let saves = (0..<1_000_000).map { UInt8($0 % 2 == 0 ? 0x12 : 0) }
        let bytes = ProtoBytes().varint(1, 2).bytes(5, saves).bytes
        let error = #expect(throws: ServiceError.self) { try bytes.decoded(coder.decodeModifyRecordsRequest) }
        #expect(error?.code == .limitExceeded)
        // A last chunk may have a quarter of the limit to spare.
        #expect(coder.retainedBytes <= 5 * 1024 * 1024 / 4)
        let small = coder.encodeModifyRecordsRequest(MessageSamples.modifyRequest)
        #expect(try small.decoded(coder.decodeModifyRecordsRequest).zones.count == 2)
        #expect(coder.retainedBytes <= 2 * 1024 * 1024)
    }

    @Test("the memory of a large message is not held on to")
    func retention() throws {
        let coder = MessageCoder()
        let fields: DecodedFields = [
            "a": .bytes([UInt8](repeating: 1, count: 900_000)), "b": .strings([String](repeating: "", count: 40_000)),
        ]
        let large = coder.encodeModifyRecordsRequest(
            ModifyRecordsRequest(
                database: .private,
                zones: [ZoneModification(zone: .defaultZone, saves: [RecordSave(name: "a", type: "T", fields: fields)])]
            ))
        #expect(try large.decoded(coder.decodeModifyRecordsRequest).zones[0].saves[0].fields.problem == nil)
        for _ in 0..<3 { _ = try coder.encodeListZonesRequest(.public).decoded(coder.decodeListZonesRequest) }
        #expect(coder.retainedBytes <= 8 * 1024 * 1024)
    }
}
