import BrumeModel
import BrumeRandom
import BrumeTestKit
import CBrumeProto
import Testing

@testable import BrumeProtocol
@testable import BrumeRecord

/// What reading in place gives is what the message gives, whatever the bytes are.
struct FetchRecordsReaderTests {
    @Test("a request in whatever encoding is the same request, or the same failure")
    func encodings() throws {
        let coder = MessageCoder()
        let zone = ProtoBytes().message(1, ProtoBytes().text(1, "Notes"))
        let user = "_" + String(repeating: "0a", count: 16)
        let zones: [ProtoBytes] = [
            zone.text(2, "a").text(2, "b").text(2, "a"), zone, zone.bytes(2, [0xFF]), zone.text(2, ""),
            zone.varint(2, 1), zone.text(2, "a").varint(9, 1), ProtoBytes().text(2, "a").message(1, ProtoBytes()),
            ProtoBytes().text(2, "a"), zone.message(1, ProtoBytes().text(1, "Others")),
            ProtoBytes().message(1, ProtoBytes().text(1, "").text(2, "")),
            ProtoBytes().message(1, ProtoBytes().text(1, "Notes").text(2, user)).text(2, "a"),
            ProtoBytes().message(1, ProtoBytes().text(1, "Notes").text(2, "somebody")).text(2, "a"),
            ProtoBytes().message(1, ProtoBytes().text(1, "_Notes")).text(2, "a"), ProtoBytes(),
        ]
        var requests = zones.map { ProtoBytes().varint(1, 2).message(2, $0) }
        requests += [
            ProtoBytes(), ProtoBytes().varint(1, 0).message(2, zone), ProtoBytes().varint(1, 3).message(2, zone),
            ProtoBytes().varint(1, 1), ProtoBytes().message(2, zone.text(2, "a")).varint(1, 2),
            ProtoBytes().varint(1, 1).varint(1, 2).message(2, zone), ProtoBytes().varint(1, 9).message(2, zone),
            ProtoBytes().varint(1, 2).message(2, zone).message(2, zone),
            ProtoBytes().varint(1, 2).message(2, zone).message(2, zones[10]),
            ProtoBytes().varint(1, 2).message(2, zone).message(3, ProtoBytes().text(1, "key")),
            ProtoBytes().varint(1, 2).message(2, zone).varint(77, 1),
            // Tags and lengths in more bytes than they need: five are taken, six are not.
            ProtoBytes().varint(1, 2).raw([0x92, 0x80, 0x00]).raw([0]),
            ProtoBytes().varint(1, 2).raw([0x92, 0x80, 0x80, 0x80, 0x80, 0x00]).raw([0]),
            ProtoBytes().varint(1, 2).raw([0x12, 0x80, 0x80, 0x80, 0x80, 0x00]),
            ProtoBytes().varint(1, 2).raw([0x12, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00]),
            ProtoBytes().raw([0x88, 0x80, 0x80, 0x80, 0x80, 0x00, 2]).message(2, zone),
        ]
        for count in [400, 401] {
            var many = zone
            for number in 0..<count { many = many.text(2, "r\(number)") }
            requests.append(ProtoBytes().varint(1, 2).message(2, many))
        }
        var successes = 0
        for request in requests {
            let inPlace = try outcome { try request.bytes.decoded(coder.decodeFetchRecordsRequest) }
            let byMessage = try outcome { try request.bytes.decoded(coder.decodeFetchRecordsMessage) }
            #expect(inPlace == byMessage, "\(request.bytes.prefix(100))")
            if case .success = inPlace { successes += 1 }
        }
        #expect(successes > 8)
        let plain = requests[0].bytes
        #expect(plain.withUnsafeBytes { FetchRecordsReader.read($0) } != nil)
    }

    @Test("a request whose bytes were changed at random is the same request, or the same failure", arguments: 1...4)
    func mutations(seed: UInt64) throws {
        let coder = MessageCoder()
        var random = SeededGenerator(seed: seed)
        let sample = coder.encodeFetchRecordsRequest(
            FetchRecordsRequest(
                database: .private,
                zones: [
                    .init(zone: MessageSamples.zone, names: ["x", "y"]), .init(zone: .defaultZone, names: ["x", "z"]),
                ]))
        for round in 0..<4_000 {
            let bytes = sample.mutated(&random)
            let inPlace = try outcome { try bytes.decoded(coder.decodeFetchRecordsRequest) }
            let byMessage = try outcome { try bytes.decoded(coder.decodeFetchRecordsMessage) }
            #expect(inPlace == byMessage, "seed \(seed), round \(round): \(bytes)")
        }
    }

    private static func text(_ data: ProtobufCBinaryData) -> String? {
        String(validating: UnsafeBufferPointer(start: data.data, count: data.len), as: UTF8.self)
    }

    @Test("a call's header is what its message says, whatever was done to its bytes", arguments: 1...4)
    func calls(seed: UInt64) throws {
        let coder = MessageCoder()
        var random = SeededGenerator(seed: seed)
        let samples = [
            coder.encodeCall(CallHeader(method: .recordsModify)),
            coder.encodeCall(CallHeader(method: .zonesFetch, timeoutMilliseconds: 70_000)),
            coder.encodeCall(CallHeader(method: .recordsQuery, timeoutMilliseconds: 1, requestID: "r")),
        ]
        for round in 0..<4_000 {
            let bytes = samples[round % samples.count].mutated(&random)
            let arena = MessageArena(bytesLimit: 1024 * 1024)
            var hasProblem = false
            let expected: CallHeader? = bytes.withUnsafeBytes { bytes in
                guard let message = arena.unpack(brume__v1__call__unpack, bytes) else { return nil }
                let requestID = Self.text(message.pointee.request_id)
                let group = Self.text(message.pointee.operation_group)
                hasProblem = requestID == nil || group == nil
                return CallHeader(
                    method: Method(rawValue: message.pointee.method.rawValue),
                    timeoutMilliseconds: message.pointee.timeout_milliseconds,
                    requestID: hasProblem ? "" : requestID!, operationGroup: hasProblem ? "" : group!)
            }
            withExtendedLifetime(arena) {}
            var header = try? bytes.decoded(coder.decodeCall)
            #expect((header?.problem != nil) == hasProblem, "seed \(seed), round \(round): \(bytes)")
            header?.problem = nil
            #expect(header == expected, "seed \(seed), round \(round): \(bytes)")
        }
    }
}
