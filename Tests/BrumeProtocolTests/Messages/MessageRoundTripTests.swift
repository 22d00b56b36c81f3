import BrumeModel
import BrumeProtocol
import BrumeRecord
import BrumeTestKit
import Testing

/// What one side writes the other reads.
struct MessageRoundTripTests {
    private let client = MessageCoder()
    private let server = MessageCoder()

    @Test("a request to modify records arrives with every kind of value in canonical encoding")
    func modifyRecordsRequest() throws {
        let request = MessageSamples.modifyRequest
        let arrived = try client.encodeModifyRecordsRequest(request).decoded(server.decodeModifyRecordsRequest)
        #expect(arrived.database == request.database)
        #expect(arrived.savePolicy == request.savePolicy)
        #expect(arrived.isAtomic == request.isAtomic)
        #expect(arrived.operationID == request.operationID)
        #expect(arrived.zones.map(\.zone) == request.zones.map(\.zone))
        #expect(arrived.zones.map(\.deletions) == request.zones.map(\.deletions))
        let saves = arrived.zones[0].saves
        #expect(saves.map(\.name) == ["a", "b", RecordSamples.userName])
        #expect(saves.map(\.type) == ["Note", "Note", "Users"])
        #expect(saves.map(\.changeTag) == ["1-1", "", ""])
        #expect(saves.map(\.parent) == [.set("p"), .removed, .unchanged])
        #expect(saves.map(\.stamp) == [MessageSamples.stamp, [], []])
        #expect(saves.allSatisfy { $0.fields.problem == nil })
        #expect(saves[0].fields.puts == EncodedFields(RecordSamples.encodedFields))
        #expect(saves[0].fields.removals == ["gone"])
    }

    @Test("an answer to modify records arrives with records, errors and server records")
    func modifyRecordsResponse() throws {
        func results<Content>(_ content: Content) -> [ZoneModificationResult<Content>] {
            [
                ZoneModificationResult(
                    saves: [
                        SaveResult(outcome: .record(content)),
                        SaveResult(outcome: .record(content), fieldsOmitted: true),
                        SaveResult(outcome: .failure(MessageSamples.errorWithRecord)),
                    ], deletions: [nil, MessageSamples.error, MessageSamples.errorWithRecord]),
                ZoneModificationResult(),
            ]
        }
        let bytes = server.encodeModifyRecordsResponse(results(RecordSamples.storedRecord))
        #expect(try bytes.decoded(client.decodeModifyRecordsResponse) == results(RecordSamples.record))
    }

    @Test("a server's figures arrive with every histogram")
    func statsResponse() throws {
        try client.encodeStatsRequest().decoded(server.decodeStatsRequest)
        let figures = MessageSamples.figures
        #expect(try server.encodeStatsResponse(figures).decoded(client.decodeStatsResponse) == figures)
        let none = ServerFigures()
        #expect(try server.encodeStatsResponse(none).decoded(client.decodeStatsResponse) == none)
    }

    @Test("desired keys that are absent, empty and given are three different things")
    func desiredKeys() throws {
        for keys in [nil, [], ["a", "b"]] as [DesiredKeys?] {
            let fetch = FetchRecordsRequest(
                database: .public, zones: [.init(zone: .defaultZone, names: ["x", "y", "x"])], desiredKeys: keys)
            #expect(try client.encodeFetchRecordsRequest(fetch).decoded(server.decodeFetchRecordsRequest) == fetch)
            let changes = ZoneChangesRequest(
                database: .private, zone: MessageSamples.zone, token: [1, 0, 2], resultsLimit: 17, desiredKeys: keys)
            #expect(try client.encodeZoneChangesRequest(changes).decoded(server.decodeZoneChangesRequest) == changes)
        }
    }

    @Test("desired keys arrive sorted, each once, without those that no field can have")
    func desiredKeysAreSorted() throws {
        let fetch = FetchRecordsRequest(database: .public, zones: [], desiredKeys: ["b", "a", "é", "", "b"])
        let arrived = try client.encodeFetchRecordsRequest(fetch).decoded(server.decodeFetchRecordsRequest)
        #expect(arrived.desiredKeys == ["a", "b"])
    }

    @Test("an answer to a fetch arrives with its records, errors and deferred places")
    func fetchRecordsResponse() throws {
        let bytes = server.encodeFetchRecordsResponse([
            [.record(RecordSamples.storedRecord), .failure(MessageSamples.errorWithRecord), .deferred], [],
        ])
        let expected: [[RecordOutcome<Record>]] = [
            [.record(RecordSamples.record), .failure(MessageSamples.errorWithRecord), .deferred], [],
        ]
        #expect(try bytes.decoded(client.decodeFetchRecordsResponse) == expected)
    }

    @Test("pages of changes arrive as they were sent")
    func changes() throws {
        let page = ZoneChangesPage(
            records: [
                RecordSamples.storedRecord, SharedBytes(StoredRecord.encode(RecordSamples.system, fields: [])),
            ],
            deletions: [DeletedRecord(name: "gone", type: "Note")], token: [9, 0, 9] as [UInt8], moreComing: true,
            clientToken: [0, 5])
        let arrived = try server.encodeZoneChangesResponse(page).decoded(client.decodeZoneChangesResponse)
        #expect(arrived.records == [RecordSamples.record, Record(system: RecordSamples.system)])
        #expect(arrived.deletions == page.deletions)
        #expect(arrived.token == page.token)
        #expect(arrived.moreComing)
        #expect(arrived.clientToken == [0, 5])

        let request = DatabaseChangesRequest(database: .private, token: [1], resultsLimit: 3)
        #expect(
            try client.encodeDatabaseChangesRequest(request).decoded(server.decodeDatabaseChangesRequest) == request)
        let zones = DatabaseChangesPage(
            changed: [MessageSamples.zone],
            deletions: [
                .init(zone: ZoneID(name: "a"), reason: .purged), .init(zone: ZoneID(name: "b"), reason: .deleted),
                .init(zone: ZoneID(name: "c"), reason: .encryptedDataReset),
            ], token: [7] as [UInt8], moreComing: false,
            earlierDeletions: [
                .init(zone: MessageSamples.zone, reason: .purged), .init(zone: ZoneID(name: "a"), reason: .deleted),
            ])
        #expect(try server.encodeDatabaseChangesResponse(zones).decoded(client.decodeDatabaseChangesResponse) == zones)
    }

    @Test("messages about zones arrive as they were sent")
    func zones() throws {
        let modify = ModifyZonesRequest(
            database: .private, saves: [ZoneID(name: "a")], deletions: [ZoneID(name: "_bad")],
            operationID: MessageSamples.operationID)
        #expect(try client.encodeModifyZonesRequest(modify).decoded(server.decodeModifyZonesRequest) == modify)
        let zone = Zone(id: MessageSamples.zone, capabilities: .custom, changeToken: [1, 2, 3])
        let result = ModifyZonesResult(
            saves: [.success(zone), .failure(MessageSamples.error)], deletions: [nil, MessageSamples.error])
        #expect(try server.encodeModifyZonesResponse(result).decoded(client.decodeModifyZonesResponse) == result)
        let fetch = try client.encodeFetchZonesRequest(database: .public, zones: [.defaultZone])
            .decoded(server.decodeFetchZonesRequest)
        #expect(fetch == (.public, [.defaultZone]))
        #expect(
            try server.encodeFetchZonesResponse(result.saves).decoded(client.decodeFetchZonesResponse) == result.saves)
        #expect(try client.encodeListZonesRequest(.private).decoded(server.decodeListZonesRequest) == .private)
        let zones = [Zone(id: .defaultZone, capabilities: []), zone]
        #expect(try server.encodeListZonesResponse(zones).decoded(client.decodeListZonesResponse) == zones)
    }

    @Test("messages about subscriptions arrive as they were sent")
    func subscriptions() throws {
        let subscriptions = MessageSamples.subscriptions
        let modify = ModifySubscriptionsRequest(
            database: .private, saves: subscriptions, deletions: ["old\0"], operationID: MessageSamples.operationID)
        let arrived = try client.encodeModifySubscriptionsRequest(modify)
            .decoded(server.decodeModifySubscriptionsRequest)
        #expect(arrived == modify)
        let result = ModifySubscriptionsResult(
            saves: [.success(subscriptions[0]), .failure(MessageSamples.error)], deletions: [nil, MessageSamples.error])
        #expect(
            try server.encodeModifySubscriptionsResponse(result).decoded(client.decodeModifySubscriptionsResponse)
                == result)
        let fetch = try client.encodeFetchSubscriptionsRequest(database: .private, ids: ["a", "b\0"])
            .decoded(server.decodeFetchSubscriptionsRequest)
        #expect(fetch == (.private, ["a", "b\0"]))
        #expect(
            try server.encodeFetchSubscriptionsResponse(result.saves).decoded(client.decodeFetchSubscriptionsResponse)
                == result.saves)
        #expect(
            try client.encodeListSubscriptionsRequest(.public).decoded(server.decodeListSubscriptionsRequest) == .public
        )
        #expect(
            try server.encodeListSubscriptionsResponse(subscriptions).decoded(client.decodeListSubscriptionsResponse)
                == subscriptions)
    }

    @Test(
        "events of every kind arrive as they were sent",
        arguments: [
            .ready(resumed: true), .ready(resumed: false), .zoneChanged(MessageSamples.zone),
            .databaseChanged(.private),
            .fetchFromToken(.public), .unknown,
        ] as [NotificationEvent.Kind])
    func notifications(kind: NotificationEvent.Kind) throws {
        let event = NotificationEvent(
            position: [1, 2, 0], notificationID: "n", subscriptionID: "s\0",
            notificationInfo: MessageSamples.notificationInfo, kind: kind, committedMilliseconds: -5)
        #expect(try EventCoder().encode(event).decoded(client.decodeNotificationEvent) == event)
        #expect(
            try client.encodeNotificationsRequest(position: [3, 0]).decoded(server.decodeNotificationsRequest) == [
                3, 0,
            ])
    }

    @Test("an event with something that a newer server knows keeps its position")
    func newerEvents() throws {
        func event(_ kind: UInt64, _ content: ProtoBytes) throws -> NotificationEvent {
            try ProtoBytes().bytes(1, [7]).message(kind, content).bytes.decoded(client.decodeNotificationEvent)
        }
        let zone = ProtoBytes().text(1, "Notes")
        for (kind, content) in [
            // A kind of its own; databases and reasons that there are none of.
            (100, ProtoBytes()), (10, ProtoBytes().varint(1, 9)), (11, ProtoBytes().varint(1, 9)),
            (12, ProtoBytes().varint(1, 9).message(2, zone).varint(4, 1)),
            (12, ProtoBytes().varint(1, 2).message(2, zone).varint(4, 9)),
        ] {
            let event = try event(UInt64(kind), content)
            #expect(event.kind == .unknown, "kind \(kind)")
            #expect(event.position == [7])
        }
        // A value of a kind that there is none of is left out.
        let fields = ProtoBytes().varint(1, 2).message(2, zone).text(3, "a").varint(4, 1)
            .message(5, ProtoBytes().text(1, "new").message(2, ProtoBytes().varint(100, 1)))
            .message(5, ProtoBytes().text(1, "old").message(2, ProtoBytes().text(1, "x")))
        guard case .recordChanged(let change) = try event(12, fields).kind else {
            return #expect(Bool(false), "the change is known")
        }
        #expect(change.fields == ["old": .string("x")])
    }

    @Test("messages of the operator arrive as they were sent")
    func admin() throws {
        let account = Account(
            name: "ada", email: "ada@example.com", phone: "+4930123", createdMilliseconds: 5, tokens: 2,
            userRecordName: RecordSamples.userName)
        let add = try client.encodeAddAccountRequest(name: "ada", email: "a@b", phone: "+1")
            .decoded(server.decodeAddAccountRequest)
        #expect(add == ("ada", "a@b", "+1"))
        for change in [
            HandleChange(), HandleChange(email: "a@b"), HandleChange(phone: "+1"), HandleChange(email: "", phone: ""),
        ] {
            let request = try client.encodeHandlesRequest(name: "ada", change: change)
                .decoded(server.decodeHandlesRequest)
            #expect(request == ("ada", change))
        }
        #expect(try server.encodeHandlesResponse(account).decoded(client.decodeHandlesResponse) == account)
        let added = try server.encodeAddAccountResponse(account: account, token: "secret")
            .decoded(client.decodeAddAccountResponse)
        #expect(added == (account, "secret"))
        #expect(try client.encodeListAccountsRequest(after: "a").decoded(server.decodeListAccountsRequest) == "a")
        let listed = try server.encodeListAccountsResponse([account, account], moreComing: true)
            .decoded(client.decodeListAccountsResponse)
        #expect(listed == ([account, account], true))
        for deletesData in [false, true] {
            let request = try client.encodeRemoveAccountRequest(name: "a", deletesData: deletesData)
                .decoded(server.decodeRemoveAccountRequest)
            #expect(request == ("a", deletesData))
        }
        let emptied = ResetSummary(databases: 3, records: 1 << 40)
        #expect(try server.encodeRemoveAccountResponse(emptied).decoded(client.decodeRemoveAccountResponse) == emptied)
        #expect(try client.encodeListContainersRequest(after: "i").decoded(server.decodeListContainersRequest) == "i")
        let containers = ContainerPage(
            containers: [
                ContainerSummary(
                    name: "iCloud.a", development: ContainerEnvironment(recordTypes: 2, publicBytes: 5 << 40)),
                ContainerSummary(name: "iCloud.b", production: ContainerEnvironment(recordTypes: 1, publicBytes: 0)),
            ], moreComing: true, publicQuotaBytes: 7)
        #expect(
            try server.encodeListContainersResponse(containers).decoded(client.decodeListContainersResponse)
                == containers)
        #expect(try client.encodeCreateTokenRequest(name: "b").decoded(server.decodeCreateTokenRequest) == "b")
        #expect(try server.encodeCreateTokenResponse(token: "t").decoded(client.decodeCreateTokenResponse) == "t")
        #expect(try client.encodeRevokeTokensRequest(name: "c").decoded(server.decodeRevokeTokensRequest) == "c")
        #expect(try server.encodeRevokeTokensResponse(revoked: 3).decoded(client.decodeRevokeTokensResponse) == 3)
        for change in [nil, QuotaChange.bytes(0), .bytes(5 << 40), .serverDefault] {
            let request = try client.encodeQuotaRequest(name: "d", change: change).decoded(server.decodeQuotaRequest)
            #expect(request == ("d", change))
        }
        let quota = AccountQuota(limitBytes: 7, isDefault: true, usedBytes: 5 << 40)
        #expect(try server.encodeQuotaResponse(quota).decoded(client.decodeQuotaResponse) == quota)
        try client.encodeSnapshotRequest().decoded(server.decodeSnapshotRequest)
        let summary = SnapshotSummary(databases: 4, segmentsRemoved: 5)
        #expect(try server.encodeSnapshotResponse(summary).decoded(client.decodeSnapshotResponse) == summary)
        try client.encodeHealthRequest().decoded(server.decodeHealthRequest)
        for health in [
            HealthStatus(isServing: true, uptimeMilliseconds: .max),
            HealthStatus(isServing: false, uptimeMilliseconds: 0, isDiskFull: true),
            HealthStatus(isServing: false, uptimeMilliseconds: 1, isDamageFound: true),
        ] {
            #expect(try server.encodeHealthResponse(health).decoded(client.decodeHealthResponse) == health)
        }
    }

    @Test(
        "a hello arrives with each kind of credentials",
        arguments: [.none, .account("tøken\0"), .account(""), .admin("a")] as [Hello.Credentials])
    func hello(credentials: Hello.Credentials) throws {
        for environment in [nil, .development, .production] as [Environment?] {
            let hello = Hello(
                clientVersion: "test 1", deviceID: MessageSamples.operationID, container: "iCloud.com.example",
                environment: environment, credentials: credentials)
            #expect(try client.encodeHello(hello).decoded(server.decodeHello) == hello)
        }
    }

    @Test("what opens, ends and closes arrives as it was sent, and unknown methods survive")
    func connection() throws {
        let limits = ConnectionLimits(
            frameBytes: 1, concurrentCalls: 2, itemsPerRequest: 3, requestBytes: 4, recordBytes: 5, streamCredit: 6,
            streamCreditBytes: 8,
            idleMilliseconds: 7)
        let welcome = Welcome(serverVersion: "1.0", userRecordName: "_u", serverEpoch: 9, limits: limits)
        #expect(try server.encodeWelcome(welcome).decoded(client.decodeWelcome) == welcome)
        for method in [Method.recordsModify, Method(rawValue: 9_999), Method(rawValue: .max)] {
            let call = CallHeader(
                method: method, timeoutMilliseconds: 5, requestID: "r\0", operationGroup: "nightly",
                traceParent: TraceParent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"))
            #expect(try client.encodeCall(call).decoded(server.decodeCall) == call)
        }
        for status in [
            .success, CallStatus(code: 26, message: "é", retryAfterMilliseconds: 1), CallStatus(code: -1),
            CallStatus(code: 21, detail: .zoneMadeAgain), CallStatus(code: 26, detail: .encryptedDataReset),
            CallStatus(code: 36, detail: .keysChanged),
        ] {
            #expect(try server.encodeStatus(status).decoded(client.decodeStatus) == status)
            let goaway = Goaway(reason: status, reconnectAfterMilliseconds: 250)
            #expect(try server.encodeGoaway(goaway).decoded(client.decodeGoaway) == goaway)
        }
    }

    @Test("statements arrive as they were sent, and one that is missing or too large is refused")
    func statements() throws {
        for hash in [[], [UInt8](repeating: 7, count: 32)] {
            let request = AppendStatementRequest(statement: SharedBytes([0, 1, 255]), replacedHash: hash)
            let bytes = client.encodeAppendStatementRequest(request)
            #expect(try bytes.decoded(server.decodeAppendStatementRequest) == request)
        }
        try server.encodeAppendStatementResponse().decoded(client.decodeAppendStatementResponse)
        for number in [0, 7, .max] as [UInt32] {
            let request = client.encodeFetchStatementsRequest(after: number)
            #expect(try request.decoded(server.decodeFetchStatementsRequest) == number)
        }
        for page in [MessageSamples.statements, StatementsPage(statements: [], last: 0)] {
            let answer = server.encodeFetchStatementsResponse(page)
            #expect(try answer.decoded(client.decodeFetchStatementsResponse) == page)
        }
        for (bytes, hash, code) in [
            (0, 0, .invalidArguments), (Limits.statementBytes + 1, 0, .limitExceeded), (1, 31, .invalidArguments),
            (1, 33, .invalidArguments),
        ] as [(Int, Int, ErrorCode)] {
            let request = client.encodeAppendStatementRequest(
                AppendStatementRequest(
                    statement: SharedBytes([UInt8](repeating: 1, count: bytes)),
                    replacedHash: [UInt8](repeating: 1, count: hash)))
            let error = #expect(throws: ServiceError.self) { try request.decoded(server.decodeAppendStatementRequest) }
            #expect(error?.code == code)
        }
    }

    @Test("entries of rings arrive as they were sent, and one that is missing or too large is refused")
    func rings() throws {
        for statements in [[], [SharedBytes([2]), SharedBytes([0, 255])]] {
            let append = AppendRingEntryRequest(
                zone: MessageSamples.ringRequest.zone, entry: SharedBytes([0, 1, 255]), statements: statements)
            let bytes = client.encodeAppendRingEntryRequest(append)
            #expect(try bytes.decoded(server.decodeAppendRingEntryRequest) == append)
        }
        try server.encodeAppendRingEntryResponse().decoded(client.decodeAppendRingEntryResponse)
        for request in [MessageSamples.ringRequest, FetchRingRequest(zone: .defaultZone, after: .max)] {
            let bytes = client.encodeFetchRingRequest(request)
            #expect(try bytes.decoded(server.decodeFetchRingRequest) == request)
        }
        for page in [MessageSamples.ring, RingPage(entries: [], last: 0)] {
            #expect(try server.encodeFetchRingResponse(page).decoded(client.decodeFetchRingResponse) == page)
        }
        for (count, code) in [(0, .invalidArguments), (Limits.ringEntryBytes + 1, .limitExceeded)]
            as [(Int, ErrorCode)]
        {
            let request = client.encodeAppendRingEntryRequest(
                AppendRingEntryRequest(zone: .defaultZone, entry: SharedBytes([UInt8](repeating: 1, count: count))))
            let error = #expect(throws: ServiceError.self) { try request.decoded(server.decodeAppendRingEntryRequest) }
            #expect(error?.code == code)
        }
        let badRoot = client.encodeFetchRingRequest(
            FetchRingRequest(zone: .defaultZone, root: String(repeating: "x", count: 256), after: 0))
        let error = #expect(throws: ServiceError.self) { try badRoot.decoded(server.decodeFetchRingRequest) }
        #expect(error?.code == .invalidArguments)
    }

    @Test("what guests of rings send arrives as it was sent")
    func ringGuests() throws {
        let unproven = JoinRingRequest(zone: .defaultZone, statements: [])
        for request in [MessageSamples.joinRequest, unproven] {
            #expect(try client.encodeJoinRingRequest(request).decoded(server.decodeJoinRingRequest) == request)
        }
        try server.encodeJoinRingResponse().decoded(client.decodeJoinRingResponse)
        let request = MessageSamples.ringStatementsRequest
        let bytes = client.encodeFetchRingStatementsRequest(request)
        #expect(try bytes.decoded(server.decodeFetchRingStatementsRequest) == request)
        for page in [MessageSamples.statements, StatementsPage(statements: [], last: 0)] {
            let bytes = server.encodeFetchRingStatementsResponse(page)
            #expect(try bytes.decoded(client.decodeFetchRingStatementsResponse) == page)
        }
    }

    @Test("trees of rings are asked for by their ids, and arrive as their roots")
    func ringRoots() throws {
        let request = MessageSamples.ringRootsRequest
        #expect(try client.encodeFindRingRootsRequest(request).decoded(server.decodeFindRingRootsRequest) == request)
        for roots in [[], ["list-1", "\u{e9}"]] {
            let bytes = server.encodeFindRingRootsResponse(roots)
            #expect(try bytes.decoded(client.decodeFindRingRootsResponse) == roots)
        }
        let id = MessageSamples.operationID
        for (ids, code) in [
            ([id, id.dropLast()], .invalidArguments),
            ([[UInt8]](repeating: id, count: Limits.itemsPerRequest + 1), .limitExceeded),
        ] as [([[UInt8]], ErrorCode)] {
            let request = FindRingRootsRequest(zone: .defaultZone, treeIDs: ids)
            let error = #expect(throws: ServiceError.self) {
                try client.encodeFindRingRootsRequest(request).decoded(server.decodeFindRingRootsRequest)
            }
            #expect(error?.code == code)
        }
    }

    @Test("misplaced records are asked for part by part, and arrive by name")
    func misplacedRecords() throws {
        let request = MessageSamples.misplacedRequest
        let bytes = client.encodeListMisplacedRecordsRequest(request)
        #expect(try bytes.decoded(server.decodeListMisplacedRecordsRequest) == request)
        for page in [MessageSamples.misplaced, MisplacedRecordsPage()] {
            let bytes = server.encodeListMisplacedRecordsResponse(page)
            #expect(try bytes.decoded(client.decodeListMisplacedRecordsResponse) == page)
        }
    }

    @Test("what guests of rings may not send is refused")
    func badRingGuests() throws {
        func refusal(_ edit: (inout JoinRingRequest) -> Void) -> ErrorCode? {
            var request = MessageSamples.joinRequest
            edit(&request)
            return #expect(throws: ServiceError.self) {
                try client.encodeJoinRingRequest(request).decoded(server.decodeJoinRingRequest)
            }?.code
        }
        #expect(refusal { $0.proof = [] } == .invalidArguments)
        #expect(refusal { $0.invitationID = [] } == .invalidArguments)
        #expect(refusal { $0.invitationID.append(0) } == .invalidArguments)
        #expect(refusal { $0.proof.removeLast() } == .invalidArguments)
        #expect(refusal { $0.root = String(repeating: "x", count: 256) } == .invalidArguments)
        #expect(refusal { $0.statements[1] = SharedBytes([]) } == .invalidArguments)
        let large = SharedBytes([UInt8](repeating: 1, count: Limits.statementBytes + 1))
        #expect(refusal { $0.statements[0] = large } == .limitExceeded)
        let many = [SharedBytes](repeating: SharedBytes([1]), count: Limits.ringStatementsPerRequest + 1)
        #expect(refusal { $0.statements = many } == .limitExceeded)
        let append = AppendRingEntryRequest(zone: .defaultZone, entry: SharedBytes([1]), statements: many)
        let error = #expect(throws: ServiceError.self) {
            try client.encodeAppendRingEntryRequest(append).decoded(server.decodeAppendRingEntryRequest)
        }
        #expect(error?.code == .limitExceeded)
        for user in ["", "__defaultOwner__", "somebody"] {
            let request = FetchRingStatementsRequest(zone: .defaultZone, user: user, after: 0)
            let error = #expect(throws: ServiceError.self) {
                try client.encodeFetchRingStatementsRequest(request).decoded(server.decodeFetchRingStatementsRequest)
            }
            #expect(error?.code == .invalidArguments)
        }
    }

    @Test("messages of enrolments arrive as they were sent, and the server refuses those that are none")
    func enrolments() throws {
        let id = MessageSamples.operationID
        for (step, count) in [(1, 1), (4, Limits.enrolmentMessageBytes)] {
            let request = PostEnrolmentRequest(id: id, step: step, message: [UInt8](repeating: 0, count: count))
            let bytes = client.encodePostEnrolmentRequest(request)
            #expect(try bytes.decoded(server.decodePostEnrolmentRequest) == request)
        }
        try server.encodePostEnrolmentResponse().decoded(client.decodePostEnrolmentResponse)
        for wanted in [nil, id] {
            let bytes = client.encodeFetchEnrolmentsRequest(wanted)
            #expect(try bytes.decoded(server.decodeFetchEnrolmentsRequest) == wanted)
        }
        for enrolments in [MessageSamples.enrolments, []] {
            let bytes = server.encodeFetchEnrolmentsResponse(enrolments)
            #expect(try bytes.decoded(client.decodeFetchEnrolmentsResponse) == enrolments)
        }
        for isForWrongCode in [false, true] {
            let request = EndEnrolmentRequest(id: id, isForWrongCode: isForWrongCode)
            let bytes = client.encodeEndEnrolmentRequest(request)
            #expect(try bytes.decoded(server.decodeEndEnrolmentRequest) == request)
        }
        try server.encodeEndEnrolmentResponse().decoded(client.decodeEndEnrolmentResponse)

        for (id, step, count, code) in [
            (id, 0, 1, .invalidArguments), (id, 5, 1, .invalidArguments), (id, 1, 0, .invalidArguments),
            (id, 1, Limits.enrolmentMessageBytes + 1, .limitExceeded), ([], 1, 1, .invalidArguments),
            (id + [1], 1, 1, .invalidArguments),
        ] as [([UInt8], Int, Int, ErrorCode)] {
            let request = client.encodePostEnrolmentRequest(
                PostEnrolmentRequest(id: id, step: step, message: [UInt8](repeating: 1, count: count)))
            let error = #expect(throws: ServiceError.self) { try request.decoded(server.decodePostEnrolmentRequest) }
            #expect(error?.code == code)
        }
        let short = Array(id.dropLast())
        let fetch = client.encodeFetchEnrolmentsRequest(short)
        #expect(throws: ServiceError.self) { try fetch.decoded(server.decodeFetchEnrolmentsRequest) }
        for id in [[], short] {
            let end = client.encodeEndEnrolmentRequest(EndEnrolmentRequest(id: id, isForWrongCode: false))
            #expect(throws: ServiceError.self) { try end.decoded(server.decodeEndEnrolmentRequest) }
        }
    }
}
