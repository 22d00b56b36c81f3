import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Testing

/// Queries that no honest client sends, over TLS.
@Suite("Hostile queries", .timeLimit(.minutes(2)))
struct HostileQueryTests {
    private static let recordsQuery: UInt64 = 35
    private static let recordsExplain: UInt64 = 36

    private static let constant: [ProtobufField] = [.varint(1, 1)]
    private static func and(_ count: UInt64) -> [ProtobufField] { [.varint(7, count)] }
    private static let not: [ProtobufField] = [.varint(9, 1)]

    private static func comparison(_ value: [ProtobufField], operator comparison: UInt64 = 1) -> [ProtobufField] {
        [.message(2, [.message(1, [.text(1, "title")]), .varint(2, comparison), .message(3, value)])]
    }

    private static func request(
        _ nodes: [[ProtobufField]], type: String = "Note", zone: String? = nil, cursor: [UInt8] = [], scope: UInt64 = 2,
        limit: UInt64 = 0
    ) -> [UInt8] {
        var fields: [ProtobufField] = [.varint(1, scope)]
        if let zone { fields.append(.message(2, [.text(1, zone)])) }
        fields.append(.message(3, [.text(1, type), .message(2, nodes.map { .message(1, $0) })]))
        if !cursor.isEmpty { fields.append(.bytes(4, cursor)) }
        if limit > 0 { fields.append(.varint(5, limit)) }
        return ProtobufField.encode(fields)
    }

    @Test("predicates that are too large, too deep or malformed are refused, and the connection goes on")
    func predicates() async throws {
        try await RunningServer.running { server in
            let token = try server.addAccount("ada")
            let peer = try await FrameClient.welcomed(server, token: token)
            #expect(
                try await peer.fail(Self.recordsQuery, Self.request([Self.constant])).code == .unknownItem,
                "a type that nobody saved")
            _ = try await peer.succeed(
                HostileRequests.Method.recordsModify,
                HostileRequests.modifyRecords(
                    zone: HostileRequests.zone("_defaultZone"), [HostileRequests.save("a")]))
            let list = [ProtobufField](repeating: .message(2, [.varint(2, 1)]), count: 100_000)
            let values: [[ProtobufField]] = [
                [], [.varint(99, 1)], [.bytes(1, [0xFF])], [.message(8, [.bytes(1, [1])])],
            ]
            var bad: [(code: Int32, nodes: [[ProtobufField]])] = [
                (27, [Self.and(10_000)] + Array(repeating: Self.constant, count: 10_000)),
                (27, Array(repeating: Self.not, count: 1_000) + [Self.constant]),
                (27, Array(repeating: Self.and(1), count: 100_000) + [Self.constant]),
                (27, [[.message(3, [.message(1, [.text(1, "n")])] + list)]]),
                (12, []), (12, [[]]), (12, [[.varint(77, 1)]]), (12, [Self.and(2), Self.constant]),
                (12, [Self.constant, Self.constant]), (12, [Self.and(UInt64(UInt32.max))]),
                (12, [Self.comparison([.bytes(1, [0x61])], operator: 99)]),
                // A field with numbers only in order, and a text for a date.
                (12, [[.message(2, [.message(1, [.varint(2, 2)]), .varint(2, 1), .message(3, [.bytes(1, [0x61])])])]]),
            ]
            bad += values.map { (12, [Self.comparison($0)]) }
            // Texts that are searched for.
            let word = String(repeating: "a ", count: 1_000)
            let search: [ProtobufField] = [.message(5, [.text(1, word), .varint(2, 1)])]
            bad.append((27, [Self.and(3), search, search, search]))
            for (code, nodes) in bad {
                for method in [Self.recordsQuery, Self.recordsExplain] {
                    let status = try await peer.fail(method, Self.request(nodes))
                    #expect(status.code.rawValue == code, "\(status.message)")
                    #expect(status.message.contains { $0 == ":" || $0 == ";" }, "says what to do: \(status.message)")
                }
            }
            for request in [
                Self.request([[.varint(1, 0)]], type: ""), Self.request([Self.constant], type: "_x"),
                Self.request([Self.constant], type: "Users"), Self.request([Self.constant], zone: ""),
                Self.request([Self.constant], scope: 3), ProtobufField.encode([.varint(1, 2)]), [0xFF],
            ] {
                #expect(try await peer.fail(Self.recordsQuery, request).code == .invalidArguments)
            }
            #expect(
                try await peer.fail(Self.recordsQuery, Self.request([Self.constant], zone: "Nowhere")).code
                    == .zoneNotFound)
            _ = try await peer.succeed(Self.recordsQuery, Self.request([Self.constant]))
            peer.abort()
            try await server.expectServes(token: token)
        }
    }

    @Test("forged cursors, and those of another query, zone, database or account, are refused with a sentence")
    func cursors() async throws {
        try await RunningServer.running { server in
            let ada = try await FrameClient.welcomed(server, token: try server.addAccount("ada"))
            let eve = try await FrameClient.welcomed(server, token: try server.addAccount("eve"), device: 8)
            for peer in [ada, eve] {
                for scope: UInt64 in [1, 2] {
                    _ = try await peer.succeed(
                        HostileRequests.Method.recordsModify,
                        HostileRequests.modifyRecords(
                            scope: scope, zone: HostileRequests.zone("_defaultZone"),
                            (0..<3).map { HostileRequests.save("\(peer === ada ? "a" : "e")\($0)") }))
                }
            }
            func cursor(_ peer: FrameClient, scope: UInt64 = 2, zone: String? = nil) async throws -> [UInt8] {
                let page = try await peer.succeed(
                    Self.recordsQuery, Self.request([Self.constant], zone: zone, scope: scope, limit: 1))
                return page.bytes(2)
            }
            let own = try await cursor(ada)
            #expect(!own.isEmpty)
            _ = try await ada.succeed(Self.recordsQuery, Self.request([Self.constant], cursor: own))
            // The limit is no part of the query.
            _ = try await ada.succeed(Self.recordsQuery, Self.request([Self.constant], cursor: own, limit: 2))

            var flipped = own
            flipped[flipped.count / 2] ^= 1
            let token = try await ada.succeed(
                HostileRequests.Method.databasesChanges, HostileRequests.databaseChanges()
            ).bytes(3)
            for forged in [flipped, Array(own.dropLast()), own + [0], [1], [UInt8](repeating: 0, count: 64), token] {
                let status = try await ada.fail(Self.recordsQuery, Self.request([Self.constant], cursor: forged))
                #expect(status.code == .invalidArguments)
                #expect(status.message.contains("not made by this server"), "\(status.message)")
            }
            let tooLong = [UInt8](repeating: 1, count: 1_500_000)
            #expect(
                try await ada.fail(Self.recordsQuery, Self.request([Self.constant], cursor: tooLong)).code
                    == .invalidArguments)

            let foreign: [[UInt8]] = [
                Self.request([Self.and(1), Self.constant], cursor: own),
                Self.request([Self.constant], zone: "_defaultZone", cursor: own),
                Self.request([Self.constant], cursor: try await cursor(ada, scope: 1)),
                Self.request([Self.constant], cursor: try await cursor(ada, zone: "_defaultZone")),
                Self.request([Self.constant], cursor: try await cursor(eve)),
                Self.request([Self.constant], cursor: try await cursor(eve, scope: 1), scope: 1),
            ]
            for request in foreign {
                let status = try await ada.fail(Self.recordsQuery, request)
                #expect(status.code == .invalidArguments)
                #expect(status.message.contains("belongs to another query"), "\(status.message)")
            }
            ada.abort()
            eve.abort()
        }
    }

    @Test("one user's query shows nothing of another's private records")
    func isolation() async throws {
        try await RunningServer.running { server in
            let ada = try await FrameClient.welcomed(server, token: try server.addAccount("ada"))
            let eve = try await FrameClient.welcomed(server, token: try server.addAccount("eve"), device: 8)
            _ = try await ada.succeed(
                HostileRequests.Method.recordsModify,
                HostileRequests.modifyRecords(
                    zone: HostileRequests.zone("_defaultZone"), [HostileRequests.save("secret")]))
            let page = try await eve.succeed(Self.recordsQuery, Self.request([Self.constant]))
            #expect(page.bytes(1).isEmpty)
            let anonymous = try await FrameClient.welcomed(server, token: nil, device: 9)
            #expect(
                try await anonymous.fail(Self.recordsQuery, Self.request([Self.constant])).code == .notAuthenticated)
            _ = try await anonymous.succeed(Self.recordsQuery, Self.request([Self.constant], scope: 1))
            // The caller, in a predicate: there is none.
            let creator: [ProtobufField] = [
                .message(
                    2,
                    [
                        .message(1, [.varint(2, 4)]), .varint(2, 1),
                        .message(3, [.message(7, [.text(1, "__defaultOwner__")])]),
                    ])
            ]
            #expect(
                try await anonymous.fail(Self.recordsQuery, Self.request([creator], scope: 1)).code == .notAuthenticated
            )
            ada.abort()
            eve.abort()
            anonymous.abort()
        }
    }
}
