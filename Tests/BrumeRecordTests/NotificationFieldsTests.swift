import BrumeModel
import BrumeTestKit
import CBrumeProto
import Testing

@testable import BrumeRecord

/// What a notification shows of a record costs no more than what it shows.
@Suite("The fields of a notification")
struct NotificationFieldsTests {
    private func record(_ fields: [String: FieldValue]) -> [UInt8] {
        StoredRecord.encode(
            SystemFields(name: "r", type: "Note"),
            fields: fields.map { StoredRecord.encodeField(key: $0.key, value: $0.value) })
    }

    private func fields(of record: [UInt8], _ keys: [String]) -> NotificationFields {
        record.withUnsafeBytes { NotificationFields(of: $0, keys: keys) }
    }

    @Test("values that are no lists come whole, in whatever order they are asked for")
    func values() {
        let place = Location(latitude: 1, longitude: 2, altitude: 3, horizontalAccuracy: 4, timestamp: 5)
        let values: [String: FieldValue] = [
            "a": .string("text"), "b": .int64(-3), "c": .double(0.5), "d": .date(7), "e": .location(place),
            "f": .reference(Reference(recordName: "other", deletesSelf: true)),
        ]
        for keys in [["a", "b", "c"], ["f", "e", "d"], ["c", "a", "missing"]] {
            let found = fields(of: record(values), keys)
            #expect(found.values == values.filter { keys.contains($0.key) })
            #expect(!found.isPruned)
        }
    }

    @Test("lists and bytes are left out, however many elements they have")
    func lists() {
        // Decoded, its 460 KB would be 24 MB of locations and more than some arenas hold.
        var list: [UInt8] = []
        for _ in 0..<230_000 { list += [0x0A, 0x00] }
        func length(_ count: Int) -> [UInt8] {
            [UInt8(count & 0x7F | 0x80), UInt8(count >> 7 & 0x7F | 0x80), UInt8(count >> 14)]
        }
        let value = [0x6A] + length(list.count) + list
        let places = [0x0A, 1, UInt8(ascii: "p"), 0x12] + length(value.count) + value
        let bytes = StoredRecord.encode(
            SystemFields(name: "r", type: "Note"),
            fields: [
                StoredRecord.encodeField(key: "n", value: .int64(1)), EncodedField(key: "p", bytes: places),
                StoredRecord.encodeField(key: "z", value: .bytes([1, 2])),
            ])
        let found = fields(of: bytes, ["n", "p", "z"])
        #expect(found.values == ["n": .int64(1)])
        #expect(found.isPruned)
    }

    @Test("assets and encrypted values are left out") func opaque() {
        let asset = Asset(checksum: AssetChecksum([UInt8](repeating: 1, count: 32))!, byteCount: 1, generation: 1)
        let assets: [FieldValue] = [
            .asset(asset), .assets([asset]), EncryptedSamples.asset(asset), EncryptedSamples.assets([asset]),
        ]
        for value in EncryptedSamples.kinds.map({ EncryptedSamples.value($0) }) + assets {
            let found = fields(of: record(["a": value, "n": .int64(1)]), ["a", "n"])
            #expect(found.values == ["n": .int64(1)])
            #expect(found.isPruned)
        }
    }

    @Test("a text is cut at 100 characters, and a character of any size at 1,024 bytes")
    func texts() {
        let giant = "e" + String(repeating: "\u{301}", count: 400_000)
        let cases: [(text: String, characters: Int, isPruned: Bool)] = [
            (String(repeating: "x", count: 100), 100, false), (String(repeating: "x", count: 101), 100, true),
            (String(repeating: "é", count: 100), 100, false), (String(repeating: "👩‍👩‍👧", count: 90), 57, true),
            (giant, 1, true), ("", 0, false),
        ]
        for (text, characters, isPruned) in cases {
            let found = fields(of: record(["t": .string(text)]), ["t"])
            guard case .string(let shown)? = found.values["t"] else {
                Issue.record("no text of \(text.utf8.count) bytes")
                continue
            }
            #expect(text.unicodeScalars.starts(with: shown.unicodeScalars))
            #expect(shown.count == characters)
            #expect(shown.utf8.count <= Limits.notificationTextBytes)
            #expect(found.isPruned == isPruned)
        }
    }

    @Test("bytes that are no record give nothing")
    func damage() {
        let whole = record(["t": .string("text"), "u": .int64(1)])
        for count in 0..<whole.count { _ = fields(of: Array(whole.prefix(count)), ["t", "u"]) }
        #expect(fields(of: [0xFF, 0xFF], ["t"]).values.isEmpty)
    }
}

@Suite("A message's memory")
struct MessageArenaTests {
    @Test("what fits does so whatever the arena held before")
    func limit() {
        for earlier in [0, 1, 5_000, 20_000, 60_000] {
            let arena = MessageArena(bytesLimit: 64 * 1024)
            if earlier > 0 { _ = arena.allocate(earlier) }
            arena.reset()
            for _ in 0..<64 {
                #expect(arena.allocator.pointee.alloc(arena.allocator.pointee.allocator_data, 1_024) != nil)
            }
            #expect(!arena.isExhausted)
            #expect(arena.allocator.pointee.alloc(arena.allocator.pointee.allocator_data, 1) == nil)
            #expect(arena.isExhausted)
            withExtendedLifetime(arena) {}
        }
    }
}
