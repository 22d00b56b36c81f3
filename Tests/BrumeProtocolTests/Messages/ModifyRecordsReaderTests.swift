import BrumeModel
import BrumeProtocol
import BrumeRecord
import BrumeRandom
import BrumeTestKit
import Testing

/// What reading in place gives is what the message gives, whatever the bytes are.
struct ModifyRecordsReaderTests {
    private typealias Outcome = Result<ModifyRecordsRequest<CheckedFields>, ServiceError>

    /// Both ways of reading.
    private static func outcomes(_ bytes: [UInt8], _ coder: MessageCoder) throws -> (Outcome, Outcome) {
        (
            try outcome { try bytes.decoded(coder.decodeModifyRecordsRequest) },
            try outcome { try bytes.decoded(coder.decodeModifyRecordsMessage) }
        )
    }

    private static let key = ProtoBytes().text(1, "key")

    private static let sealed = EncryptedSamples.header().bytes + [UInt8](repeating: 3, count: 72)

    private static let secret = EncryptedSamples.header().bytes + [UInt8](repeating: 3, count: 136)

    private static let checksum = [UInt8](repeating: 7, count: 32)
    private static let asset = ProtoBytes().bytes(1, checksum).varint(2, 5).double(3, 1)

    /// Fields that are right, and such that are nearly.
    private static var fields: [ProtoBytes] {
        let values: [ProtoBytes] = [
            ProtoBytes().text(1, "é"), ProtoBytes().bytes(1, [0xFF]), ProtoBytes().text(1, ""),
            ProtoBytes().varint(2, 0), ProtoBytes().varint(2, .max), ProtoBytes().varint(2, 300),
            // Two bytes for one; ten with bits that a number has no room for; a fixed number for a varint.
            ProtoBytes().raw([0x10, 0x81, 0x00]),
            ProtoBytes().raw([0x10] + [UInt8](repeating: 0xFF, count: 9) + [0x7F]),
            ProtoBytes().double(2, 1), ProtoBytes().double(3, .nan), ProtoBytes().double(3, -0.0),
            ProtoBytes().varint(3, 7), ProtoBytes().bytes(4, []), ProtoBytes().bytes(4, [1, 2]),
            ProtoBytes().raw([0x22, 0x81, 0x00, 7]), ProtoBytes().double(5, 1.5), ProtoBytes().double(5, .infinity),
            ProtoBytes().message(6, ProtoBytes().double(1, 91)), ProtoBytes().message(6, ProtoBytes().double(1, 9)),
            ProtoBytes().message(7, ProtoBytes().text(1, "other").varint(2, 1)),
            ProtoBytes().message(7, ProtoBytes().varint(2, 1).text(1, "other")),
            ProtoBytes().message(8, ProtoBytes().text(1, "a").text(1, "")), ProtoBytes().message(8, ProtoBytes()),
            ProtoBytes().bytes(33, sealed), ProtoBytes().bytes(47, sealed), ProtoBytes().bytes(36, []),
            ProtoBytes().bytes(34, sealed + [0]), ProtoBytes().bytes(35, [2] + sealed.dropFirst()),
            ProtoBytes().bytes(39, sealed), ProtoBytes().bytes(46, sealed), ProtoBytes().bytes(48, sealed),
            ProtoBytes().bytes(49, sealed), ProtoBytes().message(48, ProtoBytes()),
            ProtoBytes().message(49, ProtoBytes()),
            ProtoBytes().message(48, ProtoBytes().message(1, asset)),
            ProtoBytes().message(49, ProtoBytes().message(1, asset)),
            ProtoBytes().message(48, ProtoBytes().bytes(2, secret)),
            ProtoBytes().message(49, ProtoBytes().bytes(2, secret)),
            ProtoBytes().message(48, ProtoBytes().message(1, asset).bytes(2, secret)),
            ProtoBytes().message(48, ProtoBytes().bytes(2, secret).message(1, asset.bytes(4, [1, 2]))),
            ProtoBytes().message(48, ProtoBytes().message(1, asset).message(1, asset).bytes(2, secret)),
            ProtoBytes().message(49, ProtoBytes().message(1, asset.bytes(4, [1])).bytes(2, secret)),
            ProtoBytes().message(49, ProtoBytes().message(1, asset).message(1, asset).bytes(2, secret)),
            ProtoBytes().message(49, ProtoBytes().message(1, ProtoBytes()).bytes(2, secret)),
            ProtoBytes().varint(33, 1), ProtoBytes().bytes(33, sealed).varint(2, 1),
            // Three bytes for the two of a tag, and for the length.
            ProtoBytes().raw([0x8A, 0x82, 0x00, 95] + sealed), ProtoBytes().raw([0x8A, 0x02, 0xDF, 0x00] + sealed),
            ProtoBytes().message(15, ProtoBytes()), ProtoBytes().message(15, ProtoBytes().varint(1, 1)),
            ProtoBytes().message(8, ProtoBytes().bytes(1, [0xFF])), ProtoBytes().message(8, ProtoBytes().varint(1, 1)),
            ProtoBytes().message(8, ProtoBytes().text(1, "a").text(2, "b")),
            ProtoBytes().message(8, ProtoBytes().raw([0x0A, 0x81, 0x00, 97])),
            // An asset; one in another order; with a receipt; with what nobody knows; with a checksum that is none.
            ProtoBytes().message(16, asset), ProtoBytes().message(16, ProtoBytes().varint(2, 5).bytes(1, checksum)),
            ProtoBytes().message(16, asset.bytes(4, [1, 2])), ProtoBytes().message(16, asset.varint(9, 1)),
            ProtoBytes().message(16, ProtoBytes().bytes(1, [1])), ProtoBytes().message(17, ProtoBytes()),
            ProtoBytes().message(17, ProtoBytes().message(1, asset.bytes(4, [1])).message(1, asset.bytes(4, [2]))),
            ProtoBytes().message(17, ProtoBytes().message(1, asset).message(1, ProtoBytes())),
            // Numbers in one piece; one by one; two bytes for one; ten bytes, and eleven; cut off; none.
            ProtoBytes().message(9, ProtoBytes().bytes(1, [1, 2, 0x80, 0x01])),
            ProtoBytes().message(9, ProtoBytes().varint(1, 4).varint(1, 6)),
            ProtoBytes().message(9, ProtoBytes().bytes(1, [0x81, 0x00])),
            ProtoBytes().message(9, ProtoBytes().bytes(1, [UInt8](repeating: 0xFF, count: 9) + [1])),
            ProtoBytes().message(9, ProtoBytes().bytes(1, [UInt8](repeating: 0xFF, count: 9) + [3])),
            ProtoBytes().message(9, ProtoBytes().bytes(1, [UInt8](repeating: 0xFF, count: 10) + [1])),
            ProtoBytes().message(9, ProtoBytes().bytes(1, [0x80])), ProtoBytes().message(9, ProtoBytes().bytes(1, [])),
            ProtoBytes().message(9, ProtoBytes().bytes(1, [1]).bytes(1, [2])),
            ProtoBytes().message(10, ProtoBytes().bytes(1, [UInt8](repeating: 0, count: 16))),
            ProtoBytes().message(10, ProtoBytes().bytes(1, [UInt8](repeating: 0, count: 12))),
            ProtoBytes().message(10, ProtoBytes().bytes(1, [UInt8](repeating: 0xFF, count: 8))),
            ProtoBytes().message(10, ProtoBytes().double(1, 4)),
            ProtoBytes().message(11, ProtoBytes().bytes(1, []).bytes(1, [0xFF])),
            ProtoBytes().message(12, ProtoBytes().bytes(1, [UInt8](repeating: 1, count: 8))),
            ProtoBytes().message(12, ProtoBytes().bytes(1, [UInt8](repeating: 0xFF, count: 8))),
            ProtoBytes().message(13, ProtoBytes().message(1, ProtoBytes()).message(1, ProtoBytes().double(2, -180))),
            ProtoBytes().message(13, ProtoBytes().message(1, ProtoBytes().double(2, 181))),
            ProtoBytes().message(13, ProtoBytes().message(1, ProtoBytes().double(1, 1).double(8, -3))),
            ProtoBytes().message(13, ProtoBytes().message(1, ProtoBytes().double(8, 1).double(1, 3))),
            ProtoBytes().message(13, ProtoBytes().message(1, ProtoBytes().double(3, 0))),
            ProtoBytes().message(13, ProtoBytes().message(1, ProtoBytes().double(3, -0.0))),
            ProtoBytes().message(13, ProtoBytes().message(1, ProtoBytes().double(3, .infinity))),
            ProtoBytes().message(13, ProtoBytes().message(1, ProtoBytes().double(9, 1))),
            // Field 0, which no message has.
            ProtoBytes().message(13, ProtoBytes().message(1, ProtoBytes().raw([1, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F]))),
            ProtoBytes().message(6, ProtoBytes().raw([1, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F])),
            ProtoBytes().message(13, ProtoBytes().message(1, ProtoBytes().varint(1, 1))),
            ProtoBytes().message(13, ProtoBytes()), ProtoBytes().message(14, ProtoBytes()),
            ProtoBytes().message(14, ProtoBytes().message(1, ProtoBytes().text(1, "other"))),
            ProtoBytes().message(6, ProtoBytes()), ProtoBytes().message(6, ProtoBytes().double(1, -90).double(2, 180)),
            ProtoBytes().text(1, "a").varint(2, 5), ProtoBytes().varint(20, 1),
            ProtoBytes().text(1, "a").varint(99, 5), ProtoBytes(),
        ]
        return values.map { key.message(2, $0) } + [
            key, ProtoBytes(), ProtoBytes().text(1, "0"), ProtoBytes().text(1, ""), ProtoBytes().text(1, "é"),
            ProtoBytes().message(2, ProtoBytes().varint(2, 1)).text(1, "key"),
            key.message(2, ProtoBytes().varint(2, 1)).text(1, "yek"),
            key.message(2, ProtoBytes().varint(2, 1)).message(2, ProtoBytes().text(1, "x")),
            key.message(2, ProtoBytes().varint(2, 1)).varint(9, 1),
            ProtoBytes().raw([0x0A, 0x83, 0x00]).raw([107, 101, 121]),
        ]
    }

    @Test("a field in whatever encoding is the same field, or the same failure")
    func everyField() throws {
        let coder = MessageCoder()
        var successes = 0
        for field in Self.fields {
            for fields in [
                [field], [ProtoBytes().text(1, "a").message(2, ProtoBytes().varint(2, 1)), field], [field, field],
            ] {
                var save = ProtoBytes().text(1, "name").text(2, "Note")
                for field in fields { save = save.message(15, field) }
                let zone = ProtoBytes().message(1, ProtoBytes().text(1, "Notes")).message(2, save)
                let bytes = ProtoBytes().varint(1, 2).message(5, zone).bytes
                let (inPlace, byMessage) = try Self.outcomes(bytes, coder)
                #expect(inPlace == byMessage, "\(bytes)")
                if case .success(let request) = inPlace, request.zones[0].saves[0].fields.problem == nil {
                    successes += 1
                }
            }
        }
        #expect(successes > 50)
    }

    @Test("fields between others are the same, whatever their heads are and whatever stands beside them")
    func neighbours() throws {
        let coder = MessageCoder()
        func plain(_ key: String) -> ProtoBytes {
            ProtoBytes().message(15, ProtoBytes().text(1, key).message(2, ProtoBytes().varint(2, 7)))
        }
        let content = ProtoBytes().text(1, "m").message(2, ProtoBytes().varint(2, 1)).bytes
        let count = UInt8(content.count)
        let reference = ProtoBytes().message(7, ProtoBytes().text(1, "other").varint(2, 1))
        let middles: [ProtoBytes] = [
            // A tag and a length of two bytes where one is enough.
            ProtoBytes().raw([0xFA, 0x00, count] + content), ProtoBytes().raw([0x7A, count | 0x80, 0x00] + content),
            ProtoBytes().message(15, ProtoBytes().text(1, "m")),
            ProtoBytes().message(15, ProtoBytes().text(1, "m").message(2, reference)), plain("m"), ProtoBytes(),
        ]
        for middle in middles {
            var save = ProtoBytes().text(1, "name").text(2, "Note")
            for field in [plain("a"), plain("b"), middle, plain("x"), plain("y")] { save = save.raw(field.bytes) }
            let zone = ProtoBytes().message(1, ProtoBytes().text(1, "Notes")).message(2, save)
            let (inPlace, byMessage) = try Self.outcomes(ProtoBytes().varint(1, 2).message(5, zone).bytes, coder)
            #expect(inPlace == byMessage, "\(middle.bytes)")
            let fields = try inPlace.get().zones[0].saves[0].fields
            #expect(fields.problem == nil && fields.puts.count >= 4)
        }
    }

    @Test("a request whose bytes were changed at random is the same request, or the same failure", arguments: 1...4)
    func mutations(seed: UInt64) throws {
        let coder = MessageCoder()
        var random = SeededGenerator(seed: seed)
        let sample = coder.encodeModifyRecordsRequest(MessageSamples.modifyRequest)
        var plain = MessageSamples.modifyRequest
        plain.zones[0].saves[0].fields = [
            "a": .int64(-1), "b": .string("x"), "c": .bytes([1]), "d": .double(2), "e": .date(3),
            "f": .int64s([1, -300, .max]), "g": .strings(["é", ""]), "h": .dates([1, 2]), "i": .doubles([0, .nan]),
            "j": .locations([Location(latitude: 1, longitude: -2), Location(latitude: 0, longitude: 0)]),
        ]
        let samples = [sample, coder.encodeModifyRecordsRequest(plain)]
        for bytes in samples {
            let (inPlace, byMessage) = try Self.outcomes(bytes, coder)
            #expect(inPlace == byMessage)
        }
        for round in 0..<4_000 {
            let bytes = samples[round % 2].mutated(&random)
            let (inPlace, byMessage) = try Self.outcomes(bytes, coder)
            #expect(inPlace == byMessage, "seed \(seed), round \(round): \(bytes)")
        }
    }

    @Test(
        "the hash of a ring's entry has its length, in whatever encoding it comes", arguments: [0, 1, 31, 32, 33, 64])
    func ringEntryHash(byteCount: Int) throws {
        let coder = MessageCoder()
        var request = MessageSamples.modifyRequest
        let hash = [UInt8](repeating: 9, count: byteCount)
        request.zones[0].ringEntryHash = hash
        let (inPlace, byMessage) = try Self.outcomes(coder.encodeModifyRecordsRequest(request), coder)
        #expect(inPlace == byMessage)
        switch inPlace {
        case .success(let read): #expect([0, 32].contains(byteCount) && read.zones[0].ringEntryHash == hash)
        case .failure(let error): #expect(![0, 32].contains(byteCount) && error.code == .invalidArguments)
        }
    }

    @Test("the receipts of assets are apart from what is stored", arguments: [false, true])
    func receipts(inAnotherOrder: Bool) throws {
        let coder = MessageCoder()
        var request = MessageSamples.modifyRequest
        let photo = RecordSamples.asset(1, byteCount: 5)
        func uploaded(_ receipt: UInt8) -> Asset {
            var asset = photo
            asset.receipt = [receipt, receipt]
            return asset
        }
        request.zones[0].saves[0].fields = [
            "a": .asset(uploaded(1)), "b": .assets([uploaded(2), photo, uploaded(3)]),
            "c": EncryptedSamples.asset(uploaded(4)), "d": EncryptedSamples.assets([uploaded(5), photo, uploaded(6)]),
        ]
        let bytes = coder.encodeModifyRecordsRequest(request)
        let arrived = try bytes.decoded(
            inAnotherOrder ? coder.decodeModifyRecordsMessage : coder.decodeModifyRecordsRequest)
        #expect(arrived.receipts == (1...6).map { [$0, $0] })
        let save = arrived.zones[0].saves[0]
        #expect(save.fields.mayHoldAssets)
        let expected: [(String, FieldValue)] = [
            ("a", .asset(photo)), ("b", .assets([photo, photo, photo])), ("c", EncryptedSamples.asset(photo)),
            ("d", EncryptedSamples.assets([photo, photo, photo])),
        ]
        #expect(save.fields.puts == EncodedFields(expected.map { StoredRecord.encodeField(key: $0.0, value: $0.1) }))
    }

    @Test("places and references in the lists of a request have a limit, in whatever encoding they come")
    func listMessages() throws {
        let coder = MessageCoder()
        let limit = Limits.listMessagesPerRequest
        func request(_ count: Int, _ kind: UInt64, _ element: [UInt8], before: ProtoBytes = ProtoBytes()) -> [UInt8] {
            var zone = ProtoBytes().message(1, ProtoBytes().text(1, "Notes"))
            for (name, count) in [("a", count / 2), ("b", count - count / 2)] {
                let list = ProtoBytes().raw((0..<count).flatMap { _ in element })
                let field = Self.key.message(2, before.message(kind, list))
                zone = zone.message(2, ProtoBytes().text(1, name).text(2, "Note").message(15, field))
            }
            return ProtoBytes().varint(1, 2).message(5, zone).bytes
        }
        let reference: [UInt8] = [10, 3, 10, 1, 97]
        // An empty place; one with a number that is left out otherwise; after a value of another kind.
        let cases: [(UInt64, [UInt8], ProtoBytes)] = [
            (13, [10, 0], ProtoBytes()), (13, [10, 9, 9, 0, 0, 0, 0, 0, 0, 0, 0], ProtoBytes()),
            (14, reference, ProtoBytes()), (13, [10, 0], ProtoBytes().varint(2, 1)),
            (17, ProtoBytes().message(1, ProtoBytes().bytes(1, Self.checksum)).bytes, ProtoBytes()),
        ]
        // What opens them is missing, which is a problem of the record and no excuse for more of them.
        let encrypted: [(UInt64, [UInt8], ProtoBytes)] = [
            (49, ProtoBytes().message(1, ProtoBytes().bytes(1, Self.checksum)).bytes, ProtoBytes()),
            (49, [10, 0], ProtoBytes()),
        ]
        for (kind, element, before) in cases + encrypted {
            for count in [limit, limit + 1] {
                let bytes = request(count, kind, element, before: before)
                let (inPlace, byMessage) = try Self.outcomes(bytes, coder)
                #expect(inPlace == byMessage)
                switch inPlace {
                case .success(let request):
                    #expect(count == limit)
                    #expect(request.zones[0].saves.allSatisfy { ($0.fields.problem == nil) == (kind < 32) })
                case .failure(let error): #expect(error.code == .limitExceeded && count > limit)
                }
            }
        }
    }

    @Test("what the reader says of a request holds: no name twice, and no reference where none may be")
    func knowledge() throws {
        let coder = MessageCoder()
        let photo = RecordSamples.asset(1, byteCount: 5)
        let fields: [(value: FieldValue, mayHold: Bool)] = [
            (.asset(photo), false), (.assets([photo]), false), (EncryptedSamples.asset(photo), false),
            (EncryptedSamples.assets([photo, photo]), false),
            (EncryptedSamples.value(), false), (EncryptedSamples.value(.emptyList), false),
            (.int64(1), false), (.string("x"), false), (.bytes([1]), false), (.date(3), false),
            (.reference(Reference(recordName: "r", deletesSelf: true)), true),
            (.references([Reference(recordName: "r", deletesSelf: true)]), true),
        ]
        for (value, mayHold) in fields {
            var request = MessageSamples.modifyRequest
            request.zones[0].saves[0].fields = ["a": .int64(0), "f": value]
            let arrived = try coder.encodeModifyRecordsRequest(request).decoded(coder.decodeModifyRecordsRequest)
            let save = arrived.zones[0].saves[0]
            #expect(save.fields.mayHoldReferences == mayHold, "\(value)")
            #expect(save.fields.mayHoldAssets == FieldKind(value).namesAssets, "\(value)")
            let headers = Self.headers(in: save)
            #expect(save.fields.mayHoldEncrypted == !headers.isEmpty)
            #expect(headers == (FieldKind(value).isEncrypted ? [EncryptedSamples.header()] : []))
            #expect(arrived.zones[0].isKnownDistinct)
            let cascades = try save.fields.puts.bytes.array.decoded { bytes throws(ServiceError) in
                try StoredRecord.cascades(of: bytes)
            }
            #expect(cascades.targets.isEmpty != mayHold)
        }
    }

    @Test("an encrypted value is noticed in any encoding") func encryptedValues() throws {
        let coder = MessageCoder()
        guard case .encrypted(let value) = EncryptedSamples.value() else { return }
        // Its tag with a byte more than it needs, an unknown field beside it, and as it is stored.
        let content = ProtoBytes().bytes(33, value.bytes)
        let longTag = ProtoBytes().raw([0x8A, 0x82, 0x00] + content.bytes.dropFirst(2))
        let values = [content.varint(99, 1), longTag, content]
        for (index, value) in values.enumerated() {
            let field = ProtoBytes().text(1, "e").message(2, value)
            let save = ProtoBytes().text(1, "r").text(2, "Note").message(15, field)
            let zone = ProtoBytes().message(1, ProtoBytes().text(1, "Notes")).message(2, save)
            let (inPlace, byMessage) = try Self.outcomes(ProtoBytes().varint(1, 2).message(5, zone).bytes, coder)
            for request in [try inPlace.get(), try byMessage.get()] {
                let save = request.zones[0].saves[0]
                #expect(save.fields.problem == nil && save.fields.mayHoldEncrypted, "\(index)")
                #expect(Self.headers(in: save) == [EncryptedSamples.header()], "\(index)")
            }
        }
    }

    private static func headers(in save: RecordSave<CheckedFields>) -> [EncryptedHeader] {
        var headers: [EncryptedHeader] = []
        save.fields.puts.forEachEncryptedHeader {
            headers.append($0)
            return true
        }
        return headers
    }
}
