internal import BrumeModel
internal import BrumeProtocol
internal import BrumeRecord
internal import BrumeTestKit

extension FuzzTarget {
    /// What a server sends: a client must not trust it either.
    static let answers = FuzzTarget(
        name: "answers",
        run: { bytes in
            var steering = Steering(bytes)
            let choice = steering.byte()
            let coder = MessageCoder()
            do throws(ServiceError) {
                try decodeAnswer(choice % answerCount, steering.rest, coder)
            } catch {
                precondition(!error.message.isEmpty, "a refusal without a sentence")
            }
        },
        seeds: {
            let coder = MessageCoder()
            let zone = Zone(id: FuzzSamples.zone, capabilities: .custom)
            let record = SharedBytes(FuzzSamples.record)
            let messages: [[UInt8]] = [
                coder.encodeWelcome(Welcome(serverVersion: "v", userRecordName: "u", serverEpoch: 1)),
                coder.encodeGoaway(Goaway(reason: CallStatus(code: 6, message: "m"))),
                coder.encodeModifyRecordsResponse([
                    ZoneModificationResult(
                        saves: [
                            SaveResult(outcome: .record(record)), SaveResult(outcome: .failure(FuzzSamples.error)),
                        ],
                        deletions: [nil, FuzzSamples.error])
                ]),
                coder.encodeFetchRecordsResponse([[.record(record), .failure(FuzzSamples.error), .deferred]]),
                coder.encodeZoneChangesResponse(
                    ZoneChangesPage(
                        records: [record], deletions: [DeletedRecord(name: "d", type: "T")], token: [1] as [UInt8],
                        moreComing: true)),
                coder.encodeDatabaseChangesResponse(
                    DatabaseChangesPage(
                        changed: [zone.id], deletions: [.init(zone: zone.id, reason: .purged)], token: [1] as [UInt8],
                        moreComing: true)),
                coder.encodeModifyZonesResponse(
                    ModifyZonesResult(saves: [.success(zone), .failure(FuzzSamples.error)], deletions: [nil])),
                EventCoder().encode(
                    NotificationEvent(
                        position: [1], notificationID: "n", subscriptionID: "s", notificationInfo: nil,
                        kind: .zoneChanged(zone.id), committedMilliseconds: 1)),
                coder.encodeListSubscriptionsResponse(FuzzSamples.subscriptions),
                coder.encodeListZonesResponse([zone]),
                coder.encodeQueryResponse(
                    QueryPage(matches: [QueryMatch(zone: FuzzSamples.zone, record: record)], cursor: [1, 2])),
                coder.encodeExplainResponse(
                    QueryPlan(steps: ["a", "b"], entriesRead: 1, recordsRead: 2, matches: 3, microseconds: 4)),
                coder.encodeFetchStatementsResponse(
                    StatementsPage(statements: [SharedBytes([1]), SharedBytes([2, 3])], last: 300)),
                coder.encodeFetchRingResponse(MessageSamples.ring),
                coder.encodeFetchEnrolmentsResponse([
                    RelayedEnrolment(id: FuzzSamples.operationID, messages: [[1], [2, 3]], millisecondsLeft: 300)
                ]),
                coder.encodeFetchRingStatementsResponse(MessageSamples.statements),
                coder.encodeFindRingRootsResponse(["a", "b"]),
                coder.encodeListMisplacedRecordsResponse(MessageSamples.misplaced),
            ]
            precondition(messages.count == answerCount, "an answer has no seed")
            return messages.enumerated().map { [UInt8($0.offset)] + $0.element }
        })

    private static let answerCount = 18

    private static func decodeAnswer(
        _ choice: Int, _ bytes: UnsafeRawBufferPointer, _ coder: MessageCoder
    ) throws(ServiceError) {
        switch choice {
        case 0: _ = try coder.decodeWelcome(bytes)
        case 1: _ = try coder.decodeGoaway(bytes)
        case 2: _ = try coder.decodeModifyRecordsResponse(bytes)
        case 3: _ = try coder.decodeFetchRecordsResponse(bytes)
        case 4: _ = try coder.decodeZoneChangesResponse(bytes)
        case 5: _ = try coder.decodeDatabaseChangesResponse(bytes)
        case 6: _ = try coder.decodeModifyZonesResponse(bytes)
        case 7: _ = try coder.decodeNotificationEvent(bytes)
        case 8: _ = try coder.decodeListSubscriptionsResponse(bytes)
        case 10: _ = try coder.decodeQueryResponse(bytes)
        case 11: _ = try coder.decodeExplainResponse(bytes)
        case 12: _ = try coder.decodeFetchStatementsResponse(bytes)
        case 13:
            let page = try coder.decodeFetchRingResponse(bytes)
            check(page, coder.encodeFetchRingResponse(page), coder.decodeFetchRingResponse)
        case 14: _ = try coder.decodeFetchEnrolmentsResponse(bytes)
        case 15:
            let page = try coder.decodeFetchRingStatementsResponse(bytes)
            check(page, coder.encodeFetchRingStatementsResponse(page), coder.decodeFetchRingStatementsResponse)
        case 16:
            let roots = try coder.decodeFindRingRootsResponse(bytes)
            check(roots, coder.encodeFindRingRootsResponse(roots), coder.decodeFindRingRootsResponse)
        case 17:
            let page = try coder.decodeListMisplacedRecordsResponse(bytes)
            check(page, coder.encodeListMisplacedRecordsResponse(page), coder.decodeListMisplacedRecordsResponse)
        default: _ = try coder.decodeListZonesResponse(bytes)
        }
    }
}
