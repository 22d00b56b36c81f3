import BrumeModel
import BrumeProtocol
import BrumeServer
import BrumeService
import BrumeTestKit
import Testing

/// Query subscriptions in numbers and sizes that no honest client has, over TLS.
@Suite("Hostile query subscriptions", .timeLimit(.minutes(4)))
struct HostileSubscriptionTests {
    typealias Method = HostileRequests.Method

    private static let defaultZone = HostileRequests.zone("_defaultZone")
    private static let created: UInt64 = 1
    private static let changed: UInt64 = 2

    private static let anything: [[ProtobufField]] = [[.varint(1, 1)]]

    /// `title == value`
    private static func title(_ value: String) -> [ProtobufField] {
        [.message(2, [.message(1, [.text(1, "title")]), .varint(2, 1), .message(3, [.text(1, value)])])]
    }

    private static func subscription(
        _ id: String, _ nodes: [[ProtobufField]] = anything, type: String = "Note", options: UInt64 = created | changed
    ) -> ProtobufField {
        .message(
            2,
            [
                .text(1, id),
                .message(
                    4, [.text(1, type), .message(2, nodes.map { .message(1, $0) }), .varint(3, options)]),
            ])
    }

    private static func save(_ subscriptions: [ProtobufField], scope: UInt64 = 2) -> [UInt8] {
        ProtobufField.encode([.varint(1, scope)] + subscriptions)
    }

    /// The errors of the subscriptions that were not saved.
    private static func errors(_ answer: ProtobufReader) -> [ReceivedStatus] {
        answer.messages(1).filter { $0.has(2) }.map { ReceivedStatus($0.bytes(2)) }
    }

    @Test("of 10,000 query subscriptions a user gets 1,000, the others are refused, and every commit stays quick")
    func tenThousand() async throws {
        try await RunningServer.running { server in
            let token = try server.addAccount("ada")
            let peer = try await FrameClient.welcomed(server, token: token)
            try await peer.mustSave("first", in: Self.defaultZone)
            var refused: [ReceivedStatus] = []
            for first in stride(from: 0, to: 10_000, by: 400) {
                let batch = (first..<min(first + 400, 10_000)).map {
                    Self.subscription("s\($0)", $0 % 2 == 0 ? Self.anything : [Self.title("\($0)")])
                }
                refused += Self.errors(try await peer.succeed(Method.subscriptionsModify, Self.save(batch)))
            }
            #expect(refused.count == 10_000 - Limits.subscriptionsPerUser)
            for status in refused {
                #expect(status.code == .limitExceeded && status.message.contains("delete some"), "\(status)")
            }
            let listed = try await peer.succeed(Method.subscriptionsList, ProtobufField.encode([.varint(1, 2)]))
            #expect(listed.all(1).count == Limits.subscriptionsPerUser)

            // 400 records in one commit match 500 of them each: more than is told one by one.
            let clock = ContinuousClock()
            let saves = (0..<400).map { HostileRequests.save("n\($0)") }
            let took = try await clock.measure {
                try await peer.take(HostileRequests.modifyRecords(zone: Self.defaultZone, saves))
            }
            #expect(took < .seconds(20), "\(took)")
            // What is deleted makes room.
            _ = try await peer.succeed(
                Method.subscriptionsModify, HostileRequests.deleteSubscription(id: "s1"))
            let again = try await peer.succeed(Method.subscriptionsModify, Self.save([Self.subscription("new")]))
            #expect(Self.errors(again).isEmpty)
            peer.abort()
            try await server.expectServes(token: token)
        }
    }

    @Test("a device that can't keep up with its query subscriptions is told to fetch, and of what comes after that")
    func overflow() async throws {
        try await RunningServer.running(adjust: {
            $0.connectionLimits.streamCredit = 2
            $0.backlogEvents = 8
        }) { server in
            let token = try server.addAccount("ada")
            let writer = try await FrameClient.welcomed(server, token: token)
            let peer = try await FrameClient.welcomed(server, token: token, device: 8)
            for scope in [1, 2] as [UInt64] {
                _ = try await writer.succeed(
                    Method.subscriptionsModify, Self.save([Self.subscription("of\(scope)")], scope: scope))
            }
            let stream = try await peer.openNotifications()
            for scope in [1, 2] as [UInt64] {
                for index in 0..<80 {
                    try await writer.take(
                        HostileRequests.modifyRecords(
                            scope: scope, zone: Self.defaultZone, [HostileRequests.save("n\(index)")]))
                }
            }
            for scope in [1, 2] as [UInt64] {
                try await writer.take(
                    HostileRequests.modifyRecords(
                        scope: scope, zone: Self.defaultZone, [HostileRequests.save("last")]))
            }
            // Until the last record of both: nothing is missing that no order to fetch stands for.
            var told: [UInt64: [String]] = [:]
            var hints: [UInt64: Int] = [:]
            while told[1]?.last != "last" || told[2]?.last != "last" {
                peer.sendFrame(
                    .credit, stream: stream,
                    payload: FrameWriter.creditPayload(StreamCredit(messages: 2, bytes: 1 << 16)))
                let frame = try await peer.nextFrame()
                guard frame.stream == stream, frame.type == .message,
                    let event = ProtobufReader(frame.payload)
                else { continue }
                if let hint = event.message(11) { hints[hint.varint(1), default: 0] += 1 }
                if let change = event.message(12) {
                    #expect(event.text(3) == "of\(change.varint(1))")
                    told[change.varint(1), default: []].append(change.text(3))
                }
            }
            for scope in [1, 2] as [UInt64] {
                #expect(hints[scope] == 1, "database \(scope): \(hints)")
                let names = told[scope] ?? []
                #expect(names.count < 81 && Set(names).count == names.count, "\(names)")
                // What comes behind the order to fetch is whole.
                #expect(names.suffix(8) == (73..<80).map { "n\($0)" } + ["last"], "\(names)")
            }
            peer.abort()
            writer.abort()
        }
    }

    @Test("one commit that fires more than is told one by one ends in one order to fetch")
    func overflowOfOneCommit() async throws {
        try await RunningServer.running { server in
            let token = try server.addAccount("ada")
            let writer = try await FrameClient.welcomed(server, token: token)
            for first in [0, 400, 800] {
                let batch = (first..<min(first + 400, 1_000)).map { Self.subscription("s\($0)") }
                #expect(
                    Self.errors(try await writer.succeed(Method.subscriptionsModify, Self.save(batch))).isEmpty)
            }
            let peer = try await FrameClient.welcomed(server, token: token, device: 8)
            let stream = try await peer.openNotifications()
            let isBounded = try await ResidentMemory.growsByLess(than: 128 * 1024 * 1024) { round in
                // 400,000 events, if they were made.
                let saves = (0..<400).map { HostileRequests.save("n\(round)-\($0)") }
                try await writer.take(HostileRequests.modifyRecords(zone: Self.defaultZone, saves))
                let frame = try await peer.nextFrame()
                #expect(frame.stream == stream && ProtobufReader(frame.payload)?.message(11)?.varint(1) == 2)
            }
            #expect(isBounded)
            // One record that fires all thousand is told one by one.
            try await writer.mustSave("one", in: Self.defaultZone)
            var told = Set<String>()
            while told.count < 1_000 {
                peer.sendFrame(
                    .credit, stream: stream,
                    payload: FrameWriter.creditPayload(StreamCredit(messages: 32, bytes: 1 << 16)))
                for _ in 0..<32 where told.count < 1_000 {
                    let event = try #require(ProtobufReader(try await peer.nextFrame().payload))
                    #expect(event.message(12)?.text(3) == "one")
                    #expect(told.insert(event.text(3)).inserted)
                }
            }
            peer.abort()
            writer.abort()
        }
    }

    @Test("predicates that are too large, too deep or malformed make no subscription")
    func predicates() async throws {
        try await RunningServer.running { server in
            let token = try server.addAccount("ada")
            let peer = try await FrameClient.welcomed(server, token: token)
            let words = (0..<100_000).map { ProtobufField.message(2, [.text(1, "\($0)")]) }
            let bad: [(code: Int32, nodes: [[ProtobufField]])] = [
                (27, [[.varint(7, 10_000)]] + (0..<10_000).map { Self.title("\($0)") }),
                (27, [[.varint(8, 1_001)]] + (0..<1_001).map { Self.title("\($0)") }),
                (27, Array(repeating: [.varint(9, 1)], count: 1_000) + Self.anything),
                (27, Array(repeating: [.varint(7, 1)], count: 1_000) + Self.anything),
                (27, [[.message(3, [.message(1, [.text(1, "title")])] + words)]]),
                (27, [Self.title(String(repeating: "x", count: 300_000))]),
                (12, []), (12, [[]]), (12, [[.varint(9, 0)], [.varint(1, 1)]]), (12, Self.anything + Self.anything),
                (12, [[.varint(8, 3)], Self.title("a")]),
            ]
            for (code, nodes) in bad {
                // What is malformed fails the request; what another one could mend may fail the item.
                let status: ReceivedStatus
                switch try await peer.call(Method.subscriptionsModify, Self.save([Self.subscription("s", nodes)])) {
                case .failure(let failure): status = failure
                case .success(let payload):
                    status = try #require(ProtobufReader(payload).flatMap { Self.errors($0).first })
                }
                #expect(status.code.rawValue == code, "\(status)")
                #expect(status.message.contains { $0 == ":" || $0 == ";" }, "says what to do: \(status.message)")
            }
            for options in [0, 8, 16, .max] as [UInt64] {
                let status = try await peer.fail(
                    Method.subscriptionsModify, Self.save([Self.subscription("s", options: options)]))
                #expect(status.code == .invalidArguments, "\(status)")
            }
            let listed = try await peer.succeed(Method.subscriptionsList, ProtobufField.encode([.varint(1, 2)]))
            #expect(listed.all(1).isEmpty)
            peer.abort()
            try await server.expectServes(token: token)
        }
    }

    @Test("a user's predicates together have a limit too, and matching the largest ends in an order to fetch")
    func largestPredicates() async throws {
        try await RunningServer.running { server in
            let token = try server.addAccount("ada")
            let peer = try await FrameClient.welcomed(server, token: token)
            // 1,000 terms each, none of which an index of subscriptions can use: each is tried for each record.
            let terms = (0..<1_000).map { index -> [ProtobufField] in
                [.message(2, [.message(1, [.text(1, "title")]), .varint(2, 2), .message(3, [.text(1, "\(index)")])])]
            }
            var kept = 0
            var refusal: ReceivedStatus?
            while refusal == nil, kept < 1_000 {
                let answer = try await peer.succeed(
                    Method.subscriptionsModify,
                    Self.save([Self.subscription("s\(kept)", [[.varint(7, 1_000)]] + terms)]))
                refusal = Self.errors(answer).first
                if refusal == nil { kept += 1 }
            }
            #expect(refusal?.code == .limitExceeded && refusal?.message.contains("predicates") == true)
            #expect(kept > 10 && kept < 200, "\(kept)")

            let listener = try await FrameClient.welcomed(server, token: token, device: 8)
            try await listener.openNotifications()
            let saves = (0..<400).map {
                HostileRequests.save("n\($0)", fields: [HostileRequests.field("title", text: Array("no number".utf8))])
            }
            let took = try await ContinuousClock().measure {
                try await peer.take(HostileRequests.modifyRecords(zone: Self.defaultZone, saves))
            }
            #expect(took < .seconds(20), "\(took)")
            let event = try #require(ProtobufReader(try await listener.nextFrame().payload))
            #expect(event.message(11)?.varint(1) == 2, "an order to fetch")
            peer.abort()
            listener.abort()
            try await server.expectServes(token: token)
        }
    }
}
