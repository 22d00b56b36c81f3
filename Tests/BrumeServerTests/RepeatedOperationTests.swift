import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// What an operation gets that is sent again under its id.
@Suite("Operations that are sent again")
struct RepeatedOperationTests {
    private static var coder: MessageCoder { MessageCoder() }

    private static func request(
        _ operation: UInt8, _ saves: [RecordSave<DecodedFields>], isAtomic: Bool = true,
        database: DatabaseScope = .private
    ) -> [UInt8] {
        coder.encodeModifyRecordsRequest(
            ModifyRecordsRequest<DecodedFields>(
                database: database, isAtomic: isAtomic, operationID: [UInt8](repeating: operation, count: 16),
                zones: [ZoneModification(zone: .defaultZone, saves: saves)]))
    }

    private static func save(_ name: String, _ title: String, tag: String = "") -> RecordSave<DecodedFields> {
        RecordSave(name: name, type: "Note", changeTag: tag, fields: ["title": .string(title)])
    }

    private func outcome(
        of request: [UInt8], to peer: FramePeer, of server: SteppedServer
    ) throws -> Result<[UInt8], ServiceError> {
        let stream = peer.start(.recordsModify, request)
        server.settle()
        return try #require(peer.outcome(stream))
    }

    private func codes(_ answer: [UInt8]) throws -> [ErrorCode?] {
        let results: [ZoneModificationResult<Record>] = try answer.withUnsafeBytes {
            try Self.coder.decodeModifyRecordsResponse($0)
        }
        return results[0].saves.map { if case .failure(let error) = $0.outcome { error.code } else { nil } }
    }

    @Test(
        "another request under the same id fails and is not done, before and after a restart", arguments: [false, true])
    func reused(isSnapshotted: Bool) throws {
        let disk = SimulatedDisk()
        var server = try SteppedServer(disk: disk)
        var peer = try server.connect(account: "a")
        let first = Self.request(1, [Self.save("r", "one")])
        let answer = try outcome(of: first, to: peer, of: server).get()
        for round in 0..<2 {
            #expect(try outcome(of: first, to: peer, of: server).get() == answer)
            let error = #expect(throws: ServiceError.self) {
                try outcome(of: Self.request(1, [Self.save("other", "two")]), to: peer, of: server).get()
            }
            #expect(error?.code == .invalidArguments && error?.message.contains("operation id") == true)
            let all = QueryRequest(
                database: .private, zone: nil, query: Query(recordType: "Note", predicate: .constant(true)))
            #expect(try peer.query(all).matches.map(\.record.system.name) == ["r"])
            if round == 0 {
                if isSnapshotted { server.snapshot() }
                disk.crash(seed: 1, .nothing)
                server = try SteppedServer(disk: disk)
                peer = try server.connect(account: "a")
            }
        }
    }

    @Test("zones and subscriptions are compared, too")
    func otherMethods() throws {
        let server = try SteppedServer()
        let peer = try server.connect(account: "a")
        func zones(_ name: String) -> [UInt8] {
            Self.coder.encodeModifyZonesRequest(
                ModifyZonesRequest(
                    database: .private, saves: [ZoneID(name: name)], operationID: [UInt8](repeating: 2, count: 16)))
        }
        func subscriptions(_ id: String) -> [UInt8] {
            Self.coder.encodeModifySubscriptionsRequest(
                ModifySubscriptionsRequest(
                    database: .private, saves: [Subscription(id: id, kind: .database(recordType: ""))],
                    operationID: [UInt8](repeating: 3, count: 16)))
        }
        #expect(try peer.call(.zonesModify, zones("A")) == peer.call(.zonesModify, zones("A")))
        #expect(throws: ServiceError.self) { try peer.call(.zonesModify, zones("B")) }
        #expect(
            try peer.call(.subscriptionsModify, subscriptions("s"))
                == peer.call(.subscriptionsModify, subscriptions("s")))
        #expect(throws: ServiceError.self) { try peer.call(.subscriptionsModify, subscriptions("t")) }
    }

    @Test("an id that comes again with a request of another kind is not taken for the same operation")
    func otherKind() throws {
        let server = try SteppedServer()
        let peer = try server.connect(account: "a")
        let id = [UInt8](repeating: 4, count: 16)
        let deletion = Self.coder.encodeModifyZonesRequest(
            ModifyZonesRequest(database: .private, saves: [ZoneID(name: "A")], operationID: id))
        _ = try peer.call(.zonesModify, deletion)
        let error = #expect(throws: ServiceError.self) {
            try peer.call(
                .subscriptionsModify,
                Self.coder.encodeModifySubscriptionsRequest(
                    ModifySubscriptionsRequest(
                        database: .private, saves: [Subscription(id: "s", kind: .database(recordType: ""))],
                        operationID: id)))
        }
        #expect(error?.code == .invalidArguments)
        let bytes: [UInt8] = [1, 2, 3]
        bytes.withUnsafeBytes {
            #expect(
                OperationDigest(of: $0, kind: .zones) != OperationDigest(of: $0, kind: .records),
                "equal bytes, two kinds")
        }
    }

    @Test("a zone's first token is sealed anew for a retry, and still opens after a restart")
    func zoneTokens() throws {
        let disk = SimulatedDisk()
        var server = try SteppedServer(disk: disk)
        var peer = try server.connect(account: "a")
        let request = Self.coder.encodeModifyZonesRequest(
            ModifyZonesRequest(
                database: .private, saves: [ZoneID(name: "A"), ZoneID(name: "")],
                deletions: [ZoneID(name: "none")], operationID: [UInt8](repeating: 9, count: 16)))
        let answer = try peer.call(.zonesModify, request)
        for isSnapshotted in [false, true] {
            if isSnapshotted { server.snapshot() }
            disk.crash(seed: 1, .nothing)
            server = try SteppedServer(disk: disk)
            peer = try server.connect(account: "a")
            #expect(try peer.call(.zonesModify, request) == answer)
        }
        let result = try answer.withUnsafeBytes { try Self.coder.decodeModifyZonesResponse($0) }
        let token = try #require(try? result.saves[0].get()).changeToken
        #expect(!token.isEmpty)
        _ = try peer.call(
            .recordsChanges,
            Self.coder.encodeZoneChangesRequest(
                ZoneChangesRequest(database: .private, zone: ZoneID(name: "A"), token: token)))
    }

    @Test("an operation of which nothing was done is tried anew, one of which a part was done keeps its answer")
    func failures() throws {
        let server = try SteppedServer()
        let peer = try server.connect(account: "a")
        let conflict = Self.request(4, [Self.save("gone", "x", tag: "a-1")])
        #expect(try codes(outcome(of: conflict, to: peer, of: server).get()) == [.unknownItem])
        try peer.save(["gone"])
        #expect(
            try codes(outcome(of: conflict, to: peer, of: server).get()) == [.serverRecordChanged],
            "it failed for another reason now: it was tried anew")
        #expect(
            try codes(outcome(of: Self.request(4, [Self.save("new", "x")]), to: peer, of: server).get()) == [nil],
            "an id of which nothing was done is free")

        let partly = Self.request(5, [Self.save("part", "x"), Self.save("later", "x", tag: "a-1")], isAtomic: false)
        #expect(try codes(outcome(of: partly, to: peer, of: server).get()) == [nil, .unknownItem])
        try peer.save(["later"])
        #expect(
            try codes(outcome(of: partly, to: peer, of: server).get()) == [nil, .unknownItem],
            "the answer is the one that was lost, its failures included")
    }

    @Test("a user's large answers leave another user's operation remembered, also after a restart")
    func shares() throws {
        let disk = SimulatedDisk()
        var server = try SteppedServer(disk: disk)
        var (quiet, loud) = (try server.connect(account: "a"), try server.connect(account: "b", device: 7))
        let first = Self.request(6, [Self.save("r", "one")], database: .public)
        let answer = try outcome(of: first, to: quiet, of: server).get()
        // Each answers with the whole record: changed without its tag.
        let text = String(repeating: "x", count: 900_000)
        for number in 0..<20 {
            let save = RecordSave<DecodedFields>(
                name: "large", type: "Note", fields: ["title": .string("\(number)"), "text": .string(text)])
            let request = Self.coder.encodeModifyRecordsRequest(
                ModifyRecordsRequest<DecodedFields>(
                    database: .public, savePolicy: .changedKeys,
                    operationID: [UInt8](repeating: 100 + UInt8(number), count: 16),
                    zones: [ZoneModification(zone: .defaultZone, saves: [save])]))
            #expect(try outcome(of: request, to: loud, of: server).get().count > (number == 0 ? 0 : 900_000))
            if number == 10 {
                server.snapshot()
                disk.crash(seed: 1, .nothing)
                server = try SteppedServer(disk: disk)
                (quiet, loud) = (try server.connect(account: "a"), try server.connect(account: "b", device: 7))
            }
        }
        #expect(try outcome(of: first, to: quiet, of: server).get() == answer)
    }

    @Test("a digest tells every byte and length, and is the same in every version")
    func digest() {
        let message = (0..<100).map { UInt8($0) }
        var digests = Set<OperationDigest>()
        func digest(_ bytes: [UInt8]) -> OperationDigest {
            bytes.withUnsafeBytes { OperationDigest(of: $0, kind: .records) }
        }
        for count in 0...message.count {
            #expect(digests.insert(digest(Array(message.prefix(count)))).inserted)
            #expect(digests.insert(digest([UInt8](repeating: 0, count: count + 200))).inserted)
        }
        for index in message.indices {
            for bit in 0..<8 {
                var changed = message
                changed[index] ^= 1 << bit
                #expect(digests.insert(digest(changed)).inserted, "byte \(index), bit \(bit)")
            }
        }
        #expect(digest(message) == OperationDigest(front: 0x111ff3720b3ba0c8, back: 0xa925ea5bfadd09b3))
    }
}
