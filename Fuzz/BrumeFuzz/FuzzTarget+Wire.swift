internal import BrumeModel
internal import BrumeProtocol
internal import BrumeRecord
internal import BrumeTestKit

extension FuzzTarget {
    /// A byte stream cut into frames gives the same frames, or the same refusal, however it arrives.
    static let frames = FuzzTarget(
        name: "frames",
        run: { bytes in
            var steering = Steering(bytes)
            let step = steering.byte() + 1
            let stream = steering.rest
            let whole = read(stream, inSteps: max(1, stream.count))
            let pieces = read(stream, inSteps: step)
            precondition(whole.frames == pieces.frames, "the pieces of a stream give other frames than the whole")
            precondition(whole.error == pieces.error, "the pieces of a stream give another error than the whole")
        },
        seeds: {
            let frames =
                FrameWriter.frame(.hello, payload: [1, 2, 3]) + FrameWriter.frame(.call, stream: 1, payload: [])
                + FrameWriter.frame(.message, stream: 1, isLast: true, payload: [UInt8](repeating: 9, count: 300))
            return [[0] + frames, [6] + frames, [255] + frames.dropLast(), [3] + FrameWriter.frame(.ping, payload: [])]
        })

    private struct Cut {
        var frames: [FrameHeader] = []
        var error: FrameError?
    }

    private static func read(_ stream: UnsafeRawBufferPointer, inSteps step: Int) -> Cut {
        var reader = FrameReader(payloadBytesLimit: 4096)
        var cut = Cut()
        var offset = 0
        while offset < stream.count {
            let end = min(stream.count, offset + step)
            do throws(FrameError) {
                try reader.read(UnsafeRawBufferPointer(rebasing: stream[offset..<end])) { header, payload in
                    precondition(
                        payload.count == header.payloadByteCount, "a payload of another size than its header's")
                    cut.frames.append(header)
                    return true
                }
            } catch {
                cut.error = error
                return cut
            }
            offset = end
        }
        return cut
    }

    /// What a client sends: the first byte chooses the message, the others are its bytes.
    ///
    /// What is understood is the same after another encoding, where the client's side can encode it.
    static let requests = FuzzTarget(
        name: "requests",
        run: { bytes in
            var steering = Steering(bytes)
            let choice = steering.byte()
            let coder = MessageCoder()
            do throws(ServiceError) {
                try decodeRequest(choice % requestCount, steering.rest, coder)
            } catch {
                precondition(!error.message.isEmpty, "a refusal without a sentence")
            }
        },
        seeds: {
            let coder = MessageCoder()
            let zone = FuzzSamples.zone
            let messages: [[UInt8]] = [
                coder.encodeHello(
                    Hello(
                        clientVersion: "v", deviceID: FuzzSamples.operationID, container: "iCloud.c",
                        environment: .production, credentials: .account("token"))),
                coder.encodeCall(CallHeader(method: .zonesList, requestID: "r", operationGroup: "g")),
                coder.encodeModifyRecordsRequest(FuzzSamples.modifyRequest),
                coder.encodeFetchRecordsRequest(
                    FetchRecordsRequest(
                        database: .public, zones: [.init(zone: .defaultZone, names: ["a", "b"])], desiredKeys: ["k"])),
                coder.encodeZoneChangesRequest(
                    ZoneChangesRequest(database: .private, zone: zone, token: [1, 2], resultsLimit: 3)),
                coder.encodeDatabaseChangesRequest(DatabaseChangesRequest(database: .private, token: [1])),
                coder.encodeModifyZonesRequest(
                    ModifyZonesRequest(database: .private, saves: [zone], deletions: [ZoneID(name: "x")])),
                coder.encodeFetchZonesRequest(database: .private, zones: [zone]),
                coder.encodeListZonesRequest(.private),
                coder.encodeModifySubscriptionsRequest(
                    ModifySubscriptionsRequest(
                        database: .private, saves: FuzzSamples.subscriptions, deletions: ["x"])),
                coder.encodeFetchSubscriptionsRequest(database: .private, ids: ["a"]),
                coder.encodeListZonesRequest(.public),
                coder.encodeNotificationsRequest(position: [1, 2, 3]),
                coder.encodeAddAccountRequest(name: "a", email: "e@x"), [], coder.encodeRemoveAccountRequest(name: "a"),
                coder.encodeCreateTokenRequest(name: "a"), coder.encodeRevokeTokensRequest(name: "a"), [], [],
                coder.encodeQueryRequest(FuzzSamples.queryRequest),
                coder.encodeQuotaRequest(name: "a", change: .bytes(5)), coder.encodeListContainersRequest(after: "a"),
                coder.encodeHandlesRequest(name: "a", change: HandleChange(email: "e@x", phone: "")),
                coder.encodeAppendStatementRequest(
                    AppendStatementRequest(
                        statement: SharedBytes([1, 2]), replacedHash: [UInt8](repeating: 3, count: 32))),
                coder.encodeFetchStatementsRequest(after: 300),
                coder.encodeAppendRingEntryRequest(
                    AppendRingEntryRequest(
                        zone: FuzzSamples.zone, entry: SharedBytes([1, 2]), statements: [SharedBytes([3])])),
                coder.encodeFetchRingRequest(FetchRingRequest(zone: FuzzSamples.zone, root: "list", after: 300)),
                coder.encodePostEnrolmentRequest(
                    PostEnrolmentRequest(id: FuzzSamples.operationID, step: 2, message: [1, 2])),
                coder.encodeFetchEnrolmentsRequest(FuzzSamples.operationID),
                coder.encodeEndEnrolmentRequest(EndEnrolmentRequest(id: FuzzSamples.operationID, isForWrongCode: true)),
                coder.encodeJoinRingRequest(MessageSamples.joinRequest),
                coder.encodeFetchRingStatementsRequest(MessageSamples.ringStatementsRequest),
                coder.encodeFindRingRootsRequest(MessageSamples.ringRootsRequest),
                coder.encodeListMisplacedRecordsRequest(MessageSamples.misplacedRequest),
            ]
            precondition(messages.count == requestCount, "a request has no seed")
            return messages.enumerated().map { [UInt8($0.offset)] + $0.element }
        })

    private static let requestCount = 35

    private static func decodeRequest(
        _ choice: Int, _ bytes: UnsafeRawBufferPointer, _ coder: MessageCoder
    ) throws(ServiceError) {
        switch choice {
        case 0:
            let hello = try coder.decodeHello(bytes)
            check(hello, coder.encodeHello(hello), coder.decodeHello)
        case 1:
            let call = try coder.decodeCall(bytes)
            if call.problem == nil { check(call, coder.encodeCall(call), coder.decodeCall) }
        case 2:
            let request = try coder.decodeModifyRecordsRequest(bytes)
            for save in request.zones.flatMap(\.saves) { try check(save) }
        case 3:
            let request = try coder.decodeFetchRecordsRequest(bytes)
            check(request, coder.encodeFetchRecordsRequest(request), coder.decodeFetchRecordsRequest)
        case 4:
            let request = try coder.decodeZoneChangesRequest(bytes)
            check(request, coder.encodeZoneChangesRequest(request), coder.decodeZoneChangesRequest)
        case 5:
            let request = try coder.decodeDatabaseChangesRequest(bytes)
            check(request, coder.encodeDatabaseChangesRequest(request), coder.decodeDatabaseChangesRequest)
        case 6:
            let request = try coder.decodeModifyZonesRequest(bytes)
            check(request, coder.encodeModifyZonesRequest(request), coder.decodeModifyZonesRequest)
        case 7: _ = try coder.decodeFetchZonesRequest(bytes)
        case 8: _ = try coder.decodeListZonesRequest(bytes)
        case 9:
            let request = try coder.decodeModifySubscriptionsRequest(bytes)
            check(request, coder.encodeModifySubscriptionsRequest(request), coder.decodeModifySubscriptionsRequest)
        case 10: _ = try coder.decodeFetchSubscriptionsRequest(bytes)
        case 11: _ = try coder.decodeListSubscriptionsRequest(bytes)
        case 12:
            let position = try coder.decodeNotificationsRequest(bytes)
            check(position, coder.encodeNotificationsRequest(position: position), coder.decodeNotificationsRequest)
        case 13: _ = try coder.decodeAddAccountRequest(bytes)
        case 14: _ = try coder.decodeListAccountsRequest(bytes)
        case 15: _ = try coder.decodeRemoveAccountRequest(bytes)
        case 16: _ = try coder.decodeCreateTokenRequest(bytes)
        case 17: _ = try coder.decodeRevokeTokensRequest(bytes)
        case 18: try coder.decodeSnapshotRequest(bytes)
        case 20:
            let request = try coder.decodeQueryRequest(bytes)
            precondition(request.query.predicate.size.problem == nil, "a predicate over its limits was let through")
            check(request, coder.encodeQueryRequest(request), coder.decodeQueryRequest)
        case 21: _ = try coder.decodeQuotaRequest(bytes)
        case 22: _ = try coder.decodeListContainersRequest(bytes)
        case 23: _ = try coder.decodeHandlesRequest(bytes)
        case 24:
            let request = try coder.decodeAppendStatementRequest(bytes)
            check(request, coder.encodeAppendStatementRequest(request), coder.decodeAppendStatementRequest)
        case 25:
            let number = try coder.decodeFetchStatementsRequest(bytes)
            check(number, coder.encodeFetchStatementsRequest(after: number), coder.decodeFetchStatementsRequest)
        case 26:
            let request = try coder.decodeAppendRingEntryRequest(bytes)
            check(request, coder.encodeAppendRingEntryRequest(request), coder.decodeAppendRingEntryRequest)
        case 27:
            let request = try coder.decodeFetchRingRequest(bytes)
            check(request, coder.encodeFetchRingRequest(request), coder.decodeFetchRingRequest)
        case 28:
            let request = try coder.decodePostEnrolmentRequest(bytes)
            check(request, coder.encodePostEnrolmentRequest(request), coder.decodePostEnrolmentRequest)
        case 29:
            let id = try coder.decodeFetchEnrolmentsRequest(bytes)
            check(id, coder.encodeFetchEnrolmentsRequest(id), coder.decodeFetchEnrolmentsRequest)
        case 30:
            let request = try coder.decodeEndEnrolmentRequest(bytes)
            check(request, coder.encodeEndEnrolmentRequest(request), coder.decodeEndEnrolmentRequest)
        case 31:
            let request = try coder.decodeJoinRingRequest(bytes)
            check(request, coder.encodeJoinRingRequest(request), coder.decodeJoinRingRequest)
        case 32:
            let request = try coder.decodeFetchRingStatementsRequest(bytes)
            check(request, coder.encodeFetchRingStatementsRequest(request), coder.decodeFetchRingStatementsRequest)
        case 33:
            let request = try coder.decodeFindRingRootsRequest(bytes)
            check(request, coder.encodeFindRingRootsRequest(request), coder.decodeFindRingRootsRequest)
        case 34:
            let request = try coder.decodeListMisplacedRecordsRequest(bytes)
            check(request, coder.encodeListMisplacedRecordsRequest(request), coder.decodeListMisplacedRecordsRequest)
        default: try coder.decodeHealthRequest(bytes)
        }
    }

    /// A save that holds assets, or encrypted values, has to be marked so: where the mark is missing nobody looks.
    private static func check(_ save: RecordSave<CheckedFields>) throws(ServiceError) {
        precondition(save.name.utf8.count <= 4096)
        var (assetCount, headerCount) = (0, 0)
        let puts = save.fields.puts.bytes.array
        try puts.decoded { bytes throws(ServiceError) in
            try StoredRecord.forEachAsset(of: bytes) { _ in
                assetCount += 1
                return true
            }
        }
        save.fields.puts.forEachEncryptedHeader { _ in
            headerCount += 1
            return true
        }
        precondition(assetCount == 0 || save.fields.mayHoldAssets, "a save names assets that nobody looks for")
        precondition(headerCount == 0 || save.fields.mayHoldEncrypted, "a save encrypts with keys that nobody looks at")
    }

    /// What was understood means the same after another encoding.
    static func check<Value: Equatable>(
        _ value: Value, _ encoded: [UInt8], _ decode: (UnsafeRawBufferPointer) throws(ServiceError) -> Value
    ) {
        do throws(ServiceError) {
            let again = try encoded.decoded(decode)
            precondition(again == value, "a message means something else after another encoding")
        } catch {
            preconditionFailure("what was understood is refused after another encoding: \(error.message)")
        }
    }
}
