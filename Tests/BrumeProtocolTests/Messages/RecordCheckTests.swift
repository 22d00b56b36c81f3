import BrumeModel
import BrumeProtocol
import BrumeRecord
import BrumeTestKit
import Testing

/// What is wrong with one record of a request is that record's failure, and the others go on.
struct RecordCheckTests {
    private let coder = MessageCoder()

    /// What became of one save that stands between two good ones.
    private func check(_ save: ProtoBytes) throws -> RecordSave<CheckedFields> {
        let good = [field("key", value().varint(2, 2))]
        let zone = ProtoBytes().message(1, ProtoBytes().text(1, "Notes"))
            .message(2, record(good, name: "first")).message(2, save).message(2, record(good, name: "last"))
        let request = try ProtoBytes().varint(1, 2).message(5, zone).bytes.decoded(coder.decodeModifyRecordsRequest)
        let saves = request.zones[0].saves
        #expect(saves.map(\.name).first == "first" && saves.map(\.name).last == "last")
        #expect(saves[0].fields.problem == nil && saves[2].fields.problem == nil)
        #expect(try keys(of: saves[0]) == ["key"])
        return saves[1]
    }

    private func keys(of save: RecordSave<CheckedFields>) throws -> [String] {
        try StoredRecord.parts(of: save.fields.puts.bytes).fields.map(\.key)
    }

    private func problem(_ save: ProtoBytes) throws -> ErrorCode? {
        let problem = try check(save).fields.problem
        if let problem { #expect(!problem.message.isEmpty) }
        return problem?.code
    }

    private func record(_ fields: [ProtoBytes], name: String = "name", type: String = "Note") -> ProtoBytes {
        fields.reduce(ProtoBytes().text(1, name).text(2, type)) { $0.message(15, $1) }
    }

    private func field(_ key: String, _ value: ProtoBytes) -> ProtoBytes { ProtoBytes().text(1, key).message(2, value) }

    private func value() -> ProtoBytes { ProtoBytes() }

    private func problem(value: ProtoBytes) throws -> ErrorCode? { try problem(record([field("key", value)])) }

    @Test(
        "a bad record name is its item's problem",
        arguments: [
            "", "_x", "a\0b", "tab\t", "é", String(repeating: "x", count: 256), "_" + String(repeating: "a", count: 32),
        ])
    func recordNames(name: String) throws {
        let save = try check(record([], name: name))
        #expect(save.fields.problem?.code == .invalidArguments)
        #expect(save.name == name)
    }

    @Test("names that are no UTF-8 keep their place and fail")
    func unreadableNames() throws {
        #expect(try problem(ProtoBytes().bytes(1, [0x61, 0xFF]).text(2, "Note")) == .invalidArguments)
        #expect(try problem(ProtoBytes().text(1, "a").bytes(2, [0xC3])) == .invalidArguments)
        #expect(
            try problem(record([ProtoBytes().bytes(1, [0xED, 0xA0, 0x80]).message(2, value())])) == .invalidArguments)
    }

    @Test("a user's record passes with its type only, for permission is decided elsewhere")
    func userRecords() throws {
        #expect(try problem(record([], name: RecordSamples.userName, type: "Users")) == nil)
        #expect(try problem(record([], name: RecordSamples.userName, type: "Note")) == .invalidArguments)
    }

    @Test("a bad type, key or parent is its item's problem")
    func otherNames() throws {
        for name in ["", "1", "a-b", "_a", "é", "a\0", String(repeating: "x", count: 256)] {
            #expect(try problem(record([], type: name)) == .invalidArguments)
            #expect(try problem(record([field(name, value().varint(2, 0))])) == .invalidArguments)
        }
        #expect(try problem(record([ProtoBytes().message(2, value().varint(2, 0))])) == .invalidArguments)
        #expect(try problem(record([]).text(4, "_bad")) == .invalidArguments)
        #expect(try problem(record([]).text(4, "")) == .invalidArguments)
        #expect(try check(record([]).varint(5, 0)).parent == .unchanged)
    }

    @Test("a key twice is a problem, whether set or removed")
    func keysTwice() throws {
        let one = field("key", value().varint(2, 2))
        let other = field("other", value().varint(2, 2))
        #expect(try problem(record([one, other, one])) == .invalidArguments)
        #expect(try problem(record([one, other, ProtoBytes().text(1, "key")])) == .invalidArguments)
    }

    @Test("fields come out sorted by key")
    func sorted() throws {
        let keys = (0..<100).map { "k\($0 * 37 % 100)" }
        let save = try check(record(keys.map { field($0, value().varint(2, 2)) }))
        #expect(try self.keys(of: save) == keys.sorted())
    }

    @Test("4,096 fields are allowed in a record, 4,097 are not")
    func fieldLimit() throws {
        let fields = (0..<4_097).map { field("k\($0)", value().varint(2, 2)) }
        #expect(try problem(record(fields.dropLast())) == nil)
        #expect(try problem(record(fields)) == .limitExceeded)
    }

    @Test("text has to be UTF-8 and may hold NUL")
    func text() throws {
        #expect(try problem(value: value().text(1, "a\0b")) == nil)
        for bytes: [UInt8] in [[0xFF], [0x61, 0xC0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82]] {
            #expect(try problem(value: value().bytes(1, bytes)) == .invalidArguments)
            let list = ProtoBytes().text(1, "good").bytes(1, bytes)
            #expect(try problem(value: value().message(8, list)) == .invalidArguments)
            #expect(try problem(value: value().bytes(4, bytes)) == nil)
        }
    }

    @Test("dates have to be finite", arguments: [Double.nan, .infinity, -.infinity])
    func dates(seconds: Double) throws {
        #expect(try problem(value: value().double(5, seconds)) == .invalidArguments)
        let list = ProtoBytes().double(1, 1).double(1, seconds)
        #expect(try problem(value: value().message(12, list)) == .invalidArguments)
        #expect(try problem(value: value().double(3, seconds)) == nil)
    }

    @Test("locations have to be on Earth, in finite numbers")
    func locations() throws {
        let bad: [ProtoBytes] = [
            ProtoBytes().double(1, 90.001), ProtoBytes().double(1, -90.001), ProtoBytes().double(2, 180.5),
            ProtoBytes().double(2, -181), ProtoBytes().double(1, .nan), ProtoBytes().double(2, .infinity),
            ProtoBytes().double(3, .nan), ProtoBytes().double(8, .infinity),
        ]
        for location in bad {
            #expect(try problem(value: value().message(6, location)) == .invalidArguments)
            let list = ProtoBytes().message(1, ProtoBytes()).message(1, location)
            #expect(try problem(value: value().message(13, list)) == .invalidArguments)
        }
        #expect(try problem(value: value().message(6, ProtoBytes().double(1, 90).double(2, -180))) == nil)
    }

    @Test("references need a record's name and a known action")
    func references() throws {
        let bad: [ProtoBytes] = [
            ProtoBytes(), ProtoBytes().text(1, "_x"), ProtoBytes().bytes(1, [0xFF]),
            ProtoBytes().text(1, "a").varint(2, 2),
        ]
        for reference in bad {
            #expect(try problem(value: value().message(7, reference)) == .invalidArguments)
            #expect(try problem(value: value().message(14, ProtoBytes().message(1, reference))) == .invalidArguments)
        }
        #expect(try problem(value: value().message(7, ProtoBytes().text(1, RecordSamples.userName))) == nil)
    }

    @Test("a value without a kind, or with one of the future, is a problem")
    func kinds() throws {
        #expect(try problem(value: value()) == .invalidArguments)
        #expect(try problem(value: value().text(99, "future")) == .invalidArguments)
    }

    @Test("an encrypted value of each kind is kept as it came")
    func encrypted() throws {
        for kind in EncryptedSamples.kinds {
            for (shared, number) in [(false, 1), (true, Limits.keysPerRing)] {
                let sample = EncryptedSamples.value(
                    kind, header: EncryptedSamples.header(isShared: shared, keyNumber: number), contentBytes: 1_500)
                guard case .encrypted(let content) = sample else { return #expect(Bool(false)) }
                let save = try check(
                    record([field("key", value().bytes(UInt64(FieldKind(sample).rawValue), content.bytes))]))
                #expect(save.fields.problem == nil)
                let kept = EncodedFields([StoredRecord.encodeField(key: "key", value: sample)])
                #expect(save.fields.puts == kept)
            }
        }
    }

    @Test("an encrypted value that no device makes is a problem, and one of a newer format asks for a newer server")
    func unfitEncrypted() throws {
        let right = EncryptedSamples.header().bytes + [UInt8](repeating: 7, count: 72)
        func sentence(_ bytes: [UInt8], _ number: UInt64 = 33) throws -> String {
            let problem = try check(record([field("key", value().bytes(number, bytes))])).fields.problem
            #expect(problem?.code == .invalidArguments)
            return problem?.message ?? ""
        }
        for bytes in [[], [1], [1, 1], Array(right.dropLast()), right + [0], right + right] {
            #expect(try sentence(bytes).contains("\(bytes.count) bytes in place of an encrypted value"))
        }
        for (index, byte) in [(18, 2), (19, 0), (22, 1)] as [(Int, UInt8)] {
            var bytes = right
            bytes[index] = byte
            #expect(try sentence(bytes).contains("in place of an encrypted value"))
        }
        for bytes: [UInt8] in [[2, 1], [1, 2], [2] + right.dropFirst()] {
            #expect(try sentence(bytes).contains("needs a newer server"))
        }
        // References are never encrypted.
        for number: UInt64 in [32, 39, 46, 50] {
            #expect(try sentence(right, number).contains("without a kind that this server knows"))
        }
    }

    private static let checksum = [UInt8](repeating: 7, count: 32)
    private static let asset = ProtoBytes().bytes(1, checksum).varint(2, 136)
    /// As many bytes as one secret takes, alone and in a list.
    private static let secret = EncryptedSamples.header().bytes + [UInt8](repeating: 7, count: 40 + 96)

    @Test("an encrypted asset, and a list of them, is kept in one encoding, whatever it came in")
    func encryptedAssets() throws {
        let photo = Asset(checksum: AssetChecksum(Self.checksum)!, byteCount: 136, generation: 0)
        let unordered = ProtoBytes().bytes(2, Self.secret).varint(9, 1).message(1, Self.asset.varint(7, 1))
        let contents = [ProtoBytes().message(1, Self.asset).bytes(2, Self.secret), unordered]
        for (number, kind) in [(48, .asset), (49, .assets)] as [(UInt64, FieldKind)] {
            let value = FieldValue.encrypted(EncryptedValue(kind, Self.secret, assets: [photo]))
            let kept = EncodedFields([StoredRecord.encodeField(key: "key", value: value)])
            for content in contents {
                let save = try check(record([field("key", self.value().message(number, content))]))
                #expect(save.fields.problem == nil && save.fields.puts == kept)
                #expect(save.fields.mayHoldAssets && save.fields.mayHoldEncrypted)
            }
        }
        // The last one counts where the asset is said twice.
        let twice = ProtoBytes().message(1, ProtoBytes().bytes(1, Self.secret.suffix(32)).varint(2, 1))
            .message(1, Self.asset)
        let save = try check(record([field("key", value().message(48, twice.bytes(2, Self.secret)))]))
        let kept = FieldValue.encrypted(EncryptedValue(.asset, Self.secret, assets: [photo]))
        #expect(save.fields.puts == EncodedFields([StoredRecord.encodeField(key: "key", value: kept)]))
    }

    @Test("an encrypted asset without its content, or without what opens exactly that many, is its item's problem")
    func unfitEncryptedAssets() throws {
        func sentence(_ number: UInt64, _ content: ProtoBytes) throws -> String {
            let problem = try check(record([field("key", value().message(number, content))])).fields.problem
            #expect(problem?.code == .invalidArguments)
            return problem?.message ?? ""
        }
        let sealed = ProtoBytes().bytes(2, Self.secret)
        #expect(try sentence(48, sealed).contains("without its content"))
        #expect(try sentence(48, ProtoBytes()).contains("without its content"))
        #expect(try sentence(49, sealed).contains("without any"))
        #expect(try sentence(49, ProtoBytes()).contains("without any"))
        for number: UInt64 in [48, 49] {
            let asset = ProtoBytes().message(1, Self.asset)
            #expect(try sentence(number, asset).contains("0 bytes in place of what opens 1 encrypted asset;"))
            for bytes in [[], [1], Array(Self.secret.dropLast()), Self.secret + [0], Array(Self.secret.dropLast(32))] {
                #expect(try sentence(number, asset.bytes(2, bytes)).contains("\(bytes.count) bytes in place of"))
            }
            #expect(
                try sentence(number, asset.bytes(2, [2] + Self.secret.dropFirst())).contains("needs a newer server"))
            #expect(
                try sentence(number, ProtoBytes().message(1, ProtoBytes()).bytes(2, Self.secret)).contains("checksum"))
            let receipt = Self.asset.bytes(4, [UInt8](repeating: 1, count: Limits.receiptBytes + 1))
            #expect(try sentence(number, ProtoBytes().message(1, receipt).bytes(2, Self.secret)).contains("receipt"))
            // The bytes of a value of another kind, which are no message.
            let save = record([field("key", value().bytes(number, Self.secret))])
            let zone = ProtoBytes().message(1, ProtoBytes().text(1, "Notes")).message(2, save)
            #expect(throws: ServiceError.self) {
                try ProtoBytes().varint(1, 2).message(5, zone).bytes.decoded(coder.decodeModifyRecordsRequest)
            }
        }
        let two = ProtoBytes().message(1, Self.asset).message(1, Self.asset)
        #expect(try sentence(49, two.bytes(2, Self.secret)).contains("in place of what opens 2 encrypted assets"))
    }

    @Test("a stamp has its form, or is its item's problem") func stamps() throws {
        let stamp = EncryptedSamples.stamp()
        let name = ProtoBytes().text(1, "name").text(2, "Note")
        for save in [name.text(4, "p").bytes(6, stamp), name.varint(5, 1).bytes(6, stamp), name.bytes(6, stamp)] {
            let read = try check(save.message(15, field("key", value().varint(2, 1))))
            #expect(read.fields.problem == nil && read.stamp == stamp)
        }
        #expect(try check(name.bytes(6, [])).fields.problem == nil)
        for bytes in [[1], Array(stamp.dropLast()), stamp + [0], stamp + [UInt8](repeating: 0, count: 32)] {
            let problem = try check(name.bytes(6, bytes)).fields.problem
            #expect(problem?.code == .invalidArguments)
            #expect(problem?.message.contains("\(bytes.count) bytes in place of a stamp") == true)
        }
        let newer = try check(name.bytes(6, [2] + stamp.dropFirst())).fields.problem
        #expect(newer?.message.contains("needs a newer server") == true)
    }

    @Test("a record over 1 MB is its item's problem")
    func recordBytes() throws {
        let half = field("a", value().bytes(4, [UInt8](repeating: 0, count: 500_000)))
        let rest = field("b", value().bytes(4, [UInt8](repeating: 0, count: 499_900)))
        let more = field("b", value().bytes(4, [UInt8](repeating: 0, count: 500_000)))
        #expect(try problem(record([half, rest])) == nil)
        #expect(try problem(record([half, more])) == .limitExceeded)
    }

    @Test("what a client adds or writes in a roundabout way doesn't change the field's bytes")
    func canonical() throws {
        let plain = try check(record([field("key", value().message(7, ProtoBytes().text(1, "a").varint(2, 1)))]))
        let reference = ProtoBytes().text(9, "?").varint(2, 1).text(1, "wrong").text(1, "a")
        let odd = try check(
            record([ProtoBytes().varint(77, 5).message(2, value().text(50, "?").message(7, reference)).text(1, "key")]))
        #expect(odd.fields.puts == plain.fields.puts)
        // Lists of no element are one value, whatever type they say.
        for kind: UInt64 in 8...15 {
            let save = try check(record([field("key", value().message(kind, ProtoBytes().varint(60, 1)))]))
            #expect(save.fields.puts == EncodedFields([StoredRecord.encodeField(key: "key", value: .emptyList)]))
        }
    }
}
