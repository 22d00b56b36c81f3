import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Testing

@Suite("Hostile requests", .timeLimit(.minutes(4)))
struct HostileRequestTests {
    typealias Method = HostileRequests.Method

    static let notes = HostileRequests.zone("Notes")

    /// A server, an account and its zone `Notes`.
    private func inZone(_ body: (FrameClient, RunningServer) async throws -> Void) async throws {
        try await RunningServer.running { server in
            let token = try server.addAccount("alice")
            let peer = try await FrameClient.welcomed(server, token: token)
            try await peer.makeZone("Notes")
            try await body(peer, server)
            // After all of it the same connection and a new one are served.
            try await peer.mustSave("Fine", in: Self.notes)
            try await server.expectServes(token: token)
        }
    }

    static let badNames: [[UInt8]] = [
        [], Array("_leading".utf8), Array("über".utf8), Array("tab\t".utf8), [0x41, 0], [0x41, 0xff],
        [UInt8](repeating: 0x61, count: 256), [UInt8](repeating: 0x61, count: 100_000), [0xed, 0xa0, 0x80], [0x7f],
    ]

    @Test("a record name outside of the rules fails with invalidArguments", arguments: badNames.map(ByteArgument.init))
    func recordName(name: ByteArgument) async throws {
        try await inZone { peer, _ in
            let save = ProtobufField.message(2, [.bytes(1, name.bytes), .text(2, "Note")])
            let problem = try await peer.outcome(HostileRequests.modifyRecords(zone: Self.notes, [save]))
            #expect(problem?.code == .invalidArguments)
            #expect(problem?.isSentence == true, "\(String(describing: problem))")
        }
    }

    @Test(
        "a record type outside of the rules fails with invalidArguments",
        arguments: (badNames + ["1Note", "A Note", "A-Note", "Users"].map { Array($0.utf8) }).map(ByteArgument.init))
    func recordType(type: ByteArgument) async throws {
        try await inZone { peer, _ in
            let save = ProtobufField.message(2, [.text(1, "n"), .bytes(2, type.bytes)])
            let problem = try await peer.outcome(HostileRequests.modifyRecords(zone: Self.notes, [save]))
            #expect(problem.map { [.invalidArguments, .permissionFailure].contains($0.code) } == true)
            #expect(problem?.isSentence == true, "\(String(describing: problem))")
        }
    }

    @Test(
        "a field key outside of the rules fails with invalidArguments",
        arguments: (badNames + ["1key", "a key", "a.key"].map { Array($0.utf8) }).map(ByteArgument.init))
    func fieldKey(key: ByteArgument) async throws {
        try await inZone { peer, _ in
            let field = ProtobufField.message(15, [.bytes(1, key.bytes), .message(2, [.text(1, "value")])])
            let problem = try await peer.outcome(
                HostileRequests.modifyRecords(zone: Self.notes, [HostileRequests.save("n", fields: [field])]))
            #expect(problem?.code == .invalidArguments)
            #expect(problem?.isSentence == true, "\(String(describing: problem))")
        }
    }

    @Test("a zone name outside of the rules fails with invalidArguments", arguments: badNames.map(ByteArgument.init))
    func zoneName(name: ByteArgument) async throws {
        try await inZone { peer, _ in
            let answer = try await peer.call(
                Method.zonesModify, HostileRequests.modifyZones(saves: [[.bytes(1, name.bytes)]]))
            let problem: ReceivedStatus?
            switch answer {
            case .failure(let status): problem = status
            case .success(let payload):
                problem = ProtobufReader(payload)?.messages(1).first.flatMap {
                    $0.has(2) ? ReceivedStatus($0.bytes(2)) : nil
                }
            }
            #expect(problem?.code == .invalidArguments)
            #expect(problem?.isSentence == true, "\(String(describing: problem))")
        }
    }

    @Test("text that is no UTF-8 is refused, and NUL comes back as it was")
    func text() async throws {
        try await inZone { peer, _ in
            for invalid in [[0xff], [0xc3], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80]] as [[UInt8]] {
                let problem = try await peer.outcome(
                    HostileRequests.modifyRecords(
                        zone: Self.notes,
                        [HostileRequests.save("n", fields: [HostileRequests.field("text", text: invalid)])]))
                #expect(problem?.code == .invalidArguments, "\(invalid)")
            }
            let text = Array("a\0b\0".utf8)
            let problem = try await peer.outcome(
                HostileRequests.modifyRecords(
                    zone: Self.notes, [HostileRequests.save("n", fields: [HostileRequests.field("text", text: text)])]))
            #expect(problem == nil)
            let fetched = try await peer.succeed(
                Method.recordsFetch, HostileRequests.fetch(zone: Self.notes, names: ["n"]))
            let record = fetched.message(1)?.message(1)?.message(1)
            #expect(record?.message(15)?.message(2)?.bytes(1) == text)
        }
    }

    @Test(
        "values outside of the rules fail their record",
        arguments: [
            // No kind at all is a removal; a kind that does not exist is one from a newer version.
            HostileBytes("latitude 91", ProtobufField.encode([.message(6, [.raw([0x09] + doubleBytes(91))])])),
            HostileBytes(
                "a latitude that is no number", ProtobufField.encode([.message(6, [.raw([0x09] + doubleBytes(.nan))])])),
            HostileBytes("a reference to nothing", ProtobufField.encode([.message(7, [])])),
            HostileBytes(
                "a reference with an unknown action",
                ProtobufField.encode([.message(7, [.text(1, "x"), .varint(2, 7)])])),
        ])
    func badValue(value: HostileBytes) async throws {
        try await inZone { peer, _ in
            let field = ProtobufField.message(15, [.text(1, "key"), .bytes(2, value.bytes)])
            let problem = try await peer.outcome(
                HostileRequests.modifyRecords(zone: Self.notes, [HostileRequests.save("n", fields: [field])]))
            #expect(problem?.code == .invalidArguments, "\(String(describing: problem))")
        }
    }

    @Test("more than 400 items are refused as a whole")
    func tooManyItems() async throws {
        try await inZone { peer, _ in
            let saves = (0..<401).map { HostileRequests.save("n\($0)") }
            let names = (0..<401).map { "n\($0)" }
            let zones = (0..<401).map { HostileRequests.zone("Z\($0)") }
            let mixed = Array(saves.prefix(200)) + names.suffix(201).map { .text(3, $0) }
            for (method, request) in [
                (Method.recordsModify, HostileRequests.modifyRecords(zone: Self.notes, saves)),
                (Method.recordsModify, HostileRequests.modifyRecords(zone: Self.notes, mixed)),
                (Method.recordsFetch, HostileRequests.fetch(zone: Self.notes, names: names)),
                (Method.zonesModify, HostileRequests.modifyZones(saves: zones)),
                (Method.subscriptionsFetch, HostileRequests.fetchSubscriptions(ids: names)),
            ] {
                let status = try await peer.fail(method, request)
                #expect(status.code == .limitExceeded, "method \(method): \(status)")
                #expect(status.isSentence)
            }
            // Nothing of it was done.
            let page = try await peer.succeed(Method.recordsChanges, HostileRequests.changes(zone: Self.notes))
            #expect(page.all(1).isEmpty)
        }
    }

    @Test("400 items are taken")
    func itemsAtTheLimit() async throws {
        try await inZone { peer, _ in
            let saves = (0..<400).map { HostileRequests.save("n\($0)") }
            try await peer.take(HostileRequests.modifyRecords(zone: Self.notes, saves))
        }
    }

    @Test("a record over 1 MB fails with limitExceeded; one of nearly that size is kept")
    func recordSize() async throws {
        try await inZone { peer, _ in
            func save(_ byteCount: Int) -> [UInt8] {
                HostileRequests.modifyRecords(
                    zone: Self.notes,
                    [
                        HostileRequests.save(
                            "big",
                            fields: [HostileRequests.field("text", text: [UInt8](repeating: 0x61, count: byteCount))])
                    ])
            }
            let problem = try await peer.outcome(save(1_000_001))
            #expect(problem?.code == .limitExceeded)
            #expect(problem?.isSentence == true)
            try await peer.take(save(990_000))
        }
    }

    @Test("a record can't grow over 1 MB in small steps")
    func recordGrows() async throws {
        try await inZone { peer, _ in
            var problem: ReceivedStatus?
            for step in 0..<12 {
                let field = HostileRequests.field("part\(step)", text: [UInt8](repeating: 0x61, count: 100_000))
                // ALL_KEYS and CHANGED_KEYS don't compare tags; only the fields sent change.
                let request =
                    HostileRequests.modifyRecords(zone: Self.notes, [HostileRequests.save("big", fields: [field])])
                    + ProtobufField.encode([.varint(2, 1)])
                problem = try await peer.outcome(request)
                if problem != nil { break }
            }
            #expect(problem?.code == .limitExceeded)
        }
    }

    @Test("a request over 2 MB is refused, and the connection goes on")
    func requestSize() async throws {
        try await inZone { peer, _ in
            let saves = (0..<3).map {
                HostileRequests.save(
                    "n\($0)", fields: [HostileRequests.field("text", text: [UInt8](repeating: 0x61, count: 900_000))])
            }
            let status = try await peer.fail(
                Method.recordsModify, HostileRequests.modifyRecords(zone: Self.notes, saves))
            #expect(status.code == .limitExceeded)
            #expect(status.isSentence)
        }
    }

    @Test("a small request that would decode into a large tree is refused in bounded memory")
    func decodingBomb() async throws {
        try await inZone { peer, _ in
            // Each two bytes are an empty field, an empty zone, an empty name.
            for tag in [[0x7a, 0], [0x12, 0], [0x1a, 0]] as [[UInt8]] {
                let many = Array(repeatElement(tag, count: 900_000).joined())
                let inRecord = ProtobufField.encode([
                    .varint(1, 2),
                    .message(5, [.message(1, Self.notes), .message(2, [.text(1, "n"), .text(2, "T"), .raw(many)])]),
                ])
                let inZone = ProtobufField.encode([.varint(1, 2), .message(5, [.message(1, Self.notes), .raw(many)])])
                let atTop = ProtobufField.encode([.varint(1, 2), .raw(many)])
                let isBounded = try await ResidentMemory.growsByLess(than: 256 * 1024 * 1024) { _ in
                    for request in [inRecord, inZone, atTop] {
                        let problem = try await peer.outcome(request)
                        // 0x12 in a save is its type, given 900,000 times: the last one counts, and is empty.
                        #expect(
                            problem.map { [.invalidArguments, .limitExceeded].contains($0.code) } == true, "\(tag)")
                    }
                }
                #expect(isBounded)
            }
        }
    }

    @Test("one record twice in a request is refused")
    func twice() async throws {
        try await inZone { peer, _ in
            for items in [
                [HostileRequests.save("n"), HostileRequests.save("n")],
                [HostileRequests.save("n"), .text(3, "n")],
                [.text(3, "n"), .text(3, "n")],
            ] {
                let problem = try await peer.outcome(HostileRequests.modifyRecords(zone: Self.notes, items))
                #expect(problem?.code == .invalidArguments)
            }
        }
    }

    @Test("one field twice in a record is refused")
    func fieldTwice() async throws {
        try await inZone { peer, _ in
            let fields = [HostileRequests.field("a", text: [0x31]), HostileRequests.field("a", text: [0x32])]
            let problem = try await peer.outcome(
                HostileRequests.modifyRecords(zone: Self.notes, [HostileRequests.save("n", fields: fields)]))
            #expect(problem?.code == .invalidArguments)
        }
    }

    @Test("a database that does not exist is refused", arguments: [0, 4, 5, 1_000_000] as [UInt64])
    func scope(scope: UInt64) async throws {
        try await inZone { peer, _ in
            let problem = try await peer.outcome(
                HostileRequests.modifyRecords(scope: scope, zone: Self.notes, [HostileRequests.save("n")]))
            #expect(problem?.code == .invalidArguments || problem?.code == .badDatabase)
            #expect(problem?.isSentence == true)
        }
    }

    @Test("an operation id that is not 16 bytes is refused", arguments: [1, 15, 17, 100_000])
    func operationID(byteCount: Int) async throws {
        try await inZone { peer, _ in
            let request = HostileRequests.modifyRecords(
                zone: Self.notes, [HostileRequests.save("n")], operationID: [UInt8](repeating: 1, count: byteCount))
            let problem = try await peer.outcome(request)
            #expect(problem?.code == .invalidArguments)
            #expect(problem?.isSentence == true)
        }
    }

    @Test("a client token of more than 1,024 bytes is refused, and nothing is written", arguments: [1_025, 1_000_000])
    func clientToken(byteCount: Int) async throws {
        try await inZone { peer, _ in
            func save(_ name: String, _ byteCount: Int) -> [UInt8] {
                HostileRequests.modifyRecords(
                    zone: Self.notes, [HostileRequests.save(name)],
                    clientToken: [UInt8](repeating: 1, count: byteCount))
            }
            #expect(try await peer.outcome(save("most", 1_024)) == nil)
            let problem = try await peer.outcome(save("n", byteCount))
            #expect(problem?.code == .invalidArguments)
            #expect(problem?.isSentence == true)
            let page = try await peer.succeed(Method.recordsChanges, HostileRequests.changes(zone: Self.notes))
            #expect(page.messages(1).count == 1)
            #expect(page.bytes(5).count == 1_024)
        }
    }

    @Test("what the server writes can't be written by a client")
    func systemFields() async throws {
        try await inZone { peer, _ in
            // Record's numbers for the modifier (6), modified (7), the share (9), the stamp (11), and what the server
            // keeps of sharing (13, 14), in a save, where 6 is the stamp.
            func save(_ fields: [ProtobufField]) -> ProtobufField {
                .message(2, [.text(1, "n"), .text(2, "Note")] + fields)
            }
            let modifier = HostileRequests.modifyRecords(zone: Self.notes, [save([.text(6, "_mallory")])])
            #expect(try await peer.outcome(modifier)?.code == .invalidArguments, "it is no stamp")
            let others = save([
                .varint(7, 4_000_000_000_000), .text(9, "share"), .text(11, "stamp"),
                .text(13, "12345678901234567890"), .text(14, "participants"),
            ])
            let answer = try await peer.call(
                Method.recordsModify, HostileRequests.modifyRecords(zone: Self.notes, [others]))
            let saved = ProtobufReader(try answer.get())?.message(1)?.message(1)?.message(1)
            #expect(saved?.text(4) == saved?.text(6))
            #expect(saved?.varint(7) != 4_000_000_000_000)
            for number in [9, 11, 13, 14] { #expect(saved?.has(number) == false, "\(number)") }
        }
    }
}

/// A double as protobuf carries it.
func doubleBytes(_ value: Double) -> [UInt8] {
    withUnsafeBytes(of: value.bitPattern.littleEndian) { Array($0) }
}

extension FrameClient {
    func makeZone(_ name: String) async throws {
        let answer = try await succeed(
            HostileRequests.Method.zonesModify, HostileRequests.modifyZones(saves: [HostileRequests.zone(name)]))
        guard answer.messages(1).first?.has(1) == true else { throw TestFailure("zone \(name) was not made") }
    }

    /// Saves an empty record, which must succeed.
    func mustSave(_ name: String, in zone: [ProtobufField]) async throws {
        try await take(HostileRequests.modifyRecords(zone: zone, [HostileRequests.save(name)]))
    }

    /// Sends a modification of records that must succeed.
    func take(_ request: [UInt8]) async throws {
        if let problem = try await outcome(request) { throw problem }
    }

    /// Sends a modification of records and returns the first failure, of the call or of an item; nil is success.
    func outcome(_ request: [UInt8]) async throws -> ReceivedStatus? {
        switch try await call(HostileRequests.Method.recordsModify, request) {
        case .failure(let status): return status
        case .success(let payload):
            guard let answer = ProtobufReader(payload) else { throw TestFailure("no protobuf in the answer") }
            for zone in answer.messages(1) {
                for save in zone.messages(1) where save.has(2) { return ReceivedStatus(save.bytes(2)) }
                for deletion in zone.messages(2) where deletion.has(1) { return ReceivedStatus(deletion.bytes(1)) }
            }
            return nil
        }
    }
}
