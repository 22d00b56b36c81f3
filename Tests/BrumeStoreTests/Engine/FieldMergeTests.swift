import BrumeModel
import BrumeRandom
import BrumeRecord
import BrumeTestKit
import Testing

@testable import BrumeStore

@Suite("A record's fields with those of a save in their place")
struct FieldMergeTests {
    private static let system = SystemFields(
        name: "record", type: "Note", changeTag: "1-1", creator: "_ada", createdMilliseconds: 5, modifier: "_ada",
        modifiedMilliseconds: 6)

    private static func encoded(_ fields: [String: FieldValue]) -> [EncodedField] {
        fields.map { StoredRecord.encodeField(key: $0.key, value: $0.value) }
    }

    /// The record that a save makes of an older one, and whether the merge says that something changed.
    private static func merged(
        _ stored: [String: FieldValue]?, puts: [String: FieldValue], removals: [String] = []
    ) throws -> (record: [UInt8], fields: Int, isChanged: Bool, isWhatWasSent: Bool) {
        let checked = CheckedFields(puts: EncodedFields(encoded(puts)), removals: removals)
        let merge = try FieldMerge(
            checked, over: stored.map { SharedBytes(StoredRecord.encode(system, fields: encoded($0))) })
        var bytes: [UInt8] = []
        let systemByteCount = merge.encode(
            into: &bytes, name: "record", type: "Note", changeTag: Array("1-2".utf8), user: "_ada",
            savedMilliseconds: 7, parent: "")
        #expect(try StoredRecord.parts(of: Array(bytes[..<systemByteCount])).fields.isEmpty)
        return (bytes, merge.count, merge.isChanged, merge.isWhatWasSent)
    }

    /// What the record has to be.
    private static func expected(_ fields: [String: FieldValue], isNew: Bool) -> [UInt8] {
        var system = system
        (system.changeTag, system.modifiedMilliseconds) = ("1-2", 7)
        if isNew { system.createdMilliseconds = 7 }
        return StoredRecord.encode(system, fields: encoded(fields))
    }

    @Test("is what changing one field after the other gives", arguments: 1...8)
    func random(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        func fields(_ share: Int) -> [String: FieldValue] {
            var fields: [String: FieldValue] = [:]
            for key in 0..<12 where Int.random(in: 0..<12, using: &random) < share {
                // Few values, so that some are as before, and one whose length takes two bytes.
                fields["k\(key)"] = [.int64(1), .string("x"), .bytes([UInt8](repeating: 7, count: 200))]
                    .randomElement(using: &random)
            }
            return fields
        }
        for round in 0..<500 {
            let stored: [String: FieldValue]? = round % 10 == 0 ? nil : fields(Int.random(in: 0...12, using: &random))
            let puts = fields(Int.random(in: 0...12, using: &random))
            let removals = fields(2).keys.filter { puts[$0] == nil }
            var all = (stored ?? [:]).merging(puts) { $1 }
            for key in removals { all[key] = nil }
            let merged = try Self.merged(stored, puts: puts, removals: removals)
            #expect(merged.record == Self.expected(all, isNew: stored == nil), "seed \(seed), round \(round)")
            #expect(merged.fields == all.count, "seed \(seed), round \(round)")
            #expect(merged.isChanged == (stored != all), "seed \(seed), round \(round)")
            #expect(merged.isWhatWasSent == (all == puts), "seed \(seed), round \(round)")
        }
    }

    @Test("says what is encrypted and would go, where that is asked", arguments: 1...4)
    func encrypted(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        func fields() -> [String: FieldValue] {
            var fields: [String: FieldValue] = [:]
            for key in 0..<4 where Bool.random(using: &random) {
                fields["k\(key)"] =
                    switch Int.random(in: 0..<4, using: &random) {
                    case 0: .int64(1)
                    case 1: EncryptedSamples.value()
                    case 2: EncryptedSamples.value(.strings, filler: UInt8.random(in: 0...255, using: &random))
                    default: EncryptedSamples.asset(asset)
                    }
            }
            return fields
        }
        func isEncrypted(_ value: FieldValue?) -> Bool { value.map { FieldKind($0).isEncrypted } ?? false }
        let asset = Asset(
            checksum: AssetChecksum([UInt8](repeating: 1, count: 32))!, byteCount: 20, generation: 3)
        for round in 0..<500 {
            let (stored, puts) = (fields(), fields())
            let removals = fields().keys.filter { puts[$0] == nil }
            let loses = stored.contains { key, value in
                isEncrypted(value) && (removals.contains(key) || puts[key] != nil && !isEncrypted(puts[key]))
            }
            let checked = CheckedFields(puts: EncodedFields(Self.encoded(puts)), removals: removals)
            let record = SharedBytes(StoredRecord.encode(Self.system, fields: Self.encoded(stored)))
            let merge = try FieldMerge(checked, over: record, watchesEncrypted: true)
            let loosely = try FieldMerge(checked, over: record)
            let new = try FieldMerge(checked, over: nil, watchesEncrypted: true)
            #expect(merge.losesEncrypted == loses, "seed \(seed), round \(round)")
            #expect(!loosely.losesEncrypted && !new.losesEncrypted)
        }
    }

    @Test("can't be made of bytes that are no record")
    func damaged() {
        let checked = CheckedFields(puts: EncodedFields(Self.encoded(["k": .int64(1)])))
        for bytes: [UInt8] in [[0xFF], [0x7A, 5, 1], [15 << 3, 1]] {
            #expect(throws: ServiceError.self) { _ = try FieldMerge(checked, over: SharedBytes(bytes)).count }
        }
    }
}
